"""The relaxed problem behind the upper bound."""

import numpy as np

from fallow.arrays import FloatArray
from fallow.kernels import compiled


@compiled
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
def clearing_price(means: FloatArray) -> float:
    """Return the price at which the arms together ask for one pull a round, by bisection."""
    low, high = -1.0, 1.0  # below -1 every arm would be pulled at delay 1
    while True:
        middle = (low + high) / 2
        if not low < middle < high:
            return high
        _, rates = best_delays(means, middle)
        if rates.sum() > 1:
            low = middle
        else:
            high = middle
