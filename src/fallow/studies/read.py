"""Reading experiments from TOML files; an error names the key, the rule, the value and the line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

from fallow import catalog, checks, user_code
from fallow.errors import InputError
from fallow.instance import Instance
from fallow.learners.registry import INNER, LEARNERS, free_parameters, inner_learners, knowledge
from fallow.rewards import CONCENTRATION, NAMES, find_rewards, try_rewards
from fallow.simulation import check_learner
from fallow.studies.fields import (
    MAX_DELAY,
    PUBLISHED,
    RULES,
    check_checkpoints,
    check_kind,
    check_published,
    one_of,
)
from fallow.studies.spec import LearnerSpec, Published, Spec
from fallow.studies.study import check_no_rules
from fallow.toml import REQUIRED, Key, Table


def load_spec(path: str | Path, allow_imports: bool = False) -> Spec:
    """Read and check a file.

    Parameters
    ----------
    path
        A TOML file.
    allow_imports
        Whether the spec may name learners, families and rewards as module:Name, in its folder or
        on the Python path. Loading them runs their code, so allow it only for specs that you trust.

    Raises
    ------
    InputError
        Names the key, the rule, the value and the line.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError("FILE", "must be a spec, a TOML file", f"{file}, which is no file")
    table = Table.load(file)
    spec = _read(file.stem, table, allow_imports)
    table.end()
    return spec


def _read(name: str, table: Table, allow_imports: bool) -> Spec:
    find_name = _name_reader(table.file.parent, allow_imports)
    figure = table.table("figure", {})
    learner_tables = _learner_tables(table)
    learners = _read_learners(learner_tables, find_name)
    source = _read_source(table.table("instance"), find_name)
    sweep = _read_sweep(table.table("sweep", {}), source)
    rewards = table.take("rewards", lambda key, value: _rewards(key, value, find_name), "bernoulli")

    def take(key: str, default: Any, table: Table = table) -> Any:
        return table.take(key, RULES[key], default)

    spec = Spec(
        name=name,
        section=take("section", "Experiments"),
        title=take("title", name),
        caption=take("caption", ""),
        source=source,
        learners=learners,
        horizon=take("horizon", _longest(table, sweep)),
        runs=take("runs", REQUIRED),
        seed=take("seed", REQUIRED),
        rewards=rewards,
        concentration=table.take(
            "concentration", lambda key, value: _concentration(key, value, rewards), CONCENTRATION
        ),
        told=_read_told(table.table("told", {})),
        drift=table.take("drift", lambda key, value: _drift(key, value, source), 1),
        checkpoints=take("checkpoints", 50),
        sweep=sweep,
        switching_costs=take("switching_costs", (0.0,)),
        kind=take("kind", "rounds", figure),
        axis=take("axis", "", figure),
        measure=take("measure", "regret", figure),
        published=tuple(map(_read_published, table.tables("published"))),
        code={name: user_code.digest(name) for name in _user_names(source, learners, rewards)},
    )
    figure.end()
    _check_fit(spec, table, learner_tables)
    return spec


def _longest(table: Table, sweep: tuple[str, tuple[float, ...]] | None) -> Any:
    """Return the horizon where the file gives none: the largest of a sweep of horizons."""
    if sweep is None or sweep[0] != "horizon":
        return REQUIRED
    if "horizon" in table.values:
        raise table.mistake(
            InputError("horizon", "must not be given beside sweep.horizon"), "horizon"
        )
    return max(sweep[1])


NameReader = Callable[[str, Any, Sequence[str]], str]


def _name_reader(folder: Path, allow_imports: bool) -> NameReader:
    """Return how a name is read: one of those known, or module:Name, which is loaded if allowed."""

    def read(key: str, value: Any, known: Sequence[str]) -> str:
        if not isinstance(value, str) or not user_code.is_user_code(value):
            return str(one_of(known)(key, value))
        if not allow_imports:
            raise InputError(
                key,
                "must not be Python code unless you trust it and say --allow-imports",
                f"{value!r}",
            )
        user_code.load(value, folder)
        return value

    return read


