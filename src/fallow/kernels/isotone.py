"""Values that do not fall with the delay, as near as can be to given ones."""

import numpy as np

from fallow.arrays import FloatArray
from fallow.kernels import tiered


@tiered(lambda values: 4 * values.size)
def isotone(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the rows that do not fall and have the least weighted squares off the given ones.

    Neighbours that fall are pooled into their average until none are left. Weights are positive.
    """
    rows, width = values.shape
    result = np.empty((rows, width))
    starts = np.empty(width + 1, np.int64)  # of the pools, and where the last one ends
    averages = np.empty(width)
    totals = np.empty(width)
    for row in range(rows):
        pools = 0
        for column in range(width):
            average, total = values[row, column], weights[row, column]
            start = column
            while pools > 0 and averages[pools - 1] >= average:
                pools -= 1
                share = total / (total + totals[pools])
                average = averages[pools] + share * (average - averages[pools])
                total += totals[pools]
                start = starts[pools]
            starts[pools], averages[pools], totals[pools] = start, average, total
            pools += 1
        starts[pools] = width
        for pool in range(pools):
            result[row, starts[pool] : starts[pool + 1]] = averages[pool]
    return result
