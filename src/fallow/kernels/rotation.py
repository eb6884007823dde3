"""Where to enter a cycle, and how long to play it before some cell is known twice as well."""

import math

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import compiled


@compiled
def own_delays(cycle: IntArray, arms: int) -> IntArray:
    """Return the delay at which a repeated cycle pulls the arm at each of its positions."""
    length = len(cycle)
    last = np.zeros(arms, np.int64)
    delays = np.empty(length, np.int64)
    for now in range(2 * length):
        arm = cycle[now % length]
        delays[now % length] = now - last[arm]
        last[arm] = now
    return delays


@compiled
def best_start(values: FloatArray, delays: IntArray, cycle: IntArray) -> int:
    """Return the position at which to enter a cycle for the most value in its first play.

    Only the first pull of each arm depends on it: that comes after the arm's delay up to now, and
    not after the cycle's own. Ties go to the first position.
    """
    arms, width = values.shape
    length = len(cycle)
    own = own_delays(cycle, arms)
    # Where each arm is pulled next, as a position of the cycle played twice; -1 if never.
    following = np.full(arms, -1)
    for place in range(2 * length - 1, length - 1, -1):
        following[cycle[place - length]] = place
    best, best_value = 0, -np.inf
    for start in range(length - 1, -1, -1):
        following[cycle[start]] = start
        value = 0.0
        for arm in range(arms):
            if following[arm] >= 0:
                delay = delays[arm] + following[arm] - start
                value += values[arm, min(delay, width) - 1]
                value -= values[arm, min(own[following[arm] % length], width) - 1]
        if value > best_value - 1e-12:
            best, best_value = start, max(value, best_value)
    return best


@compiled
def plays_until_doubling(counts: FloatArray, cycle: IntArray) -> int:
    """Return after how many plays of a cycle some cell that it uses has twice its count."""
    arms, width = counts.shape
    delays = own_delays(cycle, arms)
    used = np.zeros((arms, width))
    for place in range(len(cycle)):
        used[cycle[place], min(delays[place], width) - 1] += 1
    plays = np.inf
    for place in range(len(cycle)):
        arm, column = cycle[place], min(delays[place], width) - 1
        plays = min(plays, math.ceil(max(counts[arm, column], 1) / used[arm, column]))
    return int(plays)


@compiled
def pulls_until_doubling(counts: FloatArray, delays: IntArray, cycle: IntArray) -> int:
    """Return after how many pulls of a first play some cell has twice its count; 0 if never."""
    arms, width = counts.shape
    last = -delays
    used = np.zeros((arms, width))
    for now in range(len(cycle)):
        arm = cycle[now]
        column = min(now - last[arm], width) - 1
        last[arm] = now
        used[arm, column] += 1
        if used[arm, column] >= max(counts[arm, column], 1):
            return now + 1
    return 0
