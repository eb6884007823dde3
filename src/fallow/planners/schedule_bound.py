"""What no schedule of so many rounds earns more than, where the best one is out of reach.

Delays are capped at rested. For any prices of the rounds, a schedule earns at most these prices
and, beyond them, what each arm earns when it is scheduled alone.
"""

import math

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.instance import Instance
from fallow.kernels import bounds, schedule
from fallow.kernels.paths import relaxed_values
from fallow.limits import no_limits
from fallow.planners.problem import bound_at_own_scale, scaled_means

BISECTIONS = 40
"""Steps to the one price of all rounds."""
DESCENTS = 100
"""Steps from there to a price for each round."""
MAX_WORK = 2**28
"""Looks at a delay of an arm in a round up to which these steps are made, about half a second."""
EPSILON = float(np.finfo(float).eps)


def can_be_priced(instance: Instance, rounds: int) -> bool:
    """Tell whether arms, delays and rounds are few enough to find prices for these rounds."""
    looks = rounds * int(np.minimum(instance.delays + 1, rounds).sum())
    return looks * (BISECTIONS + DESCENTS) <= MAX_WORK


def one_price(instance: Instance, delays: IntArray, rounds: int) -> tuple[float, FloatArray]:
    """Return a good price for all rounds, and what each arm is worth at it: above 0 if it pays."""
    means, widths = scaled_means(instance), instance.delays + 1
    if can_be_priced(instance, rounds):
        price = schedule.constant_price(means, widths, delays, rounds, BISECTIONS)
        worth, _ = schedule.relaxed_schedule(means, widths, delays, np.full(rounds, price))
    else:  # the price of those who play for ever
        price = bounds.clearing_price(means, no_limits(len(means)))
        worth = ((means - price) / np.arange(1, means.shape[1] + 1)).max(axis=1)
    return price, worth


def price_rounds(
    instance: Instance, delays: IntArray, rounds: int, price: float, earned: float
) -> FloatArray:
    """Return prices of rounds for a low bound, from one price on, where so much can be earned."""
    means, widths = scaled_means(instance), instance.delays + 1
    return schedule.round_prices(means, widths, delays, price, rounds, earned, DESCENTS)


def bound_by_prices(instance: Instance, delays: IntArray, prices: FloatArray) -> float:
    """Return the bound that follows from prices of the rounds."""
    means, widths = scaled_means(instance), instance.delays + 1
    values, _ = schedule.relaxed_schedule(means, widths, delays, prices)
    # No arm earns more than `most` in absolute terms, in a sum of at most so many pulls.
    rounds = len(prices)
    most = rounds * (1 + float(np.abs(prices).max()))
    size = (instance.arms + 1) * most * (1 + rounds / 16)
    total = math.fsum(prices) + math.fsum(np.maximum(values, 0))
    return bound_at_own_scale(instance, total, size)


def bound_by_price(instance: Instance, delays: IntArray, rounds: int, price: float) -> float:
    """Return a bound from one price at a cost that does not grow with the rounds.

    An arm with surplus g per round earns at most g n in n rounds after a pull.
    """
    means = scaled_means(instance)
    limits = no_limits(len(means))
    surplus, _ = bounds.best_delays(means, price, limits)
    now = relaxed_values(means, price, surplus, limits)[np.arange(instance.arms), delays - 1]
    values = np.maximum(surplus * (rounds - 1) + now, 0)
    total = price * rounds + math.fsum(values)
    size = rounds * (abs(price) + math.fsum(surplus)) + 2 * means.size
    return bound_at_own_scale(instance, total, size)


def bound_by_gain(instance: Instance, delays: IntArray, rounds: int, gain: float) -> float:
    """Return the bound that follows from one on the gain of all cycles.

    A schedule, repeated, is a cycle, which earns as much but for what the start gives.
    """
    total = rounds * gain + schedule.carried_over(instance.means, delays)
    return float(np.nextafter(total * (1 + (instance.arms + 2) * EPSILON), np.inf))
