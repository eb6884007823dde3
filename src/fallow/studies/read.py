"""Reading experiments from TOML files; whatever can be wrong in one is found here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from fallow import catalog, checks, user_code
from fallow.errors import InputError
from fallow.instance import Instance
from fallow.learners.registry import (
    INNER,
    LEARNERS,
    free_parameters,
    inner_learners,
)
from fallow.rewards import CONCENTRATION, NAMES, check_concentration, find_rewards, try_rewards
from fallow.simulation import checked_horizon
from fallow.studies.fit import check_fit
from fallow.studies.spec import MEASURES, LearnerSpec, Published, Spec
from fallow.studies.study import MAX_CHECKPOINTS, check_no_rules
from fallow.studies.toml_reader import REQUIRED, Table

KINDS = ("rounds", "sweep", "costs")
MAX_RUNS = 10**9
MAX_LEARNERS = 100
MAX_POINTS = 1_000
"""Most values of a sweep."""
MAX_COSTS = 100
"""Most switching costs."""
MAX_PHASES = 10_000
"""Most phases of a drift; the instances of all of them are in memory together."""


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
    figure = table.table("figure", {})
    find_name = _name_reader(table.file.parent, allow_imports)
    learner_tables = _learner_tables(table)
    learners = _read_learners(learner_tables, find_name)
    source = _read_source(table.table("instance"), find_name)
    sweep = _read_sweep(table.table("sweep", {}), source)
    longest: Any = REQUIRED
    if sweep is not None and sweep[0] == "horizon":
        longest = max(sweep[1])
        if "horizon" in table.values:
            raise table.mistake(
                InputError("horizon", "must not be given beside sweep.horizon"), "horizon"
            )
    rewards = table.take("rewards", lambda key, value: _rewards(key, value, find_name), "bernoulli")
    checkpoints: int | tuple[int, ...] = 50
    spec = Spec(
        name=name,
        section=table.take("section", checks.text, "Experiments"),
        title=table.take("title", checks.text, name),
        caption=table.take("caption", checks.text, ""),
        source=source,
        learners=learners,
        horizon=table.take("horizon", checked_horizon, longest),
        runs=table.take("runs", lambda key, value: checks.whole_number(key, value, 1, MAX_RUNS)),
        seed=table.take("seed", checks.seed),
        rewards=rewards,
        concentration=table.take(
            "concentration", lambda key, value: _concentration(key, value, rewards), CONCENTRATION
        ),
        told=_read_told(table.table("told", {})),
        drift=table.take("drift", lambda key, value: _drift(key, value, source), 1),
        checkpoints=table.take("checkpoints", _checkpoints, checkpoints),
        sweep=sweep,
        switching_costs=table.take("switching_costs", _costs, (0.0,)),
        kind=figure.take("kind", _one_of(KINDS), "rounds"),
        axis=figure.take("axis", checks.text, ""),
        measure=figure.take("measure", _one_of(tuple(MEASURES)), "regret"),
        published=tuple(_read_published(each, learners) for each in table.tables("published")),
        code={name: user_code.digest(name) for name in _user_names(source, learners, rewards)},
    )
    figure.end()
    if spec.kind == "sweep" and sweep is None:
        raise figure.mistake(
            InputError("figure.kind", "must not be 'sweep' without a table [sweep]"), "kind"
        )
    check_fit(spec, table, learner_tables)
    return spec


NameReader = Callable[[str, Any, Sequence[str]], str]


def _name_reader(folder: Path, allow_imports: bool) -> NameReader:
    """Return how a name is read: one of those known, or module:Name, which is loaded if allowed."""

    def read(key: str, value: Any, known: Sequence[str]) -> str:
        if not isinstance(value, str) or not user_code.is_user_code(value):
            return _one_of(known)(key, value)
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
    of_learners = (name for each in learners.values() for name in each.names)
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
    bound = table.take(
        "max_delay",
        lambda key, value: checks.whole_number(key, value, 1, checks.MAX_VALUES - 1),
        none,
    )
    table.end()
    return {} if bound is None else {"max_delay": bound}


def _drift(key: str, value: Any, source: Mapping[str, Any]) -> int:
    phases = checks.whole_number(key, value, minimum=2, maximum=MAX_PHASES)
    name = source.get("catalog")
    if name is None or "progress" not in signature(catalog.find_entry(name)).parameters:
        found = "a file" if name is None else name
        raise InputError(key, "must come with a catalog entry that has a progress", found)
    return phases


def _read_learners(tables: Sequence[Table], find_name: NameReader) -> dict[str, LearnerSpec]:
    learners: dict[str, LearnerSpec] = {}
    for table in tables:
        for name in table.values:
            if name in learners:
                rule = "must have different names in all files"
                raise table.mistake(InputError("learners", rule, f"{name!r} twice"), name)
            learners[name] = _read_learner(table.table(name), name, find_name)
    if not learners:
        raise tables[0].mistake(InputError("learners", "must hold at least one table", "none"))
    if len(learners) > MAX_LEARNERS:
        raise tables[-1].mistake(
            InputError("learners", f"must be at most {MAX_LEARNERS}", f"{len(learners):,}")
        )
    return learners


def _read_learner(table: Table, name: str, find_name: NameReader) -> LearnerSpec:
    learner = table.take("learner", lambda key, value: find_name(key, value, list(LEARNERS)), name)
    if "learner" not in table.values and name not in LEARNERS:
        raise table.mistake(InputError(table.name("learner"), "must be given", "nothing"))
    parameters = table.take_given(free_parameters(learner))
    _load_inner(table, learner, find_name)
    table.end()
    return LearnerSpec(learner, parameters)


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


def _read_published(table: Table, learners: Mapping[str, LearnerSpec]) -> Published:
    value = table.take("value", checks.number)
    published = Published(
        learner=table.take("learner", _one_of(tuple(learners))),
        switching_cost=table.take("switching_cost", checks.not_negative, 0.0),
        round=table.take("round", lambda key, value: checks.whole_number(key, value, minimum=1)),
        value=value,
        low=table.take("low", checks.number, value),
        high=table.take("high", checks.number, value),
        note=table.take("note", checks.text, ""),
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
        checks.numbers(f"sweep.{key}", values, dimensions=1)
        checks.at_most(f"the number of values of sweep.{key}", len(values), MAX_POINTS)
        for value in values:  # each stays as it is written: 0 does not become 0.0
            checks.number(f"sweep.{key}", value)
        if key == "horizon":
            values = [checked_horizon("sweep.horizon", each) for each in values]
    except InputError as error:
        raise table.mistake(error, key) from None
    if len(set(values)) < len(values):
        raise table.mistake(
            InputError(f"sweep.{key}", "must be different values", checks.short(values)), key
        )
    return key, tuple(values)


def _one_of(allowed: Sequence[str]) -> Callable[[str, object], str]:
    def read(key: str, value: object) -> str:
        name = checks.text(key, value)
        checks.one_of(key, name, allowed)
        return name

    return read


def _rewards(key: str, value: object, find_name: NameReader) -> str:
    """Read the name of a law, and draw a reward, so that a wrong function shows at once."""
    name = find_name(key, value, NAMES)
    try_rewards(key, find_rewards(name))
    return name


def _concentration(key: str, value: Any, rewards: str) -> float:
    if rewards != "beta":
        raise InputError(key, "must come with rewards = 'beta'", f"rewards = {rewards!r}")
    return check_concentration(key, value)


def _checkpoints(key: str, value: Any) -> int | tuple[int, ...]:
    if isinstance(value, list):
        return tuple(checks.whole_numbers(key, value, minimum=0))
    return checks.whole_number(key, value, minimum=1, maximum=MAX_CHECKPOINTS)


def _costs(key: str, value: Any) -> tuple[float, ...]:
    if not isinstance(value, list) or not value:
        raise InputError(key, "must be a list of numbers", checks.short(value))
    checks.at_most(f"the number of {key}", len(value), MAX_COSTS)
    costs = tuple(checks.not_negative(key, cost) for cost in value)
    if len(set(costs)) < len(costs):
        raise InputError(key, "must be different numbers", checks.short(value))
    return costs
