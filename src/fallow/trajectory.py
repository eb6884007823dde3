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
from fallow.errors import InputError
from fallow.frames import frame
from fallow.kernels.ledger import Cycles
from fallow.planners.cycle import Plan, gain_of
from fallow.runs import Sampler, arms_between, counts_until, log_spaced_rounds
from fallow.text import counted
from fallow.trajectory_file import decode_names, encode_names, read_arrays, write_arrays

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fallow.frames import DataFrame

Rounds = int | Sequence[int] | IntArray

MOST_ROUNDS = 10**8
"""Most rounds whose arms are returned at once."""
CHECKPOINTS = 60
"""Most rounds at which a picture's curve has values."""


class Trajectory(ABC):
    """What one run played and what it was worth: the paper's G_T, switches, regret, pulls.

    `RunTrajectory` knows all of it, `SampledTrajectory` only totals at its checkpoints.

    Examples
    --------
    >>> from fallow import Instance, plan, simulate
    >>> from fallow.learners import Follow
    >>> songs = Instance.blocking([1, 0.5], delays=[1, 1], names=["hymn", "waltz"])
    >>> run = simulate(songs, Follow(plan(songs)), horizon=5, seed=0, keep_rewards=True)
    >>> run
    Trajectory(5 rounds, expected reward 3.5, 0 switches)
    >>> run.arms(), run.counts()
    (array([1, 0, 1, 0, 1]), array([2, 3]))
    >>> run.rewards()  # hymn, arm 0, is rested and pays 1 for certain
    array([0., 1., 1., 1., 0.])
    """

    @property
    @abstractmethod
    def horizon(self) -> int:
        """Rounds played."""

    def expected_reward(self, at: Rounds | None = None) -> FloatArray:
        """Return the expected reward of all pulls up to each of these rounds, or up to the end."""
        return self._totals(self._check_rounds(at))[0]

    def switches(self, at: Rounds | None = None) -> IntArray:
        """Return how often the cycle changed up to each round, or the end; the first is free."""
        return self._totals(self._check_rounds(at))[1]

    def counts(self, at: int | None = None) -> IntArray:
        """Return how often each arm was pulled up to a round, or up to the end.

        Examples
        --------
        >>> from fallow import RankingUCB, catalog, simulate
        >>> run = simulate(catalog.figure3(), RankingUCB([0, 1]), horizon=10**6, seed=0)
        >>> run.arms(0, 6), run.counts(at=6), int(run.counts().sum())
        (array([0, 0, 0, 1, 0, 1]), array([4, 2]), 1000000)
        """
        until = self.horizon if at is None else at
        until = checks.whole_number("at", until, minimum=0, maximum=self.horizon)
        run = self._whole()
        return counts_until(run.means, run.cycles, run.numbers, run.pulls, until)

    def arms(self, start: int = 0, stop: int | None = None) -> IntArray:
        """Return the arms pulled, counted from 0, from after round `start` to round `stop`.

        As in a slice, so `arms(0, 10)` are those of the first ten rounds, and `arms()` are all; at
        most 10^8 at once.
        """
        start, stop = self._window(start, stop)
        run = self._whole()
        return arms_between(run.cycles, run.numbers, run.pulls, start, stop)

    def rewards(self, start: int = 0, stop: int | None = None) -> FloatArray:
        """Return the rewards that were drawn, from after round `start` to round `stop`.

        `simulate` keeps them with `keep_rewards=True`. Otherwise it draws the rewards of a block
        added up, and nobody ever knows those of single rounds.
        """
        start, stop = self._window(start, stop)
        drawn = self._whole().drawn
        if not len(drawn):
            raise InputError(
                "rewards", "must have been kept to be told", "none; simulate with keep_rewards=True"
            )
        return drawn[start:stop]

    def regret(
        self,
        reference: Plan | float | Trajectory,
        at: Rounds | None = None,
        switching_cost: float = 0.0,
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
            Rounds from 0 to the horizon, and to that of a reference that is a trajectory; the
            horizon unless given.
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
        >>> lead = run.regret(best) - run.regret(ghost(instance))
        >>> round(float(lead), 6)  # its first pull is rested, and earns 1 in place of 0.7
        0.3
        """
        rounds = self._check_rounds(at)
        rewards, switches = self._totals(rounds)
        return _earned_by(reference, rounds) - rewards + switching_cost * switches

    def frame(self, at: Rounds | None = None) -> DataFrame:
        """Return round, expected reward and switches as a polars frame (extra `data`).

        By default at the checkpoints of the simulation, or at some 60 rounds up to the horizon.
        """
        rounds = np.atleast_1d(self._check_rounds(self._checkpoints() if at is None else at))
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
        InputError
            If the file is no trajectory's; the error names the array, the rule and the value.
        """
        arrays = read_arrays(Path(path))
        if "means" not in arrays:
            return SampledTrajectory(
                arrays["rounds"], arrays["rewards"], arrays["switches"], int(arrays["played"])
            )
        cycles = Cycles(arrays["arms"], arrays["starts"])
        return RunTrajectory(
            arrays["means"],
            decode_names(arrays["names"]),
            cycles,
            arrays["numbers"],
            arrays["pulls"],
            arrays["drawn"],
        )

    def plot(self) -> Figure:
        """Draw the average reward up to each round, and what was pulled first and last.

        Needs the extra `plot`. Where only totals were kept, no pulls are drawn.

        Examples
        --------
        >>> from fallow import RankingUCB, catalog, simulate
        >>> run = simulate(catalog.figure3(), RankingUCB([0, 1]), horizon=10**6, seed=0)
        >>> len(run.plot().axes)  # the curve, the first rounds, the last ones
        3
        """
        from fallow.drawing.arms import MOST_ROUNDS, run_figure

        rounds = self._checkpoints()
        rounds = rounds[rounds > 0]
        if not len(rounds):
            raise InputError("a trajectory", "must have totals after round 0 to be drawn", "none")
        averages = self.expected_reward(rounds) / rounds
        if not isinstance(self, RunTrajectory):
            return run_figure(rounds, averages, (), (), ())
        most = min(MOST_ROUNDS, self.horizon)
        first, last = self.arms(0, most), self.arms(max(most, self.horizon - most))
        return run_figure(rounds, averages, self.names, first, last)

    def __repr__(self) -> str:
        return f"Trajectory({self._in_words()})"

    def _repr_html_(self) -> str:
        from fallow.drawing.html import count_bars, snippet

        pulls = count_bars(self.names, self.counts()) if isinstance(self, RunTrajectory) else ""
        return snippet("Trajectory", self._in_words(), pulls)

    def _in_words(self) -> str:
        last = self._checkpoints()[-1]
        reward, switches = self._totals(last)
        until = f" by round {last:,}" if last < self.horizon else ""
        played = f"{counted(self.horizon, 'round')}, expected reward {reward:,.1f}{until}"
        return f"{played}, {switches:,} {'switch' if switches == 1 else 'switches'}"

    def _window(self, start: int, stop: int | None) -> tuple[int, int]:
        start = checks.whole_number("start", start, 0, self.horizon)
        stop = self.horizon if stop is None else stop
        stop = checks.whole_number("stop", stop, start, self.horizon)
        checks.at_most("stop - start", stop - start, MOST_ROUNDS)
        return start, stop

    def _check_rounds(self, at: Rounds | None) -> IntArray:
        rounds = np.asarray(self.horizon if at is None else at)
        if rounds.dtype.kind not in "iu" or (rounds < 0).any() or (rounds > self.horizon).any():
            raise InputError(
                "at", f"must be whole rounds from 0 to {self.horizon}", checks.short(at)
            )
        return rounds.astype(np.int64)

    @abstractmethod
    def _checkpoints(self) -> IntArray:
        """Return some rounds at which totals are known."""

    @abstractmethod
    def _whole(self) -> RunTrajectory:
        """Return all that was played, or say that only totals were kept."""

    @abstractmethod
    def _totals(self, rounds: IntArray) -> tuple[FloatArray, IntArray]: ...

    @abstractmethod
    def _arrays(self) -> dict[str, npt.NDArray[Any]]: ...


def _earned_by(reference: Plan | float | Trajectory, rounds: IntArray) -> FloatArray:
    """Return what a reference earns by each of these rounds."""
    if isinstance(reference, Trajectory):
        try:
            return reference.expected_reward(rounds)
        except InputError as error:
            raise InputError(
                "reference", f"must have played the rounds asked for: {error}"
            ) from None
    return rounds * np.float64(gain_of("reference", reference))


@dataclass(frozen=True, eq=False, repr=False)
class RunTrajectory(Trajectory):
    """All that was played, run-length coded: `pulls[r]` pulls of the cycle with `numbers[r]`.

    `drawn` are the rewards of all rounds if they were kept, else it is empty.
    """

    means: FloatArray
    names: tuple[str, ...]
    cycles: Cycles
    numbers: Int32Array
    pulls: IntArray
    drawn: FloatArray

    @property
    def horizon(self) -> int:
        """Rounds played."""
        return int(self.pulls.sum())

    def _totals(self, rounds: IntArray) -> tuple[FloatArray, IntArray]:
        checkpoints, places = np.unique(rounds, return_inverse=True)
        sampler = Sampler(self.means, checkpoints)
        sampler.enter(self.cycles, self.numbers, self.pulls)
        return sampler.rewards[places], sampler.switches[places]

    def _checkpoints(self) -> IntArray:
        return log_spaced_rounds(self.horizon, CHECKPOINTS)

    def _whole(self) -> RunTrajectory:
        return self

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "means": self.means,
            "names": encode_names(self.names),
            "arms": self.cycles.arms,
            "starts": self.cycles.starts,
            "numbers": self.numbers,
            "pulls": self.pulls,
            "drawn": self.drawn,
        }


