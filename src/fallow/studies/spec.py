"""What an experiment is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

from fallow import catalog
from fallow.arrays import IntArray
from fallow.instance import Instance
from fallow.learners.registry import INNER, learner_factory
from fallow.planners.plan import optimum_or_bound
from fallow.planners.ranking import ghost
from fallow.rewards import find_rewards
from fallow.simulation import checked_checkpoints
from fallow.studies.study import Factory, Family, Study, log_rounds

DECISIVE = (
    "source",
    "learners",
    "horizon",
    "runs",
    "seed",
    "rewards",
    "concentration",
    "told",
    "drift",
    "checkpoints",
    "sweep",
    "switching_costs",
    "code",
)
"""What decides about the results."""
MEASURES = {"regret": "regret against ghost", "share": "share of the optimum's reward"}
"""What a figure may show, and how its axis is labelled."""


@dataclass(frozen=True)
class LearnerSpec:
    """A learner by its name on the command line, and its parameters."""

    learner: str
    parameters: Mapping[str, Any]

    @property
    def names(self) -> list[str]:
        """Its own name, and that of the learner that it is made of, if any."""
        parameter, _ = INNER.get(self.learner, ("", ""))
        inner = self.parameters.get(parameter)
        return [self.learner] if inner is None else [self.learner, inner]


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
        A catalog name, or a user's function as module:name, with its parameters under "catalog",
        "parameters", or a table of means under "means". A random catalog entry without a seed is a
        family, drawn again in each run.
    learners
        By the name they have in the figure.
    horizon, runs, seed, concentration
        As in `fallow.replicate`.
    rewards
        Their name as there, or a user's function as module:name.
    told
        Overrides facts of the instance that learners are given, such as a bound on the delays.
    drift
        Number of phases in which the catalog entry's `progress` goes from 0 to 1; 1 without drift.
    checkpoints
        Rounds at which totals are kept, or how many, spaced evenly on a log axis.
    sweep
        "horizon" or a parameter of the catalog entry, and the values that it takes in turn.
    switching_costs
        Those for which regret is reported. They do not change what is played, only what is kept.
    kind
        What the figure's axis is: rounds, the sweep's values, or switching costs.
    axis
        What the values of the sweep mean.
    measure
        What the figure shows: regret against ghost, or the share of the optimum earned.
    published
        Values to compare with.
    code
        Digests of the source of users' own learners, families and rewards, by the names that the
        spec gives.
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
    rewards: str
    concentration: float
    told: Mapping[str, Any]
    drift: int
    checkpoints: int | tuple[int, ...]
    sweep: tuple[str, tuple[float, ...]] | None
    switching_costs: tuple[float, ...]
    kind: str
    axis: str
    measure: str
    published: tuple[Published, ...]
    code: Mapping[str, str]

    @property
    def points(self) -> tuple[float | None, ...]:
        """The values of the sweep; a single None where there is none."""
        return (None,) if self.sweep is None else self.sweep[1]

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
            return Instance(self.source["means"])
        name, parameters = self.source["catalog"], self.source["parameters"]
        if self.drift == 1:
            return catalog.source(name, parameters)
        sources = [self._phase(number) for number in range(self.drift)]

        def phases(seed: int) -> list[Instance]:
            return [source if isinstance(source, Instance) else source(seed) for source in sources]

        return phases

    def _phase(self, number: int) -> Instance | Callable[[int], Instance]:
        progress = number / (self.drift - 1)
        parameters = {**self.source["parameters"], "progress": progress}
        return catalog.source(self.source["catalog"], parameters)

    def first_instance(self) -> Instance:
        """Return an instance as learners meet it first, at a value of the sweep."""
        source = self.instance() if self.drift == 1 else self._phase(0)
        drawn = source if isinstance(source, Instance) else source(0)
        return cast(Instance, drawn)

    def factories(self) -> dict[str, Factory]:
        """Return how each learner is made, at a value of the sweep."""
        return {name: self.factory(learner) for name, learner in self.learners.items()}

    def factory(self, learner: LearnerSpec) -> Factory:
        """Return how a learner is made, at a value of the sweep."""
        return learner_factory(learner.learner, self.horizon, learner.parameters, self.told)

    def rounds(self) -> IntArray:
        """Return the rounds at which totals are kept, at a value of the sweep."""
        if isinstance(self.checkpoints, int):
            return log_rounds(self.horizon, self.checkpoints)
        return checked_checkpoints(self.checkpoints, self.horizon)

    def study(self) -> Study:
        """Return what all runs share, at a value of the sweep."""
        return Study(
            self.instance(),
            self.factories(),
            self.horizon,
            self.seed,
            find_rewards(self.rewards),
            self.rounds(),
            {"ghost": ghost, "optimum": optimum_or_bound},
            self.concentration,
        )

    def values(self) -> dict[str, Any]:
        """Return all of the spec as plain JSON values."""
        return asdict(self)

    def digest(self) -> str:
        """Return a hash of all that decides about the results; title and figure do not."""
        values = self.values()
        values["learners"] = list(values["learners"].items())  # their order is that of the rows
        text = json.dumps({key: values[key] for key in DECISIVE}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()
