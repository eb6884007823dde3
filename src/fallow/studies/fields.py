"""The fields of a spec: what each may hold, in a TOML file and in a manifest alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from fallow import checks
from fallow.errors import InputError
from fallow.instance import Instance
from fallow.rewards import check_concentration
from fallow.simulation import checked_horizon
from fallow.studies.spec import MEASURES, LearnerSpec, Published, Spec
from fallow.studies.study import MAX_CHECKPOINTS
from fallow.studies.tally import BESIDE_REGRET

Rule = Callable[[str, Any], Any]
"""From the name and the value of a field to what the spec holds; an InputError if it is wrong."""

KINDS = ("rounds", "sweep", "costs")
MAX_RUNS = 10**9
MAX_LEARNERS = 100
MAX_POINTS = 1_000
"""Largest number of values of a sweep."""
MAX_COSTS = 100
"""Largest number of switching costs."""
MAX_PHASES = 10_000
"""Largest number of phases of a drift; the instances of all of them are in memory together."""
MAX_CURVES = 2**18
"""Largest number of values that a run adds to the tally, which keeps 512 runs in memory: 1 GiB."""


def spec_of(values: object) -> Spec:
    """Return the spec whose values these are, as `Spec.values` returns them.

    Whether its instance and its learners can be made is not looked at: that may need code of the
    user's.

    Raises
    ------
    InputError
        Names the field, the rule and the value.
    """
    given = table("spec", values, [field.name for field in dataclasses.fields(Spec)])
    spec = Spec(**{name: rule(f"spec.{name}", given[name]) for name, rule in RULES.items()})
    if spec.sweep is not None and spec.sweep[0] != "horizon" and "means" in spec.source:
        raise InputError("spec.sweep", "must be of horizon beside means", f"{spec.sweep[0]!r}")
    check_kind(spec)
    for point in spec.points:
        check_checkpoints(spec.at(point))
    for published in spec.published:
        check_published(spec, published)
    return spec


def check_kind(spec: Spec) -> None:
    """Check that a figure over the values of a sweep has a sweep."""
    if spec.sweep is None and spec.kind == "sweep":
        raise InputError("kind", "must not be 'sweep' without a table [sweep]")


def check_checkpoints(spec: Spec) -> None:
    """Check the checkpoints of a spec at one point of its sweep: none too late, not too many."""
    learners, costs = len(spec.learners), len(spec.switching_costs)
    most = MAX_CURVES // (learners * (costs + len(BESIDE_REGRET)))
    given = f"with {learners} learners and {costs} switching costs"
    checks.at_most("checkpoints", len(spec.rounds()), most, given)


def check_published(spec: Spec, published: Published) -> None:
    """Check that a published value is of something that the experiment measures."""
    if spec.sweep is not None:
        raise InputError("published", "must not be given beside a [sweep]")
    costs, value = spec.switching_costs, published.value
    checks.one_of("learner", published.learner, spec.learners)
    for key, is_right, rule in (
        ("round", published.round in spec.rounds(), "one of the checkpoints"),
        ("switching_cost", published.switching_cost in costs, f"one of {list(costs)}"),
        ("low", published.low <= value, f"at most value, {value:g}"),
        ("high", published.high >= value, f"at least value, {value:g}"),
    ):
        if not is_right:
            raise InputError(key, f"must be {rule}", f"{getattr(published, key)}")


def table(name: str, value: object, keys: Collection[str] | None = None) -> Mapping[str, Any]:
    """Return a table, with exactly these keys if some are given."""
    if not isinstance(value, dict):
        raise InputError(name, "must be a table", checks.short(value))
    if keys is not None:
        checks.keys(name, value, keys)
    return value


def rows(name: str, value: object, length: int | None = None) -> Sequence[Any]:
    """Return a list, of this length if one is given."""
    if not isinstance(value, list | tuple) or length not in (None, len(value)):
        kind = "a list" if length is None else f"a list of {length}"
        raise InputError(name, f"must be {kind}", checks.short(value))
    return value


def one_of(allowed: Collection[str]) -> Rule:
    """Return the rule of a field that holds one of these names."""

    def read(name: str, value: Any) -> str:
        checks.one_of(name, checks.text(name, value), allowed)
        return str(value)

    return read


def _whole(minimum: int, maximum: int) -> Rule:
    return lambda name, value: checks.whole_number(name, value, minimum, maximum)


def _source(name: str, value: Any) -> Mapping[str, Any]:
    if "means" in table(name, value):
        Instance(table(name, value, ["means"])["means"])
        return table(name, value)
    source = table(name, value, ["catalog", "parameters"])
    checks.text(f"{name}.catalog", source["catalog"])
    table(f"{name}.parameters", source["parameters"])
    return source


def _learners(name: str, value: Any) -> dict[str, LearnerSpec]:
    given = table(name, value)
    if not given:
        raise InputError(name, "must hold at least one learner", "none")
    checks.at_most(name, len(given), MAX_LEARNERS)
    return {_encodable(name, key): _learner(f"{name}.{key}", parts) for key, parts in given.items()}


def _learner(name: str, value: Any) -> LearnerSpec:
    parts = table(name, value, [field.name for field in dataclasses.fields(LearnerSpec)])
    parameters = table(f"{name}.parameters", parts["parameters"])
    return LearnerSpec(checks.text(f"{name}.learner", parts["learner"]), parameters)


def _encodable(name: str, text: str) -> str:
    """Return text that files can hold: JSON may have half of a character, a surrogate."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InputError(name, "must have names without surrogates", f"{text!r}")
    return text