def _user_names(
    source: Mapping[str, Any], learners: Mapping[str, LearnerSpec], rewards: str
) -> list[str]:
    of_learners = (name for learner in learners.values() for name in learner.names)
    names = [source.get("catalog", ""), *of_learners, rewards]
    return sorted(filter(user_code.is_user_code, set(names)))


def _read_source(table: Table, find_name: NameReader) -> dict[str, Any]:
    """Read what is played; a file of means is read now, so that its content is in the hash."""
    if "file" in table.values:
        means = table.take("file", lambda key, value: _means(table.file.parent, key, value))
        table.end()
        return {"means": means}
    name = table.take("catalog", lambda key, value: find_name(key, value, list(catalog.ENTRIES)))
    parameters = table.take_given(signature(catalog.find_entry(name)).parameters)
    table.end()
    return {"catalog": name, "parameters": parameters}


def _means(folder: Path, key: str, value: object) -> list[list[float]]:
    name = checks.text(key, value)
    try:
        instance = Instance.load(folder / name)
        check_no_rules(instance)
    except (OSError, InputError) as error:
        raise InputError(key, "must be a file of an instance", f"{name!r}: {error}") from None
    means: list[list[float]] = instance.means.tolist()
    return means


def _learner_tables(table: Table) -> list[Table]:
    """Return the tables of learners, which may stand in one or more files of their own."""
    if not isinstance(table.values.get("learners"), str | list):
        return [table.table("learners")]
    return table.take("learners", lambda key, value: _load_tables(table.file.parent, key, value))


def _load_tables(folder: Path, key: str, value: Any) -> list[Table]:
    names = value if isinstance(value, list) else [value]
    if not names:
        raise InputError(key, "must be a table, a file or several files", "none")
    return [Table.load(folder / checks.text(key, name)) for name in names]


def _read_told(table: Table) -> dict[str, Any]:
    none: int | None = None
    bound = table.take("max_delay", MAX_DELAY, none)
    table.end()
    return {} if bound is None else {"max_delay": bound}


def _drift(key: str, value: Any, source: Mapping[str, Any]) -> int:
    phases: int = RULES["drift"](key, value)
    name = source.get("catalog")
    if name is None or "progress" not in signature(catalog.find_entry(name)).parameters:
        given = "a file" if name is None else name
        raise InputError(key, "must come with a catalog entry that has a progress", given)
    return phases


def _read_learners(tables: Sequence[Table], find_name: NameReader) -> dict[str, LearnerSpec]:
    values: dict[str, Any] = {}
    for table in tables:
        for name in table.values:
            if name in values:
                rule = "must have different names in all files"
                raise table.mistake(InputError("learners", rule, f"{name!r} twice"), name)
            values[name] = _read_learner(table.table(name), name, find_name)
    try:
        learners: dict[str, LearnerSpec] = RULES["learners"]("learners", values)
    except InputError as error:
        raise tables[-1].mistake(error) from None
    return learners


def _read_learner(table: Table, name: str, find_name: NameReader) -> dict[str, Any]:
    learner = table.take("learner", lambda key, value: find_name(key, value, list(LEARNERS)), name)
    if "learner" not in table.values and name not in LEARNERS:
        raise table.mistake(InputError(table.name("learner"), "must be given", "nothing"))
    parameters = table.take_given(free_parameters(learner))
    _load_inner(table, learner, find_name)
    table.end()
    return {"learner": learner, "parameters": parameters}


def _load_inner(table: Table, learner: str, find_name: NameReader) -> None:
    """Check the name of the learner that another is made of, and load it if it is a user's own."""
    if learner not in INNER:
        return
    parameter, _ = INNER[learner]
    if parameter in table.values:
        try:
            find_name(table.name(parameter), table.values[parameter], inner_learners(learner))
        except InputError as error:
            raise table.mistake(error, parameter) from None


