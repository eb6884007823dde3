"""Indexed minimum empirical divergence over cycles: which of a cycle's neighbours to play."""

import math

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import compiled, tiered


@tiered(lambda averages, cycle: 4 * len(averages) * len(cycle) * (len(cycle) + 1))
def least_index(averages: FloatArray, counts: FloatArray, cycle: IntArray) -> IntArray:
    """Return the cycle of least index, of a given one and all that differ from it by one pull.

    One pull is of another arm, or added, or left out. The index is 2 N (g* - g)^2 + ln N, where g
    is a cycle's gain by the averages, g* that of the given one, and N the least count of a cell
    that it uses. Ties go to the given cycle, then to changes of the first pulls.
    """
    arms, length = len(averages), len(cycle)
    gain, least = _gain_and_least(averages, counts, cycle)
    best, best_index = cycle, math.log(least)
    for position in range(length):
        for move in range(2 * arms + 1):
            if move == 2 * arms and length == 1:
                continue
            changed = _changed(cycle, position, move, arms)
            other, least = _gain_and_least(averages, counts, changed)
            index = 2 * least * max(gain - other, 0.0) ** 2 + math.log(least)
            if index < best_index:
                best, best_index = changed, index
    return best


@compiled
def _changed(cycle: IntArray, position: int, move: int, arms: int) -> IntArray:
    """Return the cycle after a move: replace the pull, or put one before it, or leave it out."""
    if move < arms:
        changed = cycle.copy()
        changed[position] = move
        return changed
    behind = position if move < 2 * arms else position + 1
    changed = np.empty(len(cycle) + (1 if move < 2 * arms else -1), np.int64)
    changed[:position] = cycle[:position]
    if move < 2 * arms:
        changed[position] = move - arms
        changed[position + 1 :] = cycle[behind:]
    else:
        changed[position:] = cycle[behind:]
    return changed


@compiled
def _gain_and_least(
    averages: FloatArray, counts: FloatArray, cycle: IntArray
) -> tuple[float, float]:
    """Return a cycle's gain by the averages, and the least count of its cells, at least 1."""
    arms, width = averages.shape
    length = len(cycle)
    last = np.zeros(arms, np.int64)
    for position in range(length):
        last[cycle[position]] = position - length
    total, least = 0.0, np.inf
    for position in range(length):
        arm = cycle[position]
        column = min(position - last[arm], width) - 1
        last[arm] = position
        total += averages[arm, column]
        least = min(least, counts[arm, column])
    return float(total / length), float(max(least, 1.0))
