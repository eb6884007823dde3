"""The relaxed problem behind the upper bound."""

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import compiled, tiered
from fallow.limits import Limits

NEVER = 2**40
"""As in `fallow.limits`, whose changes the compiler's cache does not notice."""


@compiled
def _best_delays(
    means: FloatArray, price: float, shortest: IntArray, longest: IntArray
) -> tuple[FloatArray, FloatArray]:
    arms, width = means.shape
    surplus = np.zeros(arms)
    rates = np.zeros(arms)
    for arm in range(arms):
        best = -np.inf if longest[arm] < NEVER else 0.0
        best_delay = 0
        for delay in range(shortest[arm], min(width, longest[arm]) + 1):
            value = (means[arm, delay - 1] - price) / delay
            if value > best:
                best, best_delay = value, delay
        surplus[arm] = best
        if best_delay > 0:
            rates[arm] = 1 / best_delay
    return surplus, rates


@tiered(lambda means: means.size)
def best_delays(means: FloatArray, price: float, limits: Limits) -> tuple[FloatArray, FloatArray]:
    """Return, for each arm at a price per pull, its best surplus per round and its rate of pulls.

    The surplus is max(0, max over t of (M[i, t] - price) / t) over the delays t that the limits
    allow, without the 0 where the arm must be pulled; the rate is 1 / t at that maximum, or 0 where
    it pays never to pull the arm.
    """
    return _best_delays(means, price, limits.shortest, limits.longest)


@compiled
def _rank_of(number: float) -> int:
    """Return how far a positive number stands from 0 in the order of all floating-point numbers."""
    return int(np.array([number]).view(np.int64)[0])


@compiled
def _number_at(rank: int) -> float:
    """Return the number with that rank, a negative one if the rank is."""
    magnitude = np.array([abs(rank)]).view(np.float64)[0]
    return float(magnitude if rank >= 0 else -magnitude)


@tiered(lambda means: 64 * means.size)
def clearing_price(means: FloatArray, limits: Limits) -> float:
    """Return the price at which the arms together ask for one pull a round, by bisection.

    It is exact to the last digit, however small the means: no price below it would do.
    """
    # At minus its shortest delay every arm would be pulled as often as it may; at its longest, if
    # it must be pulled, as seldom.
    shortest, longest = limits.shortest, limits.longest
    often, seldom = 1.0, 1.0
    for arm in range(len(means)):
        often = max(often, float(shortest[arm]))
        if longest[arm] < NEVER:
            seldom = max(seldom, float(longest[arm]))
    low, high = -_rank_of(often), _rank_of(seldom)
    while low + 1 < high:
        middle = (low & high) + ((low ^ high) >> 1)  # half of a sum that may be too large
        _, rates = _best_delays(means, _number_at(middle), shortest, longest)
        asked = 0.0
        for rate in rates:
            asked += rate
        if asked > 1:
            low = middle
        else:
            high = middle
    return _number_at(high)
