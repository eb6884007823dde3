"""An upper bound on the gain of every policy."""

import math
from functools import lru_cache
from weakref import ref

import numpy as np

from fallow.instance import Instance
from fallow.kernels.bounds import best_delays, clearing_price
from fallow.planners.feasible import possible_problem
from fallow.planners.problem import bound_at_own_scale


def upper_bound(instance: Instance) -> float:
    """Return a number, in reward per round, that no policy's long-run average exceeds.

    Arms may be pulled at the same time as long as there is one pull a round on average. The dual of
    this relaxed problem is the minimum over prices p of p + sum_i max(0, max_t (mu_i(t) - p) / t).
    It is never above the block bound, min_r (1/r) sum_{i <= r} max(mu_i, max_j mu_j(r - 1)), of the
    repaired argument of the paper's Theorem 2: of the relaxed pulls, those of an arm at delays r or
    longer are at most 1/r a round, and all others earn at most max_j mu_j(r - 1).

    It is rounded up, so it bounds the optimum in floating point too.

    Examples
    --------
    >>> round(upper_bound(Instance.blocking([1, 0.5], delays=[1, 1])), 12)
    0.75
    """
    return _relaxed_bound(ref(instance))


@lru_cache(maxsize=1)  # each plan of an instance asks for it; the cache keeps no table alive
def _relaxed_bound(reference: ref[Instance]) -> float:
    instance = reference()
    assert instance is not None  # the caller holds it
    _, means, limits = possible_problem(instance)
    price = clearing_price(means, limits)
    surplus, _ = best_delays(means, price, limits)
    size = abs(price) + np.abs(surplus).sum()
    return bound_at_own_scale(instance, price + math.fsum(surplus), size)
