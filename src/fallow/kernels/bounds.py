"""The relaxed problem behind the upper bound."""

import numpy as np

from fallow.arrays import FloatArray
from fallow.kernels import compiled, tiered

RANK_OF_ONE = 0x3FF0000000000000
"""Of 1.0 among the positive numbers: its bits, read as a whole number."""


@tiered(lambda means: means.size)
def best_delays(means: FloatArray, price: float) -> tuple[FloatArray, FloatArray]:
    """Return, for each arm at a price per pull, its best surplus per round and its rate of pulls.

    The surplus is max(0, max over t of (M[i, t] - price) / t); the rate is 1 / t at that maximum,
    or 0 where it pays never to pull the arm.
    """
    arms, width = means.shape
    surplus = np.zeros(arms)
    rates = np.zeros(arms)
    for arm in range(arms):
        for delay in range(1, width + 1):
            value = (means[arm, delay - 1] - price) / delay
            if value > surplus[arm]:
                surplus[arm] = value
                rates[arm] = 1 / delay
    return surplus, rates


@compiled
def _number_at(rank: int) -> float:
    """Return the floating-point number that stands so far from 0 in the order of all of them."""
    magnitude = np.array([abs(rank)]).view(np.float64)[0]
    return float(magnitude if rank >= 0 else -magnitude)


@tiered(lambda means: 64 * means.size)
def clearing_price(means: FloatArray) -> float:
    """Return the price at which the arms together ask for one pull a round, by bisection.

    It is exact to the last digit, however small the means: no price below it would do.
    """
    low, high = -RANK_OF_ONE, RANK_OF_ONE  # below -1 every arm would be pulled at delay 1
    while high - low > 1:
        middle = (low + high) // 2
        _, rates = best_delays(means, _number_at(middle))
        asked = 0.0
        for rate in rates:
            asked += rate
        if asked > 1:
            low = middle
        else:
            high = middle
    return _number_at(high)
