"""Many seeded runs of several learners, paired so that they can be compared."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray, IntArray
from fallow.drift import play_stages
from fallow.frames import frame
from fallow.instance import Instance
from fallow.intervals import Estimate, estimate
from fallow.planners.cycle import Plan
from fallow.planners.ranking import ghost
from fallow.protocol import Learner
from fallow.simulate import Rewards

if TYPE_CHECKING:
    from fallow.frames import DataFrame

Family = Callable[[int], Instance | Sequence[Instance]]
Factory = Callable[[Instance, int], Learner]
Reference = Callable[[Instance], Plan | float]


@dataclass(frozen=True, eq=False)
class Replication:
    """Totals of each learner in each run, at the same rounds.

    Run r of every learner met the same instance and the same random numbers, so the difference of
    two learners is taken run by run before it is averaged.

    Attributes
    ----------
    learners
        Names of the learners.
    runs
        Numbers of the runs, increasing.
    rounds
        The rounds at which totals were taken.
    rewards, switches
        Expected reward and number of switches, by learner, run and round.
    ranking_rounds
        Rounds spent on ranking the arms, by learner and run; 0 for learners that do not say.
    gains
        Reward per round of each reference, by run.
    """

    learners: tuple[str, ...]
    runs: tuple[int, ...]
    rounds: IntArray
    rewards: FloatArray
    switches: IntArray
    ranking_rounds: IntArray
    gains: Mapping[str, FloatArray]

    def regret(
        self, learner: str, reference: str = "ghost", switching_cost: float = 0.0
    ) -> FloatArray:
        """Return the regret of a learner against a reference, by run and round."""
        checks.one_of("learner", learner, self.learners)
        checks.one_of("reference", reference, self.gains)
        place = self.learners.index(learner)
        earned = self.rewards[place] - switching_cost * self.switches[place]
        regret: FloatArray = self.gains[reference][:, np.newaxis] * self.rounds - earned
        return regret

    def difference(self, learner: str, other: str, switching_cost: float = 0.0) -> Estimate:
        """Return how much more regret a learner has than another, by round.

        Taken run by run, so what both meet in a run does not widen the interval.
        """
        return estimate(
            self.regret(learner, switching_cost=switching_cost)
            - self.regret(other, switching_cost=switching_cost)
        )

    @classmethod
    def from_frame(cls, rows: DataFrame) -> Replication:
        """Return the totals whose rows these are; runs and rounds in any order."""
        columns = {"learner", "run", "round", "expected_reward", "switches", "ranking_rounds"}
        if not columns <= set(rows.columns) or rows.is_empty():
            raise ValueError(
                f"rows must have columns {', '.join(sorted(columns))} and not be empty"
            )
        names = tuple(rows["learner"].unique(maintain_order=True))
        places = rows["learner"].replace_strict({name: place for place, name in enumerate(names)})
        rows = rows.with_columns(place=places).sort("place", "run", "round")
        rounds = rows["round"].unique().sort().to_numpy()
        runs = rows["run"].unique().sort()
        shape = (len(names), len(runs), len(rounds))
        if len(rows) != len(names) * len(runs) * len(rounds):
            raise ValueError("rows must be one for each learner, run and round")
        gains = [name for name in rows.columns if name.endswith("_gain")]
        return cls(
            names,
            tuple(runs),
            rounds,
            rows["expected_reward"].to_numpy().reshape(shape),
            rows["switches"].to_numpy().reshape(shape),
            rows["ranking_rounds"].to_numpy().reshape(shape)[:, :, 0],
            {
                name.removesuffix("_gain"): rows[name].to_numpy().reshape(shape)[0, :, 0]
                for name in gains
            },
        )

    def frame(self) -> DataFrame:
        """Return one row for each learner, run and round as a polars frame (extra `data`)."""
        learners, runs, rounds = self.rewards.shape
        gains = {
            f"{name}_gain": np.tile(np.repeat(gains, rounds), learners)
            for name, gains in self.gains.items()
        }
        return frame(
            {
                "learner": np.repeat(self.learners, runs * rounds),
                "run": np.tile(np.repeat(np.array(self.runs), rounds), learners),
                "round": np.tile(self.rounds, learners * runs),
                "expected_reward": self.rewards.ravel(),
                "switches": self.switches.ravel(),
                "ranking_rounds": np.repeat(self.ranking_rounds.ravel(), rounds),
                **gains,
            }
        )


def replicate(
    instance: Instance | Family,
    learners: Factory | Mapping[str, Factory],
    horizon: int,
    runs: int | range,
    seed: int,
    workers: int | None = None,
    rewards: Rewards = "bernoulli",
    checkpoints: Sequence[int] | IntArray | None = None,
    references: Mapping[str, Reference] | None = None,
    concentration: float = 10.0,
    on_run: Callable[[], None] = lambda: None,
) -> Replication:
    """Simulate every learner in many runs; the result does not depend on the number of workers.

    Parameters
    ----------
    instance
        An instance, or a family: a function from a seed to an instance, drawn anew in each run, or
        to several, played one after the other by the same learner for equal parts of the horizon.
        Each of these starts rested; what learners are told is of the first, and the gains of
        references are averages.
    learners
        A function from the instance and a seed to a fresh learner, or several by name. It may hand
        on what an algorithm is allowed to know, such as `instance.order`.
    horizon
        Rounds of each run.
    runs
        Number of runs, or the numbers of some of them, such as range(50, 60): run 50 is the same
        whichever others are asked for.
    seed
        All randomness of run r comes from the r-th child of this seed.
    workers
        Threads; by default one a core. Compiled learners run side by side.
    rewards
        As in `simulate`.
    checkpoints
        Rounds at which totals are kept; by default `log_rounds(horizon)`.
    references
        By name, planners (or functions to a gain) to compare with; by default ghost.
    concentration
        As in `simulate`.
    on_run
        Called after each run of a learner, for progress.

    Examples
    --------
    >>> from fallow import LowSwitch, RankingUCB, catalog
    >>> learners = {
    ...     "low": lambda drawn, _: LowSwitch(drawn.order, 1000),
    ...     "ucb": lambda drawn, _: RankingUCB(drawn.order),
    ... }
    >>> study = replicate(catalog.figure2, learners, horizon=1000, runs=20, seed=0)
    >>> study.regret("ucb", switching_cost=1).shape
    (20, 42)
    """
    if not isinstance(runs, range):
        runs = range(checks.whole_number("runs", runs, minimum=1))
    if workers is not None:
        checks.whole_number("workers", workers, minimum=1)
    checks.whole_number("horizon", horizon, minimum=1)
    factories = {"learner": learners} if callable(learners) else learners
    if not factories:
        raise ValueError("learners must name at least one, got none")
    setting = Setting(
        instance,
        factories,
        horizon,
        checks.whole_number("seed", seed, minimum=0),
        rewards,
        log_rounds(horizon) if checkpoints is None else np.asarray(checkpoints),
        {"ghost": ghost} if references is None else references,
        concentration,
    )
    executor = ThreadPoolExecutor(workers or cores())
    try:
        played = list(executor.map(lambda number: setting.play(number, on_run), runs))
    finally:
        # After an error or Ctrl-C, runs under way go on in their threads but nobody waits for them.
        executor.shutdown(wait=False, cancel_futures=True)
    return setting.collected(runs, played)


class Run(NamedTuple):
    """Totals of one run: by learner and round, by learner, and by reference."""

    rewards: FloatArray
    switches: IntArray
    ranking_rounds: list[int]
    gains: list[float]


@dataclass(frozen=True, eq=False)
class Setting:
    """What all runs of a study share; the parameters are those of `replicate`."""

    instance: Instance | Family
    learners: Mapping[str, Factory]
    horizon: int
    seed: int
    rewards: Rewards
    rounds: IntArray
    references: Mapping[str, Reference]
    concentration: float = 10.0

    def play(self, number: int, on_learner: Callable[[], None] = lambda: None) -> Run:
        """Return what every learner comes to in one run."""
        source = np.random.SeedSequence(self.seed, spawn_key=(number,))
        instance_seed, reward_seed, learner_seed = source.spawn(3)
        stage = "instance"
        try:
            stages = self._stages(instance_seed)
            totals = []
            for name, factory in self.learners.items():
                stage = f"learner {name!r}"
                learner = factory(stages[0], _number(learner_seed))
                earned, switched = play_stages(
                    stages,
                    learner,
                    self.horizon,
                    reward_seed,
                    self.rewards,
                    self.rounds,
                    self.concentration,
                )
                totals.append((earned, switched, getattr(learner, "ranking_rounds", 0)))
                on_learner()
            stage = "references"
            gains = self.fixed_gains or self._gains(stages)
        except Exception as error:
            error.add_note(f"{stage}, run {number} of seed {self.seed}")
            raise
        all_earned, all_switched, ranking = zip(*totals, strict=True)
        return Run(np.array(all_earned), np.array(all_switched), list(ranking), gains)

    def collected(self, runs: Sequence[int], played: Sequence[Run]) -> Replication:
        """Return some runs as one study."""
        by_run = (len(played), len(self.learners), len(self.rounds))  # also if there are none
        earned = np.array([run.rewards for run in played]).reshape(by_run)
        switched = np.array([run.switches for run in played]).reshape(by_run)
        ranking = np.array([run.ranking_rounds for run in played]).reshape(by_run[:2])
        gains = np.array([run.gains for run in played]).reshape(len(played), len(self.references))
        return Replication(
            tuple(self.learners),
            tuple(runs),
            self.rounds,
            np.ascontiguousarray(earned.swapaxes(0, 1)),
            np.ascontiguousarray(switched.swapaxes(0, 1)),
            ranking.T,
            dict(zip(self.references, gains.T, strict=True)),
        )

    @cached_property
    def fixed_gains(self) -> list[float] | None:
        """The gain of each reference, or None where the instance is drawn anew in each run."""
        return self._gains([self.instance]) if isinstance(self.instance, Instance) else None

    def _stages(self, seed: np.random.SeedSequence) -> Sequence[Instance]:
        if isinstance(self.instance, Instance):
            return [self.instance]
        drawn = self.instance(_number(seed))
        return [drawn] if isinstance(drawn, Instance) else drawn

    def _gains(self, stages: Sequence[Instance]) -> list[float]:
        planners = self.references.values()
        return [fmean(_gain(planner(stage)) for stage in stages) for planner in planners]


def joined(parts: Sequence[Replication]) -> Replication:
    """Return the runs of several parts, one after the other, as one study.

    Examples
    --------
    >>> from fallow import RankingUCB, catalog
    >>> instance = catalog.figure3()
    >>> parts = [
    ...     replicate(instance, lambda *_: RankingUCB(instance.order), 100, runs=runs, seed=0)
    ...     for runs in (range(0, 3), range(3, 5))
    ... ]
    >>> joined(parts).runs
    (0, 1, 2, 3, 4)
    """
    first = parts[0]
    return Replication(
        first.learners,
        tuple(run for part in parts for run in part.runs),
        first.rounds,
        np.concatenate([part.rewards for part in parts], axis=1),
        np.concatenate([part.switches for part in parts], axis=1),
        np.concatenate([part.ranking_rounds for part in parts], axis=1),
        {name: np.concatenate([part.gains[name] for part in parts]) for name in first.gains},
    )


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def log_rounds(horizon: int, count: int = 50) -> IntArray:
    """Return about so many rounds from 1 to the horizon, evenly spaced on a log axis.

    Examples
    --------
    >>> log_rounds(1000, count=4).tolist()
    [1, 10, 100, 1000]
    """
    return np.unique(np.geomspace(1, horizon, count).round().astype(np.int64))


def _number(source: np.random.SeedSequence) -> int:
    return int(source.generate_state(1, np.uint32)[0])


def _gain(reference: Plan | float) -> float:
    return reference.gain if isinstance(reference, Plan) else float(reference)
