"""Whether the parts of a spec fit together; what does not is told with its line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fallow import checks, user_code
from fallow.errors import InputError
from fallow.learners.registry import knowledge
from fallow.simulation import check_learner
from fallow.studies.spec import LearnerSpec, Published, Spec
from fallow.studies.tally import BESIDE_REGRET
from fallow.studies.toml_reader import Table

MAX_CURVES = 2**18
"""Most values that a run adds to the tally, which keeps 512 runs in memory: 1 GiB."""


def check_fit(spec: Spec, table: Table, learner_tables: Sequence[Table]) -> None:
    """Check a spec whose keys were read from these tables, each right on its own."""
    _check_points(spec, table, learner_tables)
    for place, published in enumerate(spec.published):
        _check_published(spec, published, table, place)


def _check_points(spec: Spec, table: Table, learner_tables: Sequence[Table]) -> None:
    """Make instance and learners once at each point, so that a wrong parameter shows at once."""
    homes = {name: each for each in learner_tables for name in each.values}
    swept = () if spec.sweep is None else ("sweep", spec.sweep[0])
    for point in spec.points:
        here = spec.at(point)
        with _mistakes_at(table, *(swept or ("instance",))):
            instance = here.first_instance()
        with _mistakes_at(table, *(swept if "horizon" in swept else ("horizon",))):
            if here.horizon < here.drift:
                rule = f"at least a round for each phase of drift, {here.drift:,}"
                raise InputError("horizon", f"must be {rule}", f"{here.horizon:,}")
        with _mistakes_at(table, "drift"):
            most = checks.MAX_VALUES // instance.means.size
            checks.at_most("drift", here.drift, most, "with instances of this size")
        with _mistakes_at(table, "told", "max_delay"):
            if here.told:
                most = checks.MAX_VALUES // instance.arms - 1
                checks.at_most("max_delay", here.told["max_delay"], most, "with so many arms")
        with _mistakes_at(table, "checkpoints"):
            learners, costs = len(here.learners), len(here.switching_costs)
            most = MAX_CURVES // (learners * (costs + len(BESIDE_REGRET)))
            given = f"with {learners} learners and {costs} switching costs"
            checks.at_most("checkpoints", len(here.rounds()), most, given)
        for name, learner in spec.learners.items():
            with _mistakes_at(homes[name], name):
                make = here.factory(learner)
                if _is_quick_to_make(learner):
                    check_learner(learner.learner, make(instance, 0))


@contextmanager
def _mistakes_at(table: Table, *place: str) -> Iterator[None]:
    """Tell errors, also those of users' own code, as mistakes at this place of the file."""
    try:
        yield
    except (Exception, SystemExit) as error:
        if user_code.is_from_user_code(error):
            rule = f"must not fail: {user_code.describe_error(error)}"
            raise table.mistake(InputError(table.name(*place), rule), *place) from None
        if not isinstance(error, InputError):
            raise
        raise _mistake_at(table, error, place) from None


def _is_quick_to_make(learner: LearnerSpec) -> bool:
    """Tell whether a learner is made without a plan of the instance."""
    is_own = any(map(user_code.is_user_code, learner.names))
    return is_own or "instance" not in knowledge(learner.learner, learner.parameters)


def _check_published(spec: Spec, published: Published, table: Table, place: int) -> None:
    """Check that a published value speaks of something that the experiment measures."""

    def mistake(key: str, rule: str) -> InputError:
        value = getattr(published, key)
        return table.mistake(
            InputError(f"published.{key}", f"must be {rule}", f"{value}"), "published", place, key
        )

    if spec.sweep is not None:
        raise table.mistake(
            InputError("published", "must not be given beside a [sweep]"), "published"
        )
    if published.round not in spec.rounds():
        raise mistake("round", "one of the checkpoints")
    if published.switching_cost not in spec.switching_costs:
        raise mistake("switching_cost", f"one of switching_costs, {list(spec.switching_costs)}")
    if published.low > published.value:
        raise mistake("low", f"at most value, {published.value:g}")
    if published.high < published.value:
        raise mistake("high", f"at least value, {published.value:g}")


def _mistake_at(table: Table, error: InputError, place: tuple[str, ...]) -> InputError:
    """Return the error at a place of the file, at the key of its argument if there is one."""
    key = error.argument
    if key == place[-1]:
        return table.mistake(InputError(table.name(*place), error.rule, error.value), *place)
    inner: Any = table.values
    for each in place:
        inner = inner.get(each, {})
    options = inner.get("options") if isinstance(inner, dict) else None
    for deeper, found in ((place, inner), ((*place, "options"), options)):
        if isinstance(found, dict) and key in found:
            named = InputError(table.name(*deeper, key), error.rule, error.value)
            return table.mistake(named, *deeper, key)
    return table.mistake(error.at(table.name(*place)), *place)
