"""An upper bound on the gain of every policy."""

import math
from functools import lru_cache
from weakref import ref

import numpy as np

from fallow.arrays import FloatArray
from fallow.instance import Instance
from fallow.kernels.bounds import best_delays, clearing_price
from fallow.planners.scale import bound_at_own_scale, scaled_means


def upper_bound(instance: Instance) -> float:
    """Return a number, in reward per round, that no policy's long-run average exceeds.

    It is the smaller of two bounds. The relaxed bound lets arms be pulled at the same time as long
    as there is one pull a round on average; its dual is the minimum over prices p of
    p + sum_i max(0, max_t (mu_i(t) - p) / t). The block bound looks at r rounds in a row, where a
    repeated arm has a delay below r: min_r (1/r) sum_{i <= r} max(mu_i, max_j mu_j(r - 1)), the
    repaired argument of the paper's Theorem 2.

    Both are rounded up, so they bound the optimum in floating point too.

    Examples
    --------
    >>> round(upper_bound(Instance.blocking([1, 0.5], delays=[1, 1])), 12)
    0.75
    """
    return _smaller_bound(ref(instance))


@lru_cache(maxsize=1)  # each plan of an instance asks for it; the cache keeps no table alive
def _smaller_bound(reference: ref[Instance]) -> float:
    instance = reference()
    assert instance is not None  # the caller holds it
    means = scaled_means(instance)
    bounds = (_relaxed_bound(means), _block_bound(means))
    return min(bound_at_own_scale(instance, value, size) for value, size in bounds)


def _relaxed_bound(means: FloatArray) -> tuple[float, float]:
    """Return the bound before it is rounded up, and the size of its terms."""
    price = clearing_price(means)
    surplus, _ = best_delays(means, price)
    return price + math.fsum(surplus), abs(price) + surplus.sum()


def _block_bound(means: FloatArray) -> tuple[float, float]:
    """Return the bound before it is rounded up, and the size of its terms."""
    # Where a mean falls with the delay, the best mean up to that delay takes its place.
    repeats = np.maximum.accumulate(np.append(0, means.max(axis=0)[:-1]))
    firsts = np.sort(means.max(axis=1))[::-1]
    rounds = np.arange(1, means.shape[1] + 1)
    better = np.minimum(np.searchsorted(-firsts, -repeats), rounds)  # firsts above the repeats
    totals = np.append(0, np.cumsum(firsts))[better] + (rounds - better) * repeats
    # Running sums gather rounding errors: they choose the number of rounds, and no more.
    best = np.argmin(totals / rounds)
    total = math.fsum(firsts[: better[best]]) + (rounds - better)[best] * repeats[best]
    bound = float(total / rounds[best])
    return bound, bound
