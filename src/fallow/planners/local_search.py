"""Local search on the cycle of a plan."""

import numpy as np

from fallow.instance import Instance
from fallow.kernels.cycles import local_search
from fallow.planners.plans import Plan


def improve(instance: Instance, plan: Plan, max_pulls: int = 10_000_000) -> Plan:
    """Return a plan at least as good, reached by replacing, inserting, deleting and swapping pulls.

    The search ends at a cycle that no single change improves, or once it has evaluated `max_pulls`
    pulls; long cycles meet that limit first.

    Examples
    --------
    >>> instance = Instance.b2dep([1, 0.4], delays=[1, 1], decay=[0.5])
    >>> improve(instance, Plan.of(instance, [0], "by hand")).cycle
    (1, 0)
    """
    improved = Plan.of(instance, plan.cycle, plan.method)  # which checks that the arms exist
    while True:
        cycle = local_search(instance.means, np.array(improved.cycle), max_pulls)
        improved = Plan.of(instance, cycle, f"{plan.method}, improved")
        if len(improved.cycle) == len(cycle):
            return improved
        # The cycle is a shorter one several times over, which has changes of its own.
