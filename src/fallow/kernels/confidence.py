"""Upper confidence bounds of means in [0, 1]."""

import math

import numpy as np

from fallow.arrays import FloatArray
from fallow.kernels import tiered


@tiered(lambda: 1)
def divergence(first: float, second: float) -> float:
    """Return the Kullback-Leibler divergence of two Bernoulli distributions by their means."""
    total = 0.0
    if first > 0:
        total += first * math.log(first / second) if second > 0 else np.inf
    if first < 1:
        total += (1 - first) * math.log((1 - first) / (1 - second)) if second < 1 else np.inf
    return float(total)


@tiered(lambda: 50)
def upper_bound(count: float, average: float, level: float) -> float:
    """Return the largest mean q with count * divergence(average, q) <= level; 1 without samples.

    Newton's method from above: the divergence is convex in q, so each step stays above the root.
    """
    if count == 0:
        return 1.0
    if average >= 1:
        return 1.0
    allowed = level / count
    # Pinsker's inequality: the root is at most this.
    bound = min(average + math.sqrt(allowed / 2), 1 - 1e-15)
    if average <= 0:
        return 1 - math.exp(-allowed)
    for _ in range(50):
        excess = divergence(average, bound) - allowed
        if excess <= 1e-12:
            break
        bound -= excess * bound * (1 - bound) / (bound - average)
    return float(bound)


@tiered(lambda counts: 2 * counts.size * counts.shape[1])
def upper_bounds(counts: FloatArray, sums: FloatArray, level: float) -> FloatArray:
    """Return an upper confidence bound for each cell of a table by arm and delay.

    Means do not fall with the delay. So the samples of delays u to v together have a mean of at
    least that at any t <= u, and bound it too: the bound at t is the smallest over all u and v.
    """
    arms, width = counts.shape
    bounds = np.ones((arms, width))
    for arm in range(arms):
        sampled = np.flatnonzero(counts[arm])  # all others add nothing to a pool
        bound = 1.0
        for first in range(len(sampled) - 1, -1, -1):
            count, total = 0.0, 0.0
            for last in sampled[first:]:
                count += counts[arm, last]
                total += sums[arm, last]
                if total >= bound * count:
                    continue
                # Most pools bound no better than one before; one look at the divergence tells.
                if bound == 1 or count * divergence(total / count, bound) > level:
                    bound = upper_bound(count, total / count, level)
            sooner = sampled[first - 1] + 1 if first > 0 else 0
            bounds[arm, sooner : sampled[first] + 1] = bound
    return bounds


@tiered(lambda counts: 2 * counts.size)
def rises(counts: FloatArray, sums: FloatArray, level: float) -> bool:
    """Tell whether arms pay significantly less at sooner columns than at later ones.

    The test of Mantel and Haenszel (1959) for each place to part the columns: given an arm's
    rewards, those of its later pulls are a draw without replacement if the column does not matter.
    What they exceed its expectation by is added up over arms. For 0/1 rewards of pulls that were
    fixed beforehand, it is as large as is asked for here with a chance of at most exp(-level), by
    Bennett's inequality. Which arms were pulled again may hang on what they paid at first, so more
    is asked for where fewer can be compared: the level makes up for all choices of so many arms.
    """
    arms, width = counts.shape
    whole, earned = np.zeros(arms), np.zeros(arms)
    for arm in range(arms):
        for column in range(width):
            whole[arm] += counts[arm, column]
            earned[arm] += sums[arm, column]
    later, rest = np.zeros(arms), np.zeros(arms)
    for column in range(width - 1, 0, -1):
        excess, variance = 0.0, 0.0
        compared, choices = 0, 0.0  # the logarithm of their number
        for arm in range(arms):
            later[arm] += counts[arm, column]
            rest[arm] += sums[arm, column]
            count, average = whole[arm], earned[arm] / max(whole[arm], 1.0)
            if count > 1 and 0 < later[arm] < count:
                choices += math.log((arms - compared) / (compared + 1))
                compared += 1
                excess += rest[arm] - later[arm] * average
                spread = later[arm] * (count - later[arm]) / (count - 1)
                variance += spread * average * (1 - average)
        if excess > 0 and variance > 0:
            times = 1 + excess / variance
            if variance * (times * math.log(times) - times + 1) > level + choices:
                return True
    return False
