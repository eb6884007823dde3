"""A cycle drawn at random from the relaxed problem (Papadigenopoulos et al. 2022)."""

import math

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.kernels.bounds import best_delays, clearing_price
from fallow.kernels.cycles import fill
from fallow.limits import no_limits

MAX_LENGTH = 4096
"""Longest cycle; where the periods' common multiple is longer, the cycle breaks them once."""


def interleaved(means: FloatArray, generator: np.random.Generator) -> tuple[int, ...]:
    """Return a cycle in which each arm has a random period and offset (Papadigenopoulos et al.).

    The relaxed problem is max sum_it M[i, t] x_it with sum_it x_it <= 1 and sum_t t x_it <= 1 for
    each arm. Arm i has period t with probability t x_it, and is due once a period from a random
    round on. Of the arms due in a round the one with the largest mean at its period is pulled.

    Rounds in which no arm is due idle in the published model. There, if means do not fall with the
    delay, this earns 1 - 1/e of the relaxed problem in expectation. Here each such round takes, in
    turn, the arm that adds most to the cycle, given the pulls of it before and after. The factor
    remains if some arm never pays, as pulling it is to idle. Otherwise it may be lost, as in the
    second example.

    Parameters
    ----------
    means
        One row an arm; column t - 1 for delay t, the last one for all longer ones.
    generator
        Where periods and offsets are drawn from.

    Examples
    --------
    >>> means = np.array([[0.0, 1.0], [0.0, 0.5]])
    >>> sorted(interleaved(means, np.random.default_rng(2)))
    [0, 1]
    >>> from fallow import Instance, gain, optimal
    >>> blocked = Instance.blocking([1, 1], delays=[2, 6])
    >>> cycle = interleaved(blocked.means, np.random.default_rng(0))
    >>> print(f"{gain(blocked, cycle):.3f} of at most {optimal(blocked).gain:.3f}")
    0.143 of at most 0.333
    """
    periods = drawn_periods(means, generator)
    offsets = (generator.random(len(means)) * periods).astype(np.int64)
    return tuple(fill(means, no_limits(len(means)), due(means, periods, offsets)).tolist())


def drawn_periods(means: FloatArray, generator: np.random.Generator) -> IntArray:
    """Return a period for each arm, 0 if it is not to be pulled.

    At the clearing price two solutions earn the same, one with at most one pull a round, one with
    more; the relaxed optimum mixes them to one pull a round. At price 0 there may be fewer.
    """
    limits = no_limits(len(means))
    price = max(clearing_price(means, limits), 0.0)
    _, fewer = best_delays(means, price, limits)
    _, more = best_delays(means, np.nextafter(price, -1.0), limits)
    share = 1.0
    if more.sum() > 1:
        share = (1 - fewer.sum()) / (more.sum() - fewer.sum())
    rates = np.where(generator.random(len(means)) < share, more, fewer)
    periods = np.zeros(len(means), np.int64)
    periods[rates > 0] = np.rint(1 / rates[rates > 0])
    return periods


def due(means: FloatArray, periods: IntArray, offsets: IntArray) -> IntArray:
    """Return, for each round of a cycle, the best arm that is due, or -1 if none is."""
    arms = np.flatnonzero(periods)
    by_value = arms[np.argsort(means[arms, periods[arms] - 1], kind="stable")]
    cycle = np.full(min(math.lcm(*periods[arms].tolist()), MAX_LENGTH), -1)
    for arm in by_value:  # the largest value takes its rounds last, and so keeps them
        cycle[offsets[arm] :: periods[arm]] = arm
    return cycle
