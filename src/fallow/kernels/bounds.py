"""The relaxed problem behind the upper bound."""

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import compiled, tiered
from fallow.limits import Limits

NEVER = 2**40
"""As in `fallow.limits`, whose changes the compiler's cache does not notice."""


# The relaxed problem lets arms be pulled at the same time, one pull a round on average. With a
# price p for each pull, arm i alone earns at most its surplus per round, by its best delay:
# s_i(p) = max(0, max_t (mu_i(t) - p) / t). So no policy earns more than p + sum_i s_i(p) per round.
#
# Each (mu_i(t) - p) / t is a line in p with slope -1 / t, the rate of pulls at delay t. Their
# maximum is convex, so the rates that arms ask for never rise with the price, and the slope of the
# bound is 1 minus the sum of these rates. The bound is least where that sum passes 1: at the
# clearing price.


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
            if value > best:  # of equal values the shortest delay counts, or no pull at all
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
    # Means are from 0 to 1. With m the shortest delay that an arm may have, a price of -m or less
    # makes m its best delay; at -m, (mu(m) + m) / m >= 1 >= (mu(t) + m) / t for all t > m. So at
    # the lowest price all arms are pulled as often as they may be. In the same way, an arm that
    # must be pulled after at most L rounds is pulled after L at every price above L, and one that
    # need not be pulled is not pulled at prices of 1 or more.
    shortest, longest = limits.shortest, limits.longest
    often, seldom = 1.0, 1.0
    for arm in range(len(means)):
        often = max(often, float(shortest[arm]))
        if longest[arm] < NEVER:
            seldom = max(seldom, float(longest[arm]))
    # Bisect over floating-point numbers by their rank instead of their value: positive numbers are
    # in the order of their bit patterns, and negative ones mirror them. So at most 64 steps find
    # the exact price, also where it is tiny. Throughout, arms ask for more than one pull a round at
    # `low` and for at most one at `high`, or these are the prices that the search started from.
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
