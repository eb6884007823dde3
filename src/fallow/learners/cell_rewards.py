"""What a learner knows that keeps its rewards by arm and delay."""

import math
from typing import Any

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray
from fallow.errors import InputError
from fallow.learners import restored
from fallow.protocol import Block, Outcome


def delay_bound(max_delay: int | None) -> int:
    """Return a bound on all delays as a learner is told it, 0 where delays do not matter."""
    return 0 if max_delay is None else checks.whole_number("max_delay", max_delay, minimum=0)


class Cells:
    """Counts and sums of rewards by arm and delay, and the delays as they are now.

    Every pull is a sample of its own cell, so nothing is discarded to calibrate.

    Parameters
    ----------
    arms
        Number of arms, k.
    max_delay
        A bound on all delays, d_i <= max_delay. Column `delay - 1` of the tables is for pulls after
        so many rounds; the last one, `max_delay`, for all longer ones and for first pulls.
    memory
        Rounds after which a pull counts 1/e, or None if it counts for ever. Pulls of a block fade
        together, from its end on.

    Attributes
    ----------
    counts, sums
        Tables of shape (arms, max_delay + 1).
    first_counts, first_sums
        What first pulls add to the last column, by arm.
    rounds
        Pulls so far.

    Examples
    --------
    >>> cells = Cells(arms=2, max_delay=2)
    >>> cells.credit(Block((0, 1), plays=3), Outcome(first=(1.0, 0.0), rest=(2.0, 0.0)))
    >>> cells.counts
    array([[0., 2., 1.],
           [0., 2., 1.]])
    >>> cells.delays()
    [2, 1]
    """

    def __init__(self, arms: int, max_delay: int, memory: float | None = None) -> None:
        arms = checks.arms(arms)
        max_delay = checks.whole_number("max_delay", max_delay, minimum=0)
        checks.table_size(arms, max_delay + 1)
        self.counts = np.zeros((arms, max_delay + 1))
        self.sums = np.zeros((arms, max_delay + 1))
        self.first_counts = np.zeros(arms)
        self.first_sums = np.zeros(arms)
        self.memory = memory
        self.rounds = 0
        self._last = [-max_delay - 1] * arms

    def check(self, arms: int, width: int, memory: float | None = None) -> None:
        """Check cells that were restored, of so many arms and columns, and this memory."""
        field = "progress._cells."
        restored.equal(f"{field}memory", self.memory, memory)
        restored.rewards(field, self.counts, self.sums, (arms, width), whole=memory is None)
        if memory is None:
            restored.equal(f"{field}rounds", self.rounds, int(self.counts.sum()))
        else:
            restored.whole_number(f"{field}rounds", self.rounds, math.floor(self.counts.sum()))
        firsts = self.first_counts, self.first_sums
        restored.rewards(f"{field}first_", *firsts, (arms,), whole=memory is None)
        restored.last_pulls(f"{field}_last", self._last, arms, width, self.rounds)
        pulled = np.array(self._last) >= 0
        most = np.minimum(pulled, self.counts[:, -1] + restored.SLACK)
        if (self.first_counts > most).any() or self.counts[~pulled].any():
            rule = "at most 1 and those of the last column for arms that were pulled, 0 for others"
            raise InputError(f"{field}first_counts", f"must be {rule}", f"{self.first_counts}")
        if any(-width < last < 0 for last in self._last):
            rule = f"{-width} before an arm's first pull"
            raise InputError(f"{field}_last", f"must be {rule}", checks.short(self._last))

    @property
    def arms(self) -> int:
        """Number of arms, k."""
        return len(self.counts)

    @property
    def max_delay(self) -> int:
        """The longest delay that is told apart from all longer ones."""
        return self.counts.shape[1] - 1

    @property
    def remembered(self) -> float:
        """Rounds that count: all so far, but no more than the memory."""
        return self.rounds if self.memory is None else min(self.rounds, self.memory)

    def delays(self) -> list[int]:
        """Return the rounds since each arm was pulled, as of the next pull; at most D + 1."""
        return [min(self.rounds - last, self.counts.shape[1]) for last in self._last]

    def credit(self, block: Block, outcome: Outcome) -> None:
        """Enter what a block earned in the cells that it pulled."""
        if self.memory is not None:
            fading = math.exp(-block.pulls / self.memory)
            for table in (self.counts, self.sums, self.first_counts, self.first_sums):
                table *= fading
        self._pull(block.arms, outcome.first, times=1)
        if block.plays > 1:
            self._pull(block.arms, outcome.rest, times=block.plays - 1)
            # All plays from the second on repeat its delays.
            skipped = (block.plays - 2) * len(block.arms)
            self.rounds += skipped
            for arm in set(block.arms):
                self._last[arm] += skipped

    def _pull(self, arms: tuple[int, ...], rewards: Any, times: int) -> None:
        width = self.counts.shape[1]
        for arm, reward in zip(arms, rewards, strict=True):
            if self._last[arm] < 0:
                self.first_counts[arm] += times
                self.first_sums[arm] += reward
            cell = arm, min(self.rounds - self._last[arm], width) - 1
            self.counts[cell] += times
            self.sums[cell] += reward
            self._last[arm] = self.rounds
            self.rounds += 1

    def widen(self, max_delay: int) -> None:
        """Tell more delays apart from now on.

        First pulls stay with the longest delays, and others with the shortest they may have had.
        """
        arms, width = self.counts.shape
        checks.table_size(arms, max_delay + 1)
        more = max_delay + 1 - width
        self.counts = _widened(self.counts, self.first_counts, more)
        self.sums = _widened(self.sums, self.first_sums, more)
        self._last = [last - more if last < 0 else last for last in self._last]


def _widened(table: FloatArray, firsts: FloatArray, more: int) -> FloatArray:
    wider = np.pad(table, ((0, 0), (0, more)))
    wider[:, -more - 1] -= firsts
    wider[:, -1] += firsts
    return wider
