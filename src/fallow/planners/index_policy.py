"""Index policies: the arm with the largest index at its delay is pulled next."""

import numpy as np

from fallow.arrays import FloatArray
from fallow.instance import Instance
from fallow.kernels.cycles import best_part
from fallow.kernels.paths import follow
from fallow.planners.cycle import Plan, certify
from fallow.planners.feasible import StuckError
from fallow.planners.problem import Problem

MAX_WORK = 2**25
"""Looks at an arm after which a policy is cut short, a tenth of a second."""
KEEPING = 16
"""What one pull more in the cycle costs beside the look at all arms, in looks at an arm."""


def follow_indices(instance: Instance, problem: Problem, indices: FloatArray, method: str) -> Plan:
    """Return the cycle in which an index policy ends when all arms start rested.

    `indices[i, tau - 1]` is the index of arm i at delay tau; of the arms that the rules allow, the
    one with the largest is pulled. A cycle can be astronomically long. After 256 (D + 1) rounds
    without a repeat the recent rounds are taken as the cycle; that changes only the first D + 1 of
    at least 128 (D + 1) pulls, and the plan's gain is that of the cycle so cut. Where arms and
    delays are very many, there are fewer rounds, but at least 4 (D + 1).
    """
    arms, means, limits = problem
    order = np.argsort(-means[:, -1], kind="stable")  # ties go to the arm with the larger baseline
    longest = means.shape[1]
    affordable = MAX_WORK // (longest * (len(arms) + KEEPING))
    max_rounds = longest * min(256, max(4, affordable))
    cycle, repeats = follow(indices[order], limits.of(order), max_rounds)
    cycle = order[cycle]
    if limits.bind and not repeats:
        start = best_part(means, limits, cycle)
        if start == -1:
            raise StuckError(method)
        cycle = cycle[start:]
    return certify(instance, arms[cycle], method)