@dataclass(frozen=True, eq=False, repr=False)
class SampledTrajectory(Trajectory):
    """Totals at some rounds only, in memory that does not grow with the horizon."""

    rounds: IntArray
    reward_totals: FloatArray
    switch_totals: IntArray
    played: int

    @property
    def horizon(self) -> int:
        """Rounds played."""
        return self.played

    def _checkpoints(self) -> IntArray:
        return self.rounds

    def _whole(self) -> RunTrajectory:
        raise InputError(
            "a trajectory",
            "must be kept whole to tell pulls and rewards",
            "totals at checkpoints; simulate without checkpoints",
        )

    def _totals(self, rounds: IntArray) -> tuple[FloatArray, IntArray]:
        places = np.minimum(np.searchsorted(self.rounds, rounds), len(self.rounds) - 1)
        missing = np.atleast_1d(rounds)[np.atleast_1d(self.rounds[places] != rounds)]
        if missing.size:
            raise InputError(
                "at",
                "must be among the checkpoints of the simulation",
                f"{missing[0]}; add it to them, or simulate without checkpoints",
            )
        return self.reward_totals[places], self.switch_totals[places]

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "rounds": self.rounds,
            "rewards": self.reward_totals,
            "switches": self.switch_totals,
            "played": np.array(self.played),
        }
