"""Periodic schedules: each arm has a period of its own, and no two arms meet."""

import numpy as np

from fallow.instance import Instance
from fallow.kernels.cycles import FREE, fill
from fallow.kernels.periodic import place, promises
from fallow.planners.cycle import Plan, certify
from fallow.planners.feasible import StuckError, possible_problem
from fallow.planners.problem import Problem, worth_at

MAX_LENGTHS = 4
"""Lengths of a cycle in which arms are placed, the most promising ones."""
MAX_SIZE = 2**15
"""Arms times rounds of a cycle; where arms are very many, cycles are shorter."""
LOOKS_PER_CELL = 16
"""Looks at a round of a cycle for an arm, on average, after which a search ends."""


def periodic(instance: Instance) -> Plan:
    """Return the best cycle found in which arms have fixed periods and share the rounds.

    Where payoffs ask for exact periods, as in maintenance scheduling, the difficulty is to place
    the arms so that no two are due in the same round. Cycles up to 16 times as long as the delays
    are ranked by what they would earn if arms never met, each at its best period that divides the
    length. In the 4 best lengths (the shorter one of two that promise the same) arms are placed by
    a search that lets an arm displace others. Then free rounds go to the arm that adds most.

    A round costs half its price in the relaxed problem behind `upper_bound`: where periods collide
    not every round can be sold.

    Examples
    --------
    >>> with_idle_arm = Instance.blocking([1, 1, 1, 0], delays=[3, 5, 5, 1])
    >>> round(periodic(with_idle_arm).gain, 12) == round(1 / 4 + 1 / 6 + 1 / 6, 12)
    True
    """
    return periodic_plan(possible_problem(instance))


def periodic_plan(problem: Problem) -> Plan:
    """Return the plan of `periodic`."""
    ranked = problem.ranked
    width = ranked.means.shape[1]
    price = max(problem.price, 0.0) / 2
    worth = worth_at(ranked.means, price)
    # More arms than the longest period has rounds would not find room.
    useful = np.argsort(-worth, kind="stable")[: min((worth > 0).sum(), width)]
    candidates = ranked.of(useful)
    periods = np.arange(1, min(16 * width, MAX_SIZE // max(len(useful), 1)) + 1)
    earned = np.take(candidates.means, np.minimum(periods, width) - 1, axis=1)
    values = (earned - price) / periods
    values[candidates.forbids(periods)] = -1  # a period that is worth less than 0 is never taken
    promised = promises(values)
    best, best_total = np.array([FREE]), 0.0
    for length in periods[np.argsort(-promised, kind="stable")][:MAX_LENGTHS].tolist():
        if promised[length - 1] > best_total:
            cycle, total = place(values, length, LOOKS_PER_CELL * len(useful) * length)
            if total > best_total:
                best, best_total = cycle, total
    placed = best != FREE
    best[placed] = useful[best[placed]]
    filled = fill(ranked.means, ranked.limits, best)
    if not ranked.permits(filled):
        raise StuckError("periodic")
    return certify(problem, ranked.arms[filled], "periodic")
