"""What was played and what it was worth, at any round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fallow import checks
from fallow.arrays import FloatArray, Int32Array, IntArray
from fallow.frames import frame
from fallow.kernels.ledger import CLOCK, Cycles, Ledger, account
from fallow.planners.cycle import Plan
from fallow.trajectory_file import read_arrays, write_arrays

if TYPE_CHECKING:
    from fallow.frames import DataFrame

Rounds = int | Sequence[int] | IntArray

FLUSH = 2**16
"""Runs kept in lists before they are entered in arrays."""


class Trajectory(ABC):
    """Expected reward, switches and regret of one run, the paper's G_T and what is made of it.

    `RunTrajectory` knows them at every round, `SampledTrajectory` at its checkpoints.
    """

    @property
    @abstractmethod
    def horizon(self) -> int:
        """Rounds played."""

    def expected_reward(self, at: Rounds) -> FloatArray:
        """Return the expected reward of all pulls up to each of these rounds."""
        return self._totals(self._check_rounds(at))[0]

    def switches(self, at: Rounds) -> IntArray:
        """Return how often, up to each round, the cycle played changed; the first one is free."""
        return self._totals(self._check_rounds(at))[1]

    def regret(
        self, reference: Plan | float | Trajectory, at: Rounds, switching_cost: float = 0.0
    ) -> FloatArray:
        """Return what a reference earns by these rounds beyond the run, plus the cost of switches.

        A plan is taken to earn t times its gain by round t, as if it had been played for ever. A
        trajectory is taken at what it earned itself. It starts rested, as the run does, and at
        round t may be in the middle of its cycle. So regret against the trajectory of ghost is the
        paper's G_t(ghost) - G_t(pi), and differs from regret against the plan by no more than a
        constant.

        Parameters
        ----------
        reference
            A plan, such as `ghost(instance)`, or its gain per round; or the trajectory of another
            run, whose own switches are free.
        at
            Rounds from 0 to the horizon, and to that of a reference that is a trajectory.
        switching_cost
            Charged for each switch.

        Examples
        --------
        >>> from fallow import RankingUCB, catalog, simulate
        >>> from fallow.learners import Follow
        >>> from fallow.planners import ghost
        >>> instance = catalog.figure3()
        >>> best = simulate(instance, Follow(ghost(instance)), horizon=1000, seed=0)
        >>> run = simulate(instance, RankingUCB(instance.order), horizon=1000, seed=0)
        >>> lead = run.regret(best, at=1000) - run.regret(ghost(instance), at=1000)
        >>> round(float(lead), 6)  # its first pull is rested, and earns 1 in place of 0.7
        0.3
        """
        rounds = self._check_rounds(at)
        rewards, switches = self._totals(rounds)
        return _earned_by(reference, rounds) - rewards + switching_cost * switches

    def frame(self, at: Rounds) -> DataFrame:
        """Return round, expected reward and switches as a polars frame (extra `data`)."""
        rounds = np.atleast_1d(self._check_rounds(at))
        rewards, switches = self._totals(rounds)
        return frame({"round": rounds, "expected_reward": rewards, "switches": switches})

    def save(self, path: str | Path) -> None:
        """Write the trajectory to an NPZ file that `Trajectory.load` reads back."""
        write_arrays(Path(path), self._arrays())

    @staticmethod
    def load(path: str | Path) -> Trajectory:
        """Read a trajectory of either kind from an NPZ file.

        Raises
        ------
        ValueError
            If the file is no trajectory's; the error names the array, the rule and the value.
        """
        arrays = read_arrays(Path(path))
        if "means" not in arrays:
            return SampledTrajectory(
                arrays["rounds"], arrays["rewards"], arrays["switches"], int(arrays["played"])
            )
        cycles = Cycles(arrays["arms"], arrays["starts"])
        return RunTrajectory(arrays["means"], cycles, arrays["numbers"], arrays["pulls"])

    def _check_rounds(self, at: Rounds) -> IntArray:
        rounds = np.asarray(at)
        if rounds.dtype.kind not in "iu" or (rounds < 0).any() or (rounds > self.horizon).any():
            raise ValueError(
                f"at must be whole rounds from 0 to {self.horizon}, got {checks.short(at)}"
            )
        return rounds.astype(np.int64)

    @abstractmethod
    def _totals(self, rounds: IntArray) -> tuple[FloatArray, IntArray]: ...

    @abstractmethod
    def _arrays(self) -> dict[str, npt.NDArray[Any]]: ...


def _earned_by(reference: Plan | float | Trajectory, rounds: IntArray) -> FloatArray:
    """Return what a reference earns by each of these rounds."""
    if isinstance(reference, Trajectory):
        try:
            return reference.expected_reward(rounds)
        except ValueError as error:
            raise ValueError(f"reference must have played the rounds asked for: {error}") from None
    gain = reference.gain if isinstance(reference, Plan) else checks.number("reference", reference)
    return rounds * np.float64(gain)


@dataclass(frozen=True, eq=False)
class RunTrajectory(Trajectory):
    """All that was played, run-length coded: `pulls[r]` pulls of the cycle with `numbers[r]`."""

    means: FloatArray
    cycles: Cycles
    numbers: Int32Array
    pulls: IntArray

    @property
    def horizon(self) -> int:
        """Rounds played."""
        return int(self.pulls.sum())

    def _totals(self, rounds: IntArray) -> tuple[FloatArray, IntArray]:
        checkpoints, places = np.unique(rounds, return_inverse=True)
        sampler = _Sampler(self.means, checkpoints)
        sampler.enter(self.cycles, self.numbers, self.pulls)
        return sampler.rewards[places], sampler.switches[places]

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "means": self.means,
            "arms": self.cycles.arms,
            "starts": self.cycles.starts,
            "numbers": self.numbers,
            "pulls": self.pulls,
        }


@dataclass(frozen=True, eq=False)
class SampledTrajectory(Trajectory):
    """Totals at some rounds only, in memory that does not grow with the horizon."""

    rounds: IntArray
    rewards: FloatArray
    switch_counts: IntArray
    played: int

    @property
    def horizon(self) -> int:
        """Rounds played."""
        return self.played

    def _totals(self, rounds: IntArray) -> tuple[FloatArray, IntArray]:
        places = np.minimum(np.searchsorted(self.rounds, rounds), len(self.rounds) - 1)
        missing = np.atleast_1d(rounds)[np.atleast_1d(self.rounds[places] != rounds)]
        if missing.size:
            raise ValueError(
                f"at must be among the checkpoints of the simulation, got {missing[0]}; "
                "add it to them, or simulate without checkpoints"
            )
        return self.rewards[places], self.switch_counts[places]

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "rounds": self.rounds,
            "rewards": self.rewards,
            "switches": self.switch_counts,
            "played": np.array(self.played),
        }


class Recorder:
    """Takes runs while they are played: keeps them all, or only the totals at checkpoints."""

    def __init__(self, means: FloatArray, checkpoints: IntArray | None) -> None:
        self.means = means
        self._cycles: dict[tuple[int, ...], tuple[int, tuple[int, ...]]] = {}
        self._numbers: list[int] = []
        self._pulls: list[int] = []
        self._kept: list[tuple[Int32Array, IntArray]] = []
        self._sampler = None if checkpoints is None else _Sampler(means, checkpoints)

    def known(self, arms: tuple[int, ...]) -> tuple[int, tuple[int, ...]] | None:
        """Return the number and the arms of a cycle if it was registered."""
        return self._cycles.get(arms)

    def register(self, arms: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """Give a new cycle its number."""
        return self._cycles.setdefault(arms, (len(self._cycles), arms))

    def append(self, number: int, pulls: int) -> None:
        """Take a whole number of plays of a cycle, or the last pulls of the run."""
        if self._numbers and self._numbers[-1] == number:
            self._pulls[-1] += pulls
            return
        if len(self._numbers) == FLUSH:
            self._flush()
        self._numbers.append(number)
        self._pulls.append(pulls)

    def extend(self, numbers: Int32Array, pulls: IntArray) -> None:
        """Take many runs at once; the arrays may be written to afterwards."""
        if self._sampler is None:
            self._kept.append((numbers.copy(), pulls.copy()))
        else:
            self._sampler.enter(self._cycle_arrays(), numbers, pulls)

    def trajectory(self) -> Trajectory:
        """Return what was recorded."""
        self._flush()
        if self._sampler is not None:
            sampler = self._sampler
            return SampledTrajectory(
                sampler.checkpoints, sampler.rewards, sampler.switches, sampler.played
            )
        numbers, pulls = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
        return RunTrajectory(self.means, self._cycle_arrays(), numbers, pulls)

    def _flush(self) -> None:
        if self._numbers:
            self.extend(np.array(self._numbers, np.int32), np.array(self._pulls))
            self._numbers.clear()
            self._pulls.clear()

    def _cycle_arrays(self) -> Cycles:
        lengths = [len(arms) for arms in self._cycles]
        arms = np.array([arm for cycle in self._cycles for arm in cycle])
        return Cycles(arms, np.cumsum([0, *lengths]))


class _Sampler:
    """The ledger of a run and the totals at its checkpoints."""

    def __init__(self, means: FloatArray, checkpoints: IntArray) -> None:
        arms, width = means.shape
        self.means = means
        self.checkpoints = checkpoints
        self.rewards = np.zeros(len(checkpoints))
        self.switches = np.zeros(len(checkpoints), np.int64)
        self._ledger = Ledger(
            last=np.full(arms, -width),  # so that every arm starts rested
            counts=np.zeros((arms, width), np.int64),
            totals=np.array([0, 0, -1, 0]),
        )

    @property
    def played(self) -> int:
        return int(self._ledger.totals[CLOCK])

    def enter(self, cycles: Cycles, numbers: Int32Array, pulls: IntArray) -> None:
        account(
            self.means,
            cycles,
            numbers,
            pulls,
            self._ledger,
            self.checkpoints,
            self.rewards,
            self.switches,
        )
