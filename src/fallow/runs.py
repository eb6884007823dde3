"""Runs of cycles, one after the other: which arm when, how often, and totals at some rounds."""

import numpy as np

from fallow.arrays import FloatArray, Int32Array, IntArray
from fallow.kernels.ledger import CLOCK, Cycles, Ledger, account


class Sampler:
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
        """Rounds so far."""
        return int(self._ledger.totals[CLOCK])

    @property
    def counts(self) -> IntArray:
        """Pulls so far, by arm and delay."""
        return self._ledger.counts

    def enter(self, cycles: Cycles, numbers: Int32Array, pulls: IntArray) -> None:
        """Enter runs."""
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


def log_spaced_rounds(horizon: int, count: int) -> IntArray:
    """Return at most `count` rounds, evenly spaced on a log axis; the horizon is the last.

    Examples
    --------
    >>> log_spaced_rounds(1000, count=4), log_spaced_rounds(1000, count=1)
    (array([   1,   10,  100, 1000]), array([1000]))
    """
    before = np.geomspace(1, horizon, count)[:-1].round().astype(np.int64)
    return np.unique(np.append(before, horizon))


def counts_until(
    means: FloatArray, cycles: Cycles, numbers: Int32Array, pulls: IntArray, until: int
) -> IntArray:
    """Return how often each arm was pulled up to a round."""
    ends = np.cumsum(pulls)
    runs = int(np.searchsorted(ends, until)) + 1
    begun = pulls[:runs].copy()
    begun[-1] -= ends[runs - 1] - until
    sampler = Sampler(means, np.array([], np.int64))
    sampler.enter(cycles, numbers[:runs], begun)
    counts: IntArray = sampler.counts.sum(axis=1)
    return counts


def arms_between(
    cycles: Cycles, numbers: Int32Array, pulls: IntArray, start: int, stop: int
) -> IntArray:
    """Return the arms pulled from after round `start` to round `stop`."""
    rounds = np.arange(start, stop)
    ends = np.cumsum(pulls)
    runs = np.searchsorted(ends, rounds, side="right")
    first = cycles.starts[numbers[runs]]
    length = cycles.starts[numbers[runs] + 1] - first
    return cycles.arms[first + (rounds - ends[runs] + pulls[runs]) % length]
