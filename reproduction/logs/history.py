"""What a repeated cycle would earn, told by plays alike, where arms were drawn evenly at random."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fallow import Log
from fallow.arrays import FloatArray, IntArray
from fallow.kernels.cycles import own_delays
from fallow.logs import Interval
from fallow.logs.evidence import interval_of


class Told(NamedTuple):
    """Reward per round, and how far each user moves it."""

    mean: float
    moves: FloatArray

    def above(self, other: Told) -> Interval:
        """Return how much more it is than another, with its 95 % interval."""
        return interval_of(self.mean - other.mean, self.moves - other.moves)

    def interval(self) -> Interval:
        """Return it with its 95 % interval."""
        return interval_of(self.mean, self.moves)


def by_cells(log: Log, cycle: IntArray) -> Told:
    """Tell it by plays of the same arm at the same delay, as the model does."""
    delays = np.minimum(own_delays(cycle, len(log.names)), log.max_delay + 1)
    width = log.max_delay + 2  # the first is for plays that do not count
    return _told(log, log.arms * width + log.delays * log.whole, cycle * width + delays)


def by_history(log: Log, cycle: IntArray, rounds: int) -> Told:
    """Tell it by plays that follow the same arms in so many rounds before."""
    plays = _code(log.arms.astype(np.int64), rounds, len(log.names))
    position = np.arange(log.plays) - np.repeat(log.starts[:-1], np.diff(log.starts))
    plays[position < rounds] = -1  # what came before is another user's
    return _told(log, plays, _code(cycle, rounds, len(log.names)))


def _code(arms: IntArray, rounds: int, count: int) -> IntArray:
    """Return a number for each arm and those of so many rounds before, cyclically."""
    code = np.zeros_like(arms)
    for lag in range(rounds + 1):
        code += np.roll(arms, lag) * count**lag
    return code


def _told(log: Log, plays: IntArray, wanted: IntArray) -> Told:
    """Average, over the positions of a cycle, the plays that have the wanted number."""
    users = np.repeat(np.arange(log.users), np.diff(log.starts))
    mean, moves = 0.0, np.zeros(log.users)
    for number in wanted.tolist():
        alike = plays == number
        rewards = log.rewards[alike]
        mean += rewards.mean() / wanted.size
        off = np.bincount(users[alike], rewards - rewards.mean(), log.users)
        moves += off / (rewards.size * wanted.size)
    return Told(float(mean), moves)
