"""The least that UCB over ranking policies takes: what the package is held against."""

import math

import numba
import numpy as np

from fallow.arrays import FloatArray


@numba.njit(cache=True, error_model="numpy")
def minimal_ranking_ucb(means: FloatArray, horizon: int, generator: np.random.Generator) -> float:
    """Play pi_ucb on arms in order of their baselines, and return the reward; keep no record."""
    arms, width = means.shape
    last = np.full(arms, -width)
    counts = np.zeros(arms)
    sums = np.zeros(arms)
    now = 0
    selections = 0
    total = 0.0
    while now < horizon:
        choice = selections
        if selections >= arms:
            log = 2 * math.log(selections)
            best = -1.0
            for option in range(arms):
                index = sums[option] / counts[option] + math.sqrt(log / counts[option])
                if index > best:
                    choice, best = option, index
        earned = 0.0
        for play in range(2):
            for arm in range(choice + 1):
                delay = min(now - last[arm], width)
                last[arm] = now
                now += 1
                if generator.random() < means[arm, delay - 1]:
                    total += 1.0
                    if play == 1:
                        earned += 1.0
        counts[choice] += 1
        sums[choice] += earned / (choice + 1)
        selections += 1
    return total
