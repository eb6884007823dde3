"""An upper bound on the gain of every policy."""

import math
from functools import lru_cache

import numpy as np

from fallow.instance import Instance
from fallow.kernels.bounds import best_delays, clearing_price


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
    return _smaller_bound(instance)


@lru_cache(maxsize=1)  # each plan of an instance asks for it
def _smaller_bound(instance: Instance) -> float:
    return min(_relaxed_bound(instance), _block_bound(instance))


def _relaxed_bound(instance: Instance) -> float:
    price = clearing_price(instance.means)
    surplus, _ = best_delays(instance.means, price)
    return rounded_up(price + math.fsum(surplus), scale=abs(price) + surplus.sum())


def _block_bound(instance: Instance) -> float:
    # Where a mean falls with the delay, the best mean up to that delay takes its place.
    best_so_far = np.maximum.accumulate(instance.means, axis=1)
    first_pulls = np.sort(best_so_far[:, -1])[::-1]
    bounds = [float(first_pulls[0])]
    for rounds in range(2, instance.max_delay + 2):
        repeat = best_so_far[:, rounds - 2].max()
        firsts = np.maximum(first_pulls[:rounds], repeat)
        bounds.append((firsts.sum() + (rounds - len(firsts)) * repeat) / rounds)
    return rounded_up(min(bounds), scale=min(bounds))


def rounded_up(value: float, scale: float) -> float:
    """Return the value plus more than its rounding error, for sums of terms of that scale."""
    return float(value + 16 * np.finfo(float).eps * scale)
