"""The relaxed problem, in which arms may be pulled at the same time: its price and its bound."""

import math
from functools import lru_cache
from typing import NamedTuple
from weakref import ref

import numpy as np

from fallow.instance import Instance
from fallow.kernels.bounds import best_delays, clearing_price
from fallow.planners.feasible import possible_problem
from fallow.planners.problem import bound_at_own_scale


class Relaxed(NamedTuple):
    """What the relaxed problem comes to.

    `price` is that of a round at which all arms together ask for one pull a round, on scaled means;
    `bound` is on the gain of every policy, in reward per round.
    """

    price: float
    bound: float


def relaxed(instance: Instance) -> Relaxed:
    """Return the price and the bound that all planners start from; `upper_bound` explains them.

    Examples
    --------
    >>> relaxed(Instance.blocking([1, 1, 1], delays=[1, 1, 1])).price
    1.0
    """
    return _solved(ref(instance))


@lru_cache(maxsize=1)  # several planners of an instance ask for it; the cache keeps no table alive
def _solved(reference: ref[Instance]) -> Relaxed:
    instance = reference()
    assert instance is not None  # the caller holds it
    _, means, limits = possible_problem(instance)
    price = clearing_price(means, limits)
    surplus, _ = best_delays(means, price, limits)
    size = abs(price) + float(np.abs(surplus).sum())
    return Relaxed(price, bound_at_own_scale(instance, price + math.fsum(surplus), size))
