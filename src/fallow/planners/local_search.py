"""Local search on the cycle of a plan."""

import numpy as np

from fallow import checks
from fallow.errors import InputError
from fallow.instance import Instance
from fallow.kernels.cycles import local_search
from fallow.planners.cycle import Plan, certify, gain
from fallow.planners.problem import Problem, problem_of

MAX_MOVES = 10_000_000
"""Changes that a search looks at, unless asked otherwise."""


def improve(instance: Instance, plan: Plan, max_moves: int = MAX_MOVES) -> Plan:
    """Return a plan at least as good, reached by replacing, inserting, deleting and swapping pulls.

    The search ends at a cycle that no single change improves, or once it has looked at `max_moves`
    changes; long cycles meet that limit first. A plan that stays as it is keeps its method, and
    every plan its upper bound, which may be better than `upper_bound`.

    Examples
    --------
    >>> instance = Instance.b2dep([1, 0.4], delays=[1, 1], decay=[0.5])
    >>> improve(instance, Plan.of(instance, [0], "by hand")).cycle
    (1, 0)
    """
    earned = gain(instance, plan.cycle)
    if earned != plan.gain:
        raise InputError(
            "plan", "must be for this instance", f"a gain of {plan.gain} where it earns {earned}"
        )
    max_moves = checks.whole_number("max_moves", max_moves, minimum=0)
    return improved_plan(problem_of(instance), plan, max_moves)


def improved_plan(problem: Problem, plan: Plan, max_moves: int = MAX_MOVES) -> Plan:
    """Do as `improve` does with a plan that is known to be for the problem."""
    numbers = np.full(problem.instance.arms, -1)
    numbers[problem.arms] = np.arange(len(problem.arms))
    best = plan
    while True:
        changed = local_search(problem.means, problem.limits, numbers[list(best.cycle)], max_moves)
        cycle = tuple(problem.arms[changed].tolist())
        if cycle != best.cycle:
            method = f"{plan.method}, improved"
            best = certify(problem, np.array(cycle), method, plan.upper_bound)
        if len(best.cycle) == len(cycle):
            return best
        # The cycle is a shorter one several times over, which has changes of its own.