def _told(name: str, value: Any) -> dict[str, int]:
    given = table(name, value)
    for key in given:
        checks.one_of(f"a key of {name}", key, ["max_delay"])
    return {key: MAX_DELAY(f"{name}.{key}", delay) for key, delay in given.items()}


def _checkpoints(name: str, value: Any) -> int | tuple[int, ...]:
    if isinstance(value, list | tuple):
        return tuple(checks.whole_numbers(name, value, minimum=0))
    return checks.whole_number(name, value, minimum=1, maximum=MAX_CHECKPOINTS)


def _sweep(name: str, value: Any) -> tuple[str, tuple[float, ...]] | None:
    if value is None:
        return None
    key, points = rows(name, value, length=2)
    name = f"{name}.{checks.text(f'the key of {name}', key)}"
    checks.numbers(name, points, dimensions=1)
    checks.at_most(f"the number of values of {name}", len(points), MAX_POINTS)
    for point in points:  # each stays as it is written: 0 does not become 0.0
        checks.number(name, point)
    if key == "horizon":
        points = [checked_horizon(name, point) for point in points]
    return key, _different(name, points)


def _costs(name: str, value: Any) -> tuple[float, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise InputError(name, "must be a list of numbers", checks.short(value))
    checks.at_most(f"the number of {name}", len(value), MAX_COSTS)
    return _different(name, [checks.not_negative(name, cost) for cost in value])


def _different(name: str, values: Sequence[float]) -> tuple[float, ...]:
    if len(set(values)) < len(values):
        raise InputError(name, "must be different numbers", checks.short(values))
    return tuple(values)


def _published(name: str, value: Any) -> tuple[Published, ...]:
    entries = enumerate(rows(name, value))
    return tuple(_published_value(f"{name}.{index}", entry) for index, entry in entries)


def _published_value(name: str, value: Any) -> Published:
    given = table(name, value, PUBLISHED)
    return Published(**{key: rule(f"{name}.{key}", given[key]) for key, rule in PUBLISHED.items()})


def _code(name: str, value: Any) -> dict[str, str]:
    digests = table(name, value).items()
    return {key: checks.text(f"{name}.{key}", digest) for key, digest in digests}


MAX_DELAY = _whole(1, checks.MAX_VALUES - 1)
"""The rule of the bound on delays that learners are given."""
PUBLISHED: Mapping[str, Rule] = {
    "learner": checks.text,
    "switching_cost": checks.not_negative,
    "round": _whole(1, checks.LARGEST),
    "value": checks.number,
    "low": checks.number,
    "high": checks.number,
    "note": checks.text,
}
"""The rule of each field of a published value."""
RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("name", "section", "title", "caption", "rewards", "axis"), checks.text),
    "source": _source,
    "learners": _learners,
    "horizon": checked_horizon,
    "runs": _whole(1, MAX_RUNS),
    "seed": checks.seed,
    "concentration": check_concentration,
    "told": _told,
    "drift": _whole(1, MAX_PHASES),
    "checkpoints": _checkpoints,
    "sweep": _sweep,
    "switching_costs": _costs,
    "kind": one_of(KINDS),
    "measure": one_of(tuple(MEASURES)),
    "published": _published,
    "code": _code,
}
"""The rule of each field of a spec."""
