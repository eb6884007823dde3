"""The default planner: exact where that fits, else the best of the heuristics, improved."""

from collections.abc import Iterator
from contextlib import suppress

import fallow.planners
from fallow import checks
from fallow.instance import Instance
from fallow.planners.bounds import upper_bound
from fallow.planners.cycle import Plan, certify
from fallow.planners.feasible import StuckError, any_cycle, conflict
from fallow.planners.local_search import search_from
from fallow.planners.optimal import optimal, within_reach

MAX_STATES = 200_000
"""Size up to which the exact optimum takes under a second, for delays up to some dozens."""


def optimum_or_bound(instance: Instance) -> float:
    """Return the gain of the optimum, or its upper bound where the optimum is out of reach.

    Examples
    --------
    >>> optimum_or_bound(Instance.blocking([1, 0.5], delays=[1, 1]))
    0.75
    """
    if within_reach(instance, MAX_STATES):
        return optimal(instance).gain
    return upper_bound(instance)


def plan(instance: Instance, max_states: int = MAX_STATES) -> Plan:
    """Return a good plan with its certificate: the plan to use unless you know better.

    Parameters
    ----------
    instance
        What to plan for.
    max_states
        Find the exact optimum if at most this many delay vectors can be reached, and their table
        can be held; 0 never tries.
        Otherwise the plan is the best of ghost, greedy, whittle, harmonic, periodic and beam, each
        improved.

    Examples
    --------
    >>> best = plan(Instance.b2dep([1, 0.99, 0.01], delays=[2, 1, 1], decay=[1, 1]))
    >>> best.cycle, round(best.gain, 12), best.method
    ((2, 1, 0, 1), 0.7475, 'optimal')
    """
    max_states = checks.whole_number("max_states", max_states, minimum=0)
    if within_reach(instance, max_states):
        return optimal(instance, max_states)
    found = list(_found_by_heuristics(instance))
    if not found:
        cycle = any_cycle(instance)
        if cycle is None:
            raise StuckError("plan")
        if not cycle.size:
            raise conflict(instance)
        found = [certify(instance, cycle, "any")]
    return max((search_from(instance, each) for each in found), key=lambda each: each.gain)


def _found_by_heuristics(instance: Instance) -> Iterator[Plan]:
    for heuristic in fallow.planners.HEURISTICS.values():  # of the package, which imports this file
        with suppress(StuckError):
            yield heuristic(instance)
