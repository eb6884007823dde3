"""How to play a cycle: where to enter it, and for how long.

`own` are the delays at which the repeated cycle pulls the arms of its positions.
"""

import math

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import compiled, tiered


@compiled
def _mean(means: FloatArray, arm: int, delay: int) -> float:
    return float(means[arm, min(delay, means.shape[1]) - 1])


@tiered(lambda values, cycle: len(values) * len(cycle))
def best_start(
    values: FloatArray, delays: IntArray, cycle: IntArray, own: IntArray, rounds: int
) -> int:
    """Return the position at which to enter a cycle for the most value in so many rounds.

    Only the first pull of each arm depends on the delays: it comes after the arm's delay up to now,
    and not after the cycle's own. Ties go to the first position.
    """
    arms = len(values)
    length = len(cycle)
    # Where each arm is pulled next, as a position of the cycle played twice; -1 if never.
    following = np.full(arms, -1)
    for place in range(2 * length - 1, length - 1, -1):
        following[cycle[place - length]] = place
    # Whole plays are worth the same from everywhere; the rounds of the last, broken one are not.
    broken = 0.0
    for place in range(rounds % length):
        broken += _mean(values, cycle[place], own[place])
    best, best_value = 0, -np.inf
    for start in range(length - 1, -1, -1):
        following[cycle[start]] = start
        behind = (start + rounds) % length
        broken += _mean(values, cycle[start], own[start])
        broken -= _mean(values, cycle[behind], own[behind])
        value = broken
        for arm in range(arms):
            if 0 <= following[arm] < start + rounds:
                value += _mean(values, arm, delays[arm] + following[arm] - start)
                value -= _mean(values, arm, own[following[arm] % length])
        if value > best_value - 1e-12:
            best, best_value = start, max(value, best_value)
    return best


@tiered(lambda cycle: 4 * len(cycle))
def plays_until_growth(counts: FloatArray, cycle: IntArray, own: IntArray, growth: float) -> int:
    """Return after how many plays of a cycle some cell that it uses has grown by such a share.

    A cell without samples has grown with the first.
    """
    arms, width = counts.shape
    used = np.zeros((arms, width))
    for place in range(len(cycle)):
        used[cycle[place], min(own[place], width) - 1] += 1
    plays = np.inf
    for place in range(len(cycle)):
        arm, column = cycle[place], min(own[place], width) - 1
        wanted = max(growth * counts[arm, column], 1.0)
        plays = min(plays, math.ceil(wanted / used[arm, column]))
    return int(plays)


@tiered(lambda path: len(path))
def pulls_until_growth(counts: FloatArray, delays: IntArray, path: IntArray, growth: float) -> int:
    """Return after how many pulls of a path some cell has grown by such a share; 0 if never."""
    arms, width = counts.shape
    last = -delays
    used = np.zeros((arms, width))
    for now in range(len(path)):
        arm = path[now]
        column = min(now - last[arm], width) - 1
        last[arm] = now
        used[arm, column] += 1
        if used[arm, column] >= max(growth * counts[arm, column], 1.0):
            return now + 1
    return 0
