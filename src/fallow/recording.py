"""Recording a run while it is played: all of it, or its totals at some rounds."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fallow.arrays import FloatArray, Int32Array, IntArray
from fallow.kernels.ledger import Cycles, Ledger, account

FLUSHED_RUNS = 2**16
"""Number of runs that wait in lists before they are entered in arrays."""


class Sampler:
    """The totals of a run at its checkpoints.

    Attributes
    ----------
    checkpoints
        Rounds, in increasing order.
    rewards, switches
        Expected reward and number of switches up to each checkpoint.
    counts
        Number of pulls so far, by arm and delay.
    """

    def __init__(self, means: FloatArray, checkpoints: IntArray) -> None:
        arms, width = means.shape
        self.means = means
        self.checkpoints = checkpoints
        self.rewards = np.zeros(len(checkpoints))
        self.switches = np.zeros(len(checkpoints), np.int64)
        self.counts = np.zeros((arms, width), np.int64)
        self._ledger = Ledger(
            last=np.full(arms, -width),  # so that every arm starts rested
            counts=self.counts,
            totals=np.array([0, 0, -1, 0]),
        )

    def enter(self, cycles: Cycles, numbers: Int32Array, pulls: IntArray) -> None:
        """Enter runs: `pulls[r]` pulls of the cycle with number `numbers[r]`."""
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


class Record(NamedTuple):
    """All that was played, run-length coded: `pulls[r]` pulls of the cycle with `numbers[r]`.

    `means` is the table of the instance. `drawn` has the rewards of all rounds if they were kept,
    and is empty otherwise.
    """

    means: FloatArray
    cycles: Cycles
    numbers: Int32Array
    pulls: IntArray
    drawn: FloatArray

    def totals(self, rounds: IntArray) -> tuple[FloatArray, IntArray]:
        """Return expected reward and switches up to each of these rounds, in any order."""
        checkpoints, inverse = np.unique(rounds, return_inverse=True)
        sampler = Sampler(self.means, checkpoints)
        sampler.enter(self.cycles, self.numbers, self.pulls)
        return sampler.rewards[inverse], sampler.switches[inverse]

    def counts(self, until: int) -> IntArray:
        """Return how often each arm was pulled up to a round."""
        ends = np.cumsum(self.pulls)
        runs = int(np.searchsorted(ends, until)) + 1
        begun = self.pulls[:runs].copy()
        begun[-1] -= ends[runs - 1] - until
        sampler = Sampler(self.means, np.array([], np.int64))
        sampler.enter(self.cycles, self.numbers[:runs], begun)
        counts: IntArray = sampler.counts.sum(axis=1)
        return counts

    def arms(self, start: int, stop: int) -> IntArray:
        """Return the arms pulled from after round `start` to round `stop`."""
        rounds = np.arange(start, stop)
        ends = np.cumsum(self.pulls)
        runs = np.searchsorted(ends, rounds, side="right")
        first = self.cycles.starts[self.numbers[runs]]
        length = self.cycles.starts[self.numbers[runs] + 1] - first
        return self.cycles.arms[first + (rounds - ends[runs] + self.pulls[runs]) % length]


class Recorder:
    """Takes runs while they are played: enters them in a sampler, or keeps all without one."""

    def __init__(self, sampler: Sampler | None = None) -> None:
        self.drawn: list[float] = []
        self._sampler = sampler
        self._cycles: dict[tuple[int, ...], int] = {}
        self._numbers: list[int] = []
        self._pulls: list[int] = []
        self._kept: list[tuple[Int32Array, IntArray]] = []

    def register(self, cycles: Sequence[tuple[int, ...]]) -> None:
        """Give cycles their numbers, from 0 on, for `extend`."""
        self._cycles = {arms: number for number, arms in enumerate(cycles)}

    def append(self, arms: tuple[int, ...], pulls: int) -> None:
        """Take a whole number of plays of a cycle, or the last pulls of the run."""
        number = self._cycles.setdefault(arms, len(self._cycles))
        if self._numbers and self._numbers[-1] == number:
            self._pulls[-1] += pulls
            return
        if len(self._numbers) == FLUSHED_RUNS:
            self.flush()
        self._numbers.append(number)
        self._pulls.append(pulls)

    def extend(self, numbers: Int32Array, pulls: IntArray) -> None:
        """Take many runs of registered cycles; the arrays may be written to afterwards."""
        if self._sampler is None:
            self._kept.append((numbers.copy(), pulls.copy()))
        else:
            self._sampler.enter(self._cycle_arrays(), numbers, pulls)

    def flush(self) -> None:
        """Enter what waits in lists."""
        if self._numbers:
            self.extend(np.array(self._numbers, np.int32), np.array(self._pulls))
            self._numbers.clear()
            self._pulls.clear()

    def record(self, means: FloatArray) -> Record:
        """Return all that was played against these means; for a recorder without a sampler."""
        numbers, pulls = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
        return Record(means, self._cycle_arrays(), numbers, pulls, np.array(self.drawn))

    def _cycle_arrays(self) -> Cycles:
        lengths = [len(arms) for arms in self._cycles]
        arms = np.array([arm for cycle in self._cycles for arm in cycle])
        return Cycles(arms, np.cumsum([0, *lengths]))


def log_spaced_rounds(horizon: int, count: int) -> IntArray:
    """Return at most `count` rounds, evenly spaced on a log axis; the horizon is the last.

    Examples
    --------
    >>> log_spaced_rounds(1000, count=4), log_spaced_rounds(1000, count=1)
    (array([   1,   10,  100, 1000]), array([1000]))
    """
    before = np.geomspace(1, horizon, count)[:-1].round().astype(np.int64)
    return np.unique(np.append(before, horizon))
