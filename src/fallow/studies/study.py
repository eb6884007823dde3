"""What many runs share, and how one of them is played."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray, IntArray
from fallow.drift import play_phases
from fallow.errors import InputError
from fallow.instance import Instance
from fallow.planners.cycle import Plan, gain_of
from fallow.planners.ranking import ghost
from fallow.protocol import Learner, has_compiled_loop
from fallow.rewards import (
    CONCENTRATION,
    Rewards,
    SlowRewards,
    are_drawn_one_by_one,
    check_concentration,
    check_rewards,
)
from fallow.runs import log_spaced_rounds
from fallow.simulation import check_learner, checked_checkpoints, checked_horizon
from fallow.studies.result import Result

Family = Callable[[int], Instance | Sequence[Instance]]
Factory = Callable[[Instance, int], Learner]
Reference = Callable[[Instance], Plan | float]

MAX_CHECKPOINTS = 100_000
"""Most rounds at which totals are kept, where only their number is given."""


@dataclass(frozen=True, eq=False)
class Study:
    """Learners, what they play against, for how long, and what they are compared with.

    Parameters
    ----------
    instance
        An instance, or a family: a function from a seed to an instance, drawn anew in each run, or
        to several, played one after the other by the same learner for equal parts of the horizon.
        Each of these starts rested; what learners are told is of the first, and the gains of
        references are averages.
    learners
        By name, functions from the instance and a seed to a fresh learner. They may hand on what an
        algorithm is allowed to know, such as `instance.order`.
    horizon
        Rounds of each run.
    seed
        All randomness of run r comes from the r-th child of this seed.
    rewards, concentration
        As in `fallow.simulate`.
    checkpoints
        Rounds at which totals are kept; by default `log_rounds(horizon)`.
    references
        By name, planners (or functions to a gain) to compare with; by default ghost.

    Examples
    --------
    >>> from fallow import RankingUCB, catalog
    >>> pi_ucb = lambda instance, seed: RankingUCB(instance.order)
    >>> study = Study(catalog.figure2, {"pi_ucb": pi_ucb}, horizon=1000, seed=0)
    >>> study.play(17)
    Result(1 run of 1 learner, 1,000 rounds: pi_ucb)
    """

    instance: Instance | Family
    learners: Mapping[str, Factory]
    horizon: int
    seed: int
    rewards: Rewards = "bernoulli"
    checkpoints: Sequence[int] | IntArray | None = None
    references: Mapping[str, Reference] = field(default_factory=lambda: {"ghost": ghost})
    concentration: float = CONCENTRATION

    def __post_init__(self) -> None:
        object.__setattr__(self, "horizon", checked_horizon("horizon", self.horizon))
        object.__setattr__(self, "seed", checks.seed("seed", self.seed))
        if not isinstance(self.instance, Instance) and not callable(self.instance):
            rule = "an Instance, or a function from a seed to one"
            raise InputError("instance", f"must be {rule}", checks.short(self.instance))
        if isinstance(self.instance, Instance):
            check_no_rules(self.instance)
        if not isinstance(self.learners, Mapping) or not self.learners:
            rule = "functions from instance and seed to a learner, by name"
            raise InputError("learners", f"must be {rule}", checks.short(self.learners))
        for name, make in self.learners.items():
            checks.text("the name of a learner", name, longest=checks.MAX_NAME)
            if not callable(make):
                rule = "a function from instance and seed to a learner"
                raise InputError(f"learner {name!r}", f"must be {rule}", checks.short(make))
        references = self.references
        if not isinstance(references, Mapping) or not all(map(callable, references.values())):
            rule = "functions from an instance to a plan or a gain, by name"
            raise InputError("references", f"must be {rule}", checks.short(references))
        check_rewards("rewards", self.rewards)
        check_concentration("concentration", self.concentration)
        _ = self.rounds

    @cached_property
    def rounds(self) -> IntArray:
        """The rounds at which totals are kept."""
        if self.checkpoints is None:
            return log_rounds(self.horizon)
        return checked_checkpoints(self.checkpoints, self.horizon)

    @cached_property
    def is_compiled(self) -> bool:
        """Whether runs spend their time in compiled loops, free of the interpreter's lock.

        Learners declare it. Only then do threads run side by side.
        """
        try:
            phases = self._draw(0)
            learners = [make(phases[0], 0) for make in self.learners.values()]
        except (Exception, SystemExit):  # what cannot be made fails in its runs, which tell more
            return False
        if len(phases) > 1 or are_drawn_one_by_one(self.rewards):
            return False
        return all(map(has_compiled_loop, learners))

    @cached_property
    def fixed_gains(self) -> list[float] | None:
        """The gain of each reference, or None where the instance is drawn anew in each run."""
        return self._gains([self.instance]) if isinstance(self.instance, Instance) else None

    def play(self, run: int) -> Result:
        """Return what every learner comes to in one run; the same each time."""
        number = checks.whole_number("run", run, minimum=0)
        source = np.random.SeedSequence(self.seed, spawn_key=(number,))
        instance_seed, reward_seed, learner_seed = source.spawn(3)
        part = "instance"
        try:
            phases = self._draw(_number(instance_seed))
            totals = []
            for name, make in self.learners.items():
                part = f"learner {name!r}"
                learner = make(phases[0], _number(learner_seed))
                check_learner(part, learner)
                earned, switched = self._play(phases, learner, reward_seed)
                ranking = getattr(learner, "ranking_rounds", 0)
                totals.append((earned, switched, checks.whole_number("ranking_rounds", ranking, 0)))
            part = "references"
            gains = self.fixed_gains or self._gains(phases)
        except (Exception, SystemExit) as error:
            error.add_note(f"{part}, run {run} of seed {self.seed}")
            raise
        all_earned, all_switched, all_ranking = zip(*totals, strict=True)
        return Result(
            tuple(self.learners),
            (run,),
            self.rounds,
            np.array([all_earned]),
            np.array([all_switched]),
            np.array([all_ranking]),
            {name: np.array([gain]) for name, gain in zip(self.references, gains, strict=True)},
        )

    def _play(
        self, phases: Sequence[Instance], learner: Learner, seed: np.random.SeedSequence
    ) -> tuple[FloatArray, IntArray]:
        options = self.horizon, seed, self.rewards, self.rounds, self.concentration
        if not are_drawn_one_by_one(self.rewards):
            return play_phases(phases, learner, *options)
        with warnings.catch_warnings():  # whoever asks for many runs is told once, not by each run
            warnings.simplefilter("ignore", SlowRewards)
            return play_phases(phases, learner, *options)

    def nothing(self) -> Result:
        """Return the result of no runs."""
        shape = (0, len(self.learners), len(self.rounds))
        counts = np.zeros(shape, np.int64)
        none = {name: np.zeros(0) for name in self.references}
        names = tuple(self.learners)
        return Result(names, (), self.rounds, np.zeros(shape), counts, counts[:, :, 0], none)

    def _draw(self, seed: int) -> Sequence[Instance]:
        if isinstance(self.instance, Instance):
            return [self.instance]
        drawn = self.instance(seed)
        phases = [drawn] if isinstance(drawn, Instance) else drawn
        if not isinstance(phases, list | tuple) or not phases:
            raise InputError("a family", "must return instances", checks.short(drawn))
        for phase in phases:
            if not isinstance(phase, Instance) or phase.arms != phases[0].arms:
                rule = "must return instances with the same number of arms"
                raise InputError("a family", rule, checks.short(drawn))
            check_no_rules(phase)
        if len(phases) > self.horizon:
            raise InputError(
                "a family",
                "must return at most one instance a round",
                f"{len(phases):,} for a horizon of {self.horizon:,}",
            )
        return phases

    def _gains(self, phases: Sequence[Instance]) -> list[float]:
        planners = self.references.values()
        return [
            fmean(gain_of("the gain of a reference", planner(phase)) for phase in phases)
            for planner in planners
        ]


def check_no_rules(instance: Instance) -> None:
    """Check that learners are not measured against plans that obey rules, as they do not."""
    if instance.rules:
        raise InputError(
            "instance",
            "must have no rules, which learners do not obey",
            f"{len(instance.rules)}; play it without, by instance.with_rules(Rules())",
        )


def log_rounds(horizon: int, count: int = 50) -> IntArray:
    """Return at most `count` rounds, evenly spaced on a log axis; the horizon is the last.

    Examples
    --------
    >>> log_rounds(1000, count=4).tolist(), log_rounds(1000, count=1).tolist()
    ([1, 10, 100, 1000], [1000])
    """
    rounds = checked_horizon("horizon", horizon)
    many = checks.whole_number("count", count, minimum=1, maximum=MAX_CHECKPOINTS)
    return log_spaced_rounds(rounds, many)


def _number(source: np.random.SeedSequence) -> int:
    return int(source.generate_state(1, np.uint32)[0])