def _read_published(table: Table) -> Published:
    def take(key: str, default: Any = REQUIRED) -> Any:
        return table.take(key, PUBLISHED[key], default)

    value = take("value")
    published = Published(
        learner=take("learner"),
        switching_cost=take("switching_cost", 0.0),
        round=take("round"),
        value=value,
        low=take("low", value),
        high=take("high", value),
        note=take("note", ""),
    )
    table.end()
    return published


def _read_sweep(table: Table, source: Mapping[str, Any]) -> tuple[str, tuple[float, ...]] | None:
    swept = table.rest()
    if not swept:
        return None
    allowed = ["horizon"]
    if "catalog" in source:
        entry = signature(catalog.find_entry(source["catalog"])).parameters
        allowed += [key for key in entry if key not in source["parameters"]]
    for key in swept:
        if key not in allowed or len(swept) > 1:
            rule = f"must have one key out of {', '.join(allowed)}"
            raise table.mistake(InputError("sweep", rule, ", ".join(swept)), key)
    ((key, values),) = swept.items()
    try:
        sweep: tuple[str, tuple[float, ...]] = RULES["sweep"]("sweep", [key, values])
    except InputError as error:
        raise table.mistake(error, key) from None
    return sweep


def _rewards(key: str, value: object, find_name: NameReader) -> str:
    """Read the name of a law, and draw a reward, so that a wrong function shows at once."""
    name = find_name(key, value, NAMES)
    try_rewards(key, find_rewards(name))
    return name


def _concentration(key: str, value: Any, rewards: str) -> float:
    if rewards != "beta":
        raise InputError(key, "must come with rewards = 'beta'", f"rewards = {rewards!r}")
    concentration: float = RULES["concentration"](key, value)
    return concentration


def _check_fit(spec: Spec, table: Table, learner_tables: Sequence[Table]) -> None:
    """Check a spec whose keys were read from these tables, each right on its own."""
    with _mistakes_at(table, "figure"):
        check_kind(spec)
    homes = {name: home for home in learner_tables for name in home.values}
    for point in spec.points:
        _check_point(spec, spec.at(point), table, homes)
    for index, published in enumerate(spec.published):
        with _mistakes_at(table, "published", index):
            check_published(spec, published)


def _check_point(spec: Spec, here: Spec, table: Table, homes: Mapping[str, Table]) -> None:
    """Make instance and learners once at a point, so that a wrong parameter shows at once."""
    swept = () if spec.sweep is None else ("sweep", spec.sweep[0])
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
            checks.at_most("max_delay", here.told["max_delay"], most, "with this number of arms")
    with _mistakes_at(table, "checkpoints"):
        check_checkpoints(here)
    for name, learner in spec.learners.items():
        with _mistakes_at(homes[name], name):
            make = here.factory(learner)
            if _is_quick_to_make(learner):
                check_learner(learner.learner, make(instance, 0))


@contextmanager
def _mistakes_at(table: Table, *path: Key) -> Iterator[None]:
    """Raise errors, also those of users' own code, as mistakes at this key of the file."""
    try:
        yield
    except (Exception, SystemExit) as error:
        if user_code.is_from_user_code(error):
            rule = f"must not fail: {user_code.describe_error(error)}"
            raise table.mistake(InputError(table.name(*path), rule), *path) from None
        if not isinstance(error, InputError):
            raise
        raise _mistake_at(table, error, path) from None


def _is_quick_to_make(learner: LearnerSpec) -> bool:
    """Tell whether a learner is made without a plan of the instance."""
    is_own = any(map(user_code.is_user_code, learner.names))
    return is_own or "instance" not in knowledge(learner.learner, learner.parameters)


def _mistake_at(table: Table, error: InputError, path: tuple[Key, ...]) -> InputError:
    """Return the error at the key of its argument: on the path, in its table, or in its options.

    Where there is none, it is an error of the table.
    """
    key = error.argument
    inner = ((*path, key), (*path, "options", key))
    keys = next((keys for keys in inner if table.holds(*keys)), path)
    if key in path:
        keys = path[: path.index(key) + 1]
    elif keys == path:
        return table.mistake(error.at(table.name(*path)), *path)
    return table.mistake(InputError(table.name(*keys), error.rule, error.value), *keys)
