"""Harmonic schedules: each arm has a fixed period q 2^j, so that all fit side by side."""

import math

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.instance import Instance
from fallow.kernels.cycles import fill
from fallow.kernels.knapsack import best_choices
from fallow.planners.plans import Plan, gain

FREE = -1


def harmonic(instance: Instance) -> Plan:
    """Return the best cycle in which the chosen arms have periods q, 2q, 4q, ... for some q.

    For each q a knapsack picks at most one period an arm, to earn the most per round with at most
    one pull a round; periods that divide each other always fit. Free rounds go to the arm that adds
    most. The ranking policies are among the candidates, so the gain is never below ghost's.

    Examples
    --------
    >>> harmonic(Instance.blocking([1, 0.9, 0.8], delays=[1, 3, 3])).cycle
    (0, 1, 0, 2)
    """
    ranked = instance.means[instance.order]
    candidates = []
    for shortest in range(1, min(ranked.shape) + 1):
        by_mean = np.argsort(-ranked[:, shortest - 1], kind="stable")
        candidates.append(instance.order[by_mean[:shortest]])
        candidates.append(instance.order[_best_schedule(ranked, shortest)])
    best = max(candidates, key=lambda cycle: gain(instance, cycle))
    return Plan.of(instance, best, "harmonic")


def _best_schedule(means: FloatArray, shortest: int) -> IntArray:
    """Return the best cycle with periods shortest, 2 shortest, ..., up to one that rests all."""
    width = means.shape[1]
    doublings = math.ceil(math.log2(max(width / shortest, 1)))
    periods = shortest * 2 ** np.arange(doublings + 1)
    length = int(periods[-1])
    per_round = means[:, np.minimum(periods, width) - 1] / periods
    choices = best_choices(per_round, length // periods, capacity=length)
    cycle = np.full(length, FREE)
    # Shorter periods first: the free rounds then always hold a whole residue class.
    for arm in np.argsort(choices, kind="stable"):
        if choices[arm] >= 0:
            first_free = int(np.argmax(cycle == FREE))
            cycle[first_free :: periods[choices[arm]]] = arm
    return fill(means, cycle)
