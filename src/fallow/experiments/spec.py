"""What an experiment is: read from a TOML file, checked once, and run as it stands."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any, cast, get_args

from fallow import catalog, checks
from fallow.arrays import IntArray
from fallow.experiments.tables import REQUIRED, Table
from fallow.instance import Instance
from fallow.learners.named import LEARNERS, build_learner, free_parameters
from fallow.replicate import Factory, Family, log_rounds
from fallow.simulate import Rewards, checked_checkpoints, checked_horizon

KINDS = ("rounds", "sweep", "costs")
MEASURES = ("regret", "share")
DECISIVE = (
    "source",
    "learners",
    "horizon",
    "runs",
    "seed",
    "rewards",
    "checkpoints",
    "sweep",
)
"""What decides about the rows."""


@dataclass(frozen=True)
class LearnerSpec:
    """A learner by its name on the command line, and its parameters."""

    learner: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Published:
    """A value read off a published figure, to compare with: regret of a learner at a round.

    `low` and `high` are its band, or how far it can be misread; `note` is why ours differs.
    """

    learner: str
    switching_cost: float
    round: int
    value: float
    low: float
    high: float
    note: str


@dataclass(frozen=True)
class Spec:
    """An experiment.

    Attributes
    ----------
    name
        The file's name without its ending.
    section, title, caption
        For the report; experiments of a section stand beside each other, and the caption says what
        to see in the figure.
    source
        A catalog name with its parameters under "catalog", "parameters", or a table of means under
        "means". A random catalog entry without a seed is a family, drawn anew in each run.
    learners
        By the name they have in the figure.
    horizon, runs, seed, rewards
        As in `fallow.replicate`.
    checkpoints
        Rounds at which totals are kept, or how many, spaced evenly on a log axis.
    sweep
        "horizon" or a parameter of the catalog entry, and the values that it takes in turn.
    switching_costs
        Those for which regret is reported. They do not change what is played.
    kind
        What the figure's axis is: rounds, the sweep's values, or switching costs.
    axis
        What the values of the sweep mean.
    measure
        What the figure shows: regret against ghost, or the share of the optimum earned.
    published
        Values to compare with.
    """

    name: str
    section: str
    title: str
    caption: str
    source: Mapping[str, Any]
    learners: Mapping[str, LearnerSpec]
    horizon: int
    runs: int
    seed: int
    rewards: Rewards
    checkpoints: int | tuple[int, ...]
    sweep: tuple[str, tuple[float, ...]] | None
    switching_costs: tuple[float, ...]
    kind: str
    axis: str
    measure: str
    published: tuple[Published, ...]

    @classmethod
    def load(cls, path: str | Path) -> Spec:
        """Read and check a file.

        Raises
        ------
        ValueError
            Names the key, the rule, the value and the line.
        """
        file = Path(path)
        if not file.is_file():
            raise ValueError(f"FILE must be a spec, a TOML file, got {file}, which does not exist")
        table = Table.load(file)
        spec = _read(file.stem, table)
        table.end()
        return spec

    @property
    def points(self) -> tuple[float | None, ...]:
        """The values of the sweep; a single None where there is none."""
        return (None,) if self.sweep is None else self.sweep[1]

    @property
    def work(self) -> int:
        """Rounds that are played in all runs together."""
        horizons = sum(self.at(point).horizon for point in self.points)
        return horizons * self.runs * len(self.learners)

    def at(self, point: float | None) -> Spec:
        """Return the experiment at one value of its sweep."""
        if self.sweep is None or point is None:
            return self
        if self.sweep[0] == "horizon":
            return replace(self, horizon=cast(int, point), sweep=None)
        parameters = {**self.source["parameters"], self.sweep[0]: point}
        return replace(self, source={**self.source, "parameters": parameters}, sweep=None)

    def instance(self) -> Instance | Family:
        """Return what is played, at a value of the sweep."""
        if "means" in self.source:
            return Instance.from_means(self.source["means"])
        name, parameters = self.source["catalog"], self.source["parameters"]
        if "seed" in signature(catalog.ENTRIES[name]).parameters and "seed" not in parameters:
            return lambda seed: catalog.build(name, {**parameters, "seed": seed})
        return catalog.build(name, parameters)

    def factories(self) -> dict[str, Factory]:
        """Return how each learner is made, at a value of the sweep."""
        return {name: self._factory(learner) for name, learner in self.learners.items()}

    def _factory(self, learner: LearnerSpec) -> Factory:
        return lambda instance, seed: build_learner(
            learner.learner, instance, self.horizon, seed, learner.parameters
        )

    def rounds(self) -> IntArray:
        """Return the rounds at which totals are kept, at a value of the sweep."""
        if isinstance(self.checkpoints, int):
            return log_rounds(self.horizon, self.checkpoints)
        return checked_checkpoints(self.checkpoints, self.horizon)

    def values(self) -> dict[str, Any]:
        """Return all of the spec as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Spec:
        """Return the spec whose values these are."""
        learners = {name: LearnerSpec(**each) for name, each in values["learners"].items()}
        sweep, checkpoints = values["sweep"], values["checkpoints"]
        return cls(
            **{
                **values,
                "learners": learners,
                "checkpoints": checkpoints if isinstance(checkpoints, int) else tuple(checkpoints),
                "sweep": None if sweep is None else (sweep[0], tuple(sweep[1])),
                "switching_costs": tuple(values["switching_costs"]),
                "published": tuple(Published(**each) for each in values["published"]),
            }
        )

    def digest(self) -> str:
        """Return a hash of all that decides about the rows; title, costs and figure do not."""
        values = self.values()
        text = json.dumps({key: values[key] for key in DECISIVE}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def _read(name: str, table: Table) -> Spec:
    figure = table.table("figure", {})
    learners = _read_learners(table.table("learners"))
    source = _read_source(table.table("instance"))
    sweep = _read_sweep(table.table("sweep", {}), source)
    longest: Any = max(sweep[1]) if sweep is not None and sweep[0] == "horizon" else REQUIRED
    checkpoints: int | tuple[int, ...] = 50
    spec = Spec(
        name=name,
        section=table.take("section", checks.text, "Experiments"),
        title=table.take("title", checks.text, name),
        caption=table.take("caption", checks.text, ""),
        source=source,
        learners=learners,
        horizon=table.take("horizon", checked_horizon, longest),
        runs=table.take("runs", lambda key, value: checks.whole_number(key, value, minimum=1)),
        seed=table.take("seed", lambda key, value: checks.whole_number(key, value, minimum=0)),
        rewards=table.take("rewards", _rewards, "bernoulli"),
        checkpoints=table.take("checkpoints", _checkpoints, checkpoints),
        sweep=sweep,
        switching_costs=table.take("switching_costs", _costs, (0.0,)),
        kind=figure.take("kind", _one_of(KINDS), "rounds"),
        axis=figure.take("axis", checks.text, ""),
        measure=figure.take("measure", _one_of(MEASURES), "regret"),
        published=tuple(_read_published(each, learners) for each in table.tables("published")),
    )
    figure.end()
    if spec.kind == "sweep" and sweep is None:
        raise figure.mistake("figure.kind must not be 'sweep' without a table [sweep]", "kind")
    _check_points(spec, table)
    return spec


def _read_source(table: Table) -> dict[str, Any]:
    """Read what is played; a file of means is read now, so that its content is in the hash."""
    if "file" in table.values:
        path = table.take("file", lambda key, value: table.file.parent / checks.text(key, value))
        table.end()
        return {"means": Instance.load(path).means.tolist()}
    name = table.take("catalog", _one_of(tuple(catalog.ENTRIES)))
    parameters = table.take_given(signature(catalog.ENTRIES[name]).parameters)
    table.end()
    return {"catalog": name, "parameters": parameters}


def _read_learners(table: Table) -> dict[str, LearnerSpec]:
    learners = {}
    for name in table.values:
        inner = table.table(name)
        learner = inner.take("learner", _one_of(tuple(LEARNERS)), name)
        if learner not in LEARNERS:
            raise inner.mistake(f"{inner.name('learner')} must be given, got nothing")
        learners[name] = LearnerSpec(learner, inner.take_given(free_parameters(learner)))
        inner.end()
    if not learners:
        raise table.mistake("learners must hold at least one table, got none")
    return learners


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
        allowed += signature(catalog.ENTRIES[source["catalog"]]).parameters
    for key in swept:
        if key not in allowed or len(swept) > 1:
            rule = f"sweep must have one key out of {', '.join(allowed)}"
            raise table.mistake(f"{rule}, got {', '.join(swept)}", key)
    ((key, values),) = swept.items()
    try:
        checks.numbers(f"sweep.{key}", values, dimensions=1)
    except ValueError as error:
        raise table.mistake(str(error), key) from None
    return key, tuple(values)


def _check_points(spec: Spec, table: Table) -> None:
    """Make instance and learners once at each point, so that a wrong parameter shows at once."""
    for point in spec.points:
        place: tuple[str, ...] = ("instance",) if spec.sweep is None else ("sweep", spec.sweep[0])
        try:
            here = spec.at(point)
            checked_horizon("horizon", here.horizon)
            source = here.instance()
            instance = source if isinstance(source, Instance) else source(0)
            place = ("checkpoints",)
            here.rounds()
            for name, learner in spec.learners.items():
                place = ("learners", name)
                if learner.parameters:
                    here._factory(learner)(instance, 0)
        except ValueError as error:
            raise _placed(table, str(error), place) from None


def _placed(table: Table, message: str, place: tuple[str, ...]) -> ValueError:
    """Return an error at a place of the file, at the key that its message begins with if any."""
    key = message.split(maxsplit=1)[0].rstrip(":")
    if key == place[-1]:
        return table.mistake(".".join((*place[:-1], message)), *place)
    inner: Any = table.values
    for each in place:
        inner = inner.get(each, {})
    if isinstance(inner, dict) and key in inner:
        return table.mistake(".".join((*place, message)), *place, key)
    return table.mistake(f"{'.'.join(place)}: {message}", *place)


def _one_of(allowed: Sequence[str]) -> Any:
    def read(key: str, value: object) -> str:
        name = checks.text(key, value)
        checks.one_of(key, name, allowed)
        return name

    return read


def _rewards(key: str, value: object) -> Rewards:
    return cast(Rewards, _one_of(get_args(Rewards))(key, value))


def _checkpoints(key: str, value: Any) -> int | tuple[int, ...]:
    if isinstance(value, list):
        return tuple(checks.whole_numbers(key, value, minimum=0))
    return checks.whole_number(key, value, minimum=1)


def _costs(key: str, value: Any) -> tuple[float, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"{key} must be a list of numbers, got {checks.short(value)}")
    return tuple(checks.not_negative(key, cost) for cost in value)
