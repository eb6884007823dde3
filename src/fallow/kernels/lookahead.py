"""Looking a few pulls ahead: the sequence with the largest upper bound, by optimistic search."""

import math

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import compiled, tiered


@tiered(lambda means, depth: 4 * depth * len(means) ** depth)
def best_sequence(
    means: FloatArray, covariances: FloatArray, delays: IntArray, depth: int, scale: float
) -> IntArray:
    """Return the `depth` pulls with the largest mean + scale * deviation of their total reward.

    `means` and `covariances` are of each arm's rewards by delay; arms are independent, and at
    `delays` now. Ties go to the first sequence in the order of arms.

    A deviation of a sum is at most the sum of the deviations. So no continuation of some pulls is
    worth more than their own bound plus, for each further pull, the largest bound of a cell that
    it can meet; where this is no better than the best sequence so far, the search turns back.
    """
    arms, width = means.shape
    ahead = _largest_ahead(means, covariances, delays, depth, scale)
    pulls = np.full(depth, -1)
    cells = np.zeros(depth, np.int64)
    totals = np.zeros(depth + 1)
    variances = np.zeros(depth + 1)
    best = np.zeros(depth, np.int64)
    best_value = -np.inf
    place = 0
    while place >= 0:
        pulls[place] += 1
        arm = pulls[place]
        if arm == arms:
            pulls[place] = -1
            place -= 1
            continue
        delay = delays[arm] + place
        variance = 0.0
        for earlier in range(place):
            if pulls[earlier] == arm:
                delay = place - earlier
        cell = min(delay, width) - 1
        for earlier in range(place):
            if pulls[earlier] == arm:
                variance += 2 * covariances[arm, cell, cells[earlier]]
        cells[place] = cell
        totals[place + 1] = totals[place] + means[arm, cell]
        variances[place + 1] = variances[place] + variance + covariances[arm, cell, cell]
        value = totals[place + 1] + scale * math.sqrt(max(variances[place + 1], 0.0))
        if value + ahead[place + 1] <= best_value:
            continue
        if place + 1 < depth:
            place += 1
        else:
            best_value = value
            best[:] = pulls
    return best


@compiled
def _largest_ahead(
    means: FloatArray, covariances: FloatArray, delays: IntArray, depth: int, scale: float
) -> FloatArray:
    """Return, for each number of pulls done, a bound on what all further ones are worth."""
    arms, width = means.shape
    ahead = np.zeros(depth + 1)
    for place in range(depth - 1, -1, -1):
        largest = -np.inf
        for arm in range(arms):
            for choice in range(place + 1):
                # Not pulled within the sequence, or so many rounds ago.
                delay = choice if choice > 0 else delays[arm] + place
                cell = min(delay, width) - 1
                deviation = math.sqrt(max(covariances[arm, cell, cell], 0.0))
                largest = max(largest, means[arm, cell] + scale * deviation)
        ahead[place] = ahead[place + 1] + largest
    return ahead
