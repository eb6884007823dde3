"""Looking a few pulls ahead: the best sequence by optimistic search, and draws of what it pays."""

import math

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import compiled, tiered

TINY = 1e-12
"""A variance that is no more than this is a rounding error."""


@tiered(lambda means, depth: 4 * depth * len(means) ** depth)
def best_sequence(
    means: FloatArray,
    covariances: FloatArray,
    noise: float,
    delays: IntArray,
    depth: int,
    scale: float,
) -> IntArray:
    """Return the `depth` pulls with the largest mean + scale * deviation of their total reward.

    `means` and `covariances` are of each arm's means by delay, and `noise` is the variance of a
    reward about its mean; arms are independent, and at `delays` now. Ties go to the first sequence
    in the order of arms.

    A deviation of a sum is at most the sum of the deviations. So no continuation of some pulls is
    worth more than their own bound plus, for each further pull, the largest bound of a cell that
    it can meet; where this is no better than the best sequence so far, the search turns back.
    """
    arms, width = means.shape
    ahead = _largest_ahead(means, covariances, noise, delays, depth, scale)
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
        variance = noise
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
    means: FloatArray,
    covariances: FloatArray,
    noise: float,
    delays: IntArray,
    depth: int,
    scale: float,
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
                deviation = math.sqrt(max(covariances[arm, cell, cell] + noise, 0.0))
                largest = max(largest, means[arm, cell] + scale * deviation)
        ahead[place] = ahead[place + 1] + largest
    return ahead


@tiered(lambda cells: cells.size * cells.shape[1] ** 2)
def draw(
    means: FloatArray, covariances: FloatArray, cells: IntArray, normals: FloatArray
) -> FloatArray:
    """Return the means, with some cells of each arm drawn from its normal distribution.

    Column j of `normals` moves the cells from the j-th on, by Cholesky's factor. A cell that those
    before it determine, such as one that is named again, adds nothing of its own.
    """
    drawn = means.copy()
    arms, count = cells.shape
    factor = np.zeros((count, count))
    for arm in range(arms):
        for row in range(count):
            value = means[arm, cells[arm, row]]
            for column in range(row + 1):
                rest = covariances[arm, cells[arm, row], cells[arm, column]]
                for before in range(column):
                    rest -= factor[row, before] * factor[column, before]
                if column == row:
                    factor[row, row] = math.sqrt(rest) if rest > TINY else 0.0
                elif factor[column, column] > 0:
                    factor[row, column] = rest / factor[column, column]
                else:
                    factor[row, column] = 0.0
                value += factor[row, column] * normals[arm, column]
            drawn[arm, cells[arm, row]] = value
    return drawn
