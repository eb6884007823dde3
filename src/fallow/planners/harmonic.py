"""Harmonic schedules: each arm has a fixed period q 2^j, so that all fit side by side."""

import math
from itertools import chain

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.instance import Instance
from fallow.kernels.cycles import FREE, cycle_rewards, fill
from fallow.kernels.knapsack import best_choices
from fallow.planners.cycle import Plan, certify
from fallow.planners.feasible import StuckError, possible_problem
from fallow.planners.problem import Problem

MAX_SCHEDULES = 16
"""Shortest periods q for which a schedule is built, the most promising ones."""
MAX_WORK = 2**29
"""Comparisons of all knapsacks together, about a second; beyond, fewer schedules are built."""


def harmonic(instance: Instance) -> Plan:
    """Return the best cycle in which the chosen arms have periods q, 2q, 4q, ... for some q.

    For the 16 most promising q (fewer if arms and delays are very many) a knapsack picks at most
    one period an arm, to earn the most per round with at most one pull a round; periods that divide
    each other always fit. Free rounds go to the arm that adds most. The ranking policies are among
    the candidates, so the gain is never below ghost's.

    Examples
    --------
    >>> harmonic(Instance.blocking([1, 0.9, 0.8], delays=[1, 3, 3])).cycle
    (0, 1, 0, 2)
    """
    return harmonic_plan(possible_problem(instance))


def harmonic_plan(problem: Problem) -> Plan:
    """Return the plan of `harmonic`."""
    ranked = problem.ranked
    means = ranked.means
    shortest_periods = range(1, min(means.shape) + 1)
    by_promise = sorted(
        shortest_periods, key=lambda shortest: -_promise(means, shortest, problem.price)
    )
    knapsack_work = 2 * means.size * len(_periods(1, means.shape[1]))
    promising = by_promise[: min(MAX_SCHEDULES, MAX_WORK // knapsack_work)]
    schedules = (_best_schedule(ranked, shortest) for shortest in promising)
    rankings = (_best_at(means, period) for period in shortest_periods)
    best = max(
        filter(ranked.permits, chain(schedules, rankings)),
        key=lambda cycle: math.fsum(cycle_rewards(means, cycle)) / len(cycle),
        default=None,
    )
    if best is None:
        raise StuckError("harmonic")
    return certify(problem, ranked.arms[best], "harmonic")


def _best_at(means: FloatArray, period: int) -> IntArray:
    """Return as many arms as there are rounds in a period, those with the largest means at it."""
    return np.argsort(-means[:, period - 1], kind="stable")[:period]


def _periods(shortest: int, width: int) -> IntArray:
    """Return shortest, 2 shortest, ..., up to a period that rests every arm."""
    doublings = math.ceil(math.log2(max(width / shortest, 1)))
    periods: IntArray = shortest * 2 ** np.arange(doublings + 1)
    return periods


def _promise(means: FloatArray, shortest: int, price: float) -> float:
    """Bound what the knapsack can earn beyond a price that is paid for every round."""
    periods = _periods(shortest, means.shape[1])
    surplus = (means[:, np.minimum(periods, means.shape[1]) - 1] - price) / periods
    return float(np.maximum(surplus.max(axis=1), 0).sum())


def _best_schedule(problem: Problem, shortest: int) -> IntArray:
    """Return the best cycle with periods shortest, 2 shortest, ..., free rounds filled."""
    means = problem.means
    width = means.shape[1]
    periods = _periods(shortest, width)
    length = int(periods[-1])
    per_round = means[:, np.minimum(periods, width) - 1] / periods
    per_round[problem.forbids(periods)] = -1  # a choice below 0 is never taken
    choices = best_choices(per_round, length // periods, capacity=length)
    cycle = np.full(length, FREE)
    # Shorter periods first: the free rounds then always hold a whole residue class.
    for arm in np.argsort(choices, kind="stable"):
        if choices[arm] >= 0:
            first_free = int(np.argmax(cycle == FREE))
            cycle[first_free :: periods[choices[arm]]] = arm
    return fill(means, problem.limits, cycle)
