"""Index policies: an index after Whittle, and following an index until the delays repeat."""

import numpy as np

from fallow.arrays import FloatArray
from fallow.kernels import compiled, tiered


@compiled
def _price(means: FloatArray, now: int, later: int) -> float:
    """Return the price of a pull at which an arm earns as much at one delay as at a later one."""
    return float((later * means[now - 1] - now * means[later - 1]) / (later - now))


@tiered(lambda means: 3 * means.size)
def whittle_indices(means: FloatArray) -> FloatArray:
    """Return W_i(t) = min(M[i, t], min over u > t of (u M[i, t] - t M[i, u]) / (u - t)).

    It is the price of a pull at which the arm earns as much pulled always at delay t as always at
    its best later delay. That is where the line through t and u meets the axis, so the best u is
    the next corner of the concave hull of all delays from t on.
    """
    arms, width = means.shape
    indices = means.copy()
    corners = np.empty(width, np.int64)  # of the hull, the soonest last
    for arm in range(arms):
        corners[0] = width
        count = 1
        for now in range(width - 1, 0, -1):
            price = _price(means[arm], now, corners[count - 1])
            while count > 1:
                further = _price(means[arm], now, corners[count - 2])
                if further > price:
                    break
                price = further
                count -= 1
            indices[arm, now - 1] = min(indices[arm, now - 1], price)
            corners[count] = now
            count += 1
    return indices
