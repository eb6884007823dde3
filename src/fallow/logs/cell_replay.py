"""A learner plays against a log: it draws logged rewards of the cells that it enters, each once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fallow.arrays import IntArray
from fallow.logs.evidence import Evidence
from fallow.protocol import Learner, Outcome


class EmptyQueue(Exception):  # noqa: N818, it ends a run as planned
    """A cell has no more rewards after so many rounds."""

    def __init__(self, arm: int, column: int, rounds: int) -> None:
        self.arm, self.column, self.rounds = arm, column, rounds


class RewardQueues:
    """Rewards by cell, in a random order in which those that weigh more come sooner.

    A queue is as long as the cell's effective sample size. Up to there it is much like a sample in
    which the chance of a play is in proportion to its weight (Efraimidis and Spirakis 2006).

    Parameters
    ----------
    evidence
        The plays and their weights.
    lengths
        How many rewards of each cell may be drawn.
    generator
        All randomness comes from it.
    """

    def __init__(
        self,
        evidence: Evidence,
        lengths: IntArray,
        generator: np.random.Generator,
    ) -> None:
        keys = generator.exponential(size=evidence.plays.size) / evidence.weights
        self._rewards = evidence.rewards[np.lexsort((keys, evidence.cells))]
        rows = np.bincount(evidence.cells, minlength=lengths.size)
        self._next = np.cumsum(rows) - rows
        self._last = self._next + np.minimum(rows, lengths.ravel())
        self._width = lengths.shape[1]

    def draw(self, arm: int, column: int, rounds: int) -> float:
        """Return the next reward of a cell."""
        cell = arm * self._width + column
        place = self._next[cell]
        if place == self._last[cell]:
            raise EmptyQueue(arm, column, rounds)
        self._next[cell] += 1
        return float(self._rewards[place])


class Played(NamedTuple):
    """What a learner earned, and how often it entered each cell."""

    total: float
    entered: IntArray


def play(
    queues: RewardQueues, learner: Learner, horizon: int, columns: IntArray, arms: int
) -> Played:
    """Let a learner draw from the queues; `columns` has those of all delays, the last for longer.

    All arms are rested at first.
    """
    entered = np.zeros((arms, int(columns[-1]) + 1), np.int64)
    last = [-len(columns)] * arms
    total, now = 0.0, 0
    while True:
        block = learner.ask()
        first, rest = [0.0] * len(block.arms), [0.0] * len(block.arms)
        for repeat in range(block.plays):
            earned = rest if repeat else first
            for place, arm in enumerate(block.arms):
                if now == horizon:
                    return Played(total, entered)
                column = int(columns[min(now - last[arm], len(columns)) - 1])
                reward = queues.draw(arm, column, now)
                earned[place] += reward
                total += reward
                entered[arm, column] += 1
                last[arm] = now
                now += 1
        learner.tell(block, Outcome(tuple(first), tuple(rest)))
