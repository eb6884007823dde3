"""Index policies: an index after Whittle, and following an index until the delays repeat."""

import numpy as np

from fallow.arrays import FloatArray, IntArray
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


@tiered(lambda indices, max_rounds: 2 * len(indices) * max_rounds)
def follow(indices: FloatArray, max_rounds: int) -> IntArray:
    """Pull the arm with the largest index, from rested, and return the cycle that this ends in.

    Ties go to the first arm. Brent's method finds the cycle: compare each delay vector with one
    kept from an earlier round, and keep the current one whenever that is twice as far back as
    before. Without a repeat in `max_rounds`, return the pulls since the vector that was kept last.
    """
    arms, width = indices.shape
    delays = np.full(arms, width)
    kept = delays.copy()
    kept_round, patience = 0, 1
    pulls = np.empty(max_rounds, np.int64)
    for now in range(max_rounds):
        best, best_index = 0, -np.inf
        for arm in range(arms):
            if indices[arm, delays[arm] - 1] > best_index:
                best, best_index = arm, indices[arm, delays[arm] - 1]
        pulls[now] = best
        repeats = True
        for arm in range(arms):
            delays[arm] = 1 if arm == best else min(delays[arm] + 1, width)
            repeats &= delays[arm] == kept[arm]
        rounds = now + 1
        if repeats:
            return pulls[kept_round:rounds]
        if rounds - kept_round == patience and 2 * patience <= max_rounds - rounds:
            kept[:] = delays
            kept_round = rounds
            patience *= 2
    return pulls[kept_round:]
