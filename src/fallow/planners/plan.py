"""The default planner: exact where that fits, else the best of the heuristics, improved."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import fallow.planners
from fallow import checks
from fallow.instance import Instance
from fallow.planners.beam import WIDTH, beam
from fallow.planners.cycle import Plan, certify
from fallow.planners.feasible import StuckError, any_cycle, conflict
from fallow.planners.groups import EFFORT, refinements
from fallow.planners.local_search import MAX_MOVES, search_from
from fallow.planners.optimal import optimal, within_reach
from fallow.planners.relaxed import relaxed

MAX_STATES = 200_000
"""Size up to which the exact optimum takes under a second, for delays up to some dozens."""
BEAM_ROUNDS = 16
"""Times the longest delay for which the effort is to last a wider beam search."""
PROVED = 1 - 1e-9
"""Certificate of a plan that leaves nothing to look for."""


def optimum_or_bound(instance: Instance) -> float:
    """Return the gain of the optimum, or a quick upper bound where it is out of reach.

    Examples
    --------
    >>> optimum_or_bound(Instance.blocking([1, 0.5], delays=[1, 1]))
    0.75
    """
    if within_reach(instance, MAX_STATES):
        return optimal(instance).gain
    return relaxed(instance).bound


def plan(instance: Instance, max_states: int = MAX_STATES, effort: int = EFFORT) -> Plan:
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
    effort
        Most delay vectors to take on for a better certificate and a better plan, where the optimum
        is out of reach: `upper_bound` with this effort, what its groups of arms would play, and a
        wider beam. It ends early with a plan that is proved optimal; 0 never tries.

    Examples
    --------
    >>> best = plan(Instance.b2dep([1, 0.99, 0.01], delays=[2, 1, 1], decay=[1, 1]))
    >>> best.cycle, round(best.gain, 12), best.method
    ((2, 1, 0, 1), 0.7475, 'optimal')
    """
    max_states = checks.whole_number("max_states", max_states, minimum=0)
    effort = checks.whole_number("effort", effort, minimum=0)
    if within_reach(instance, max_states):
        return optimal(instance, max_states)
    found = list(_found_by_heuristics(instance)) or [_any_plan(instance)]
    best = max((search_from(instance, each) for each in found), key=_gain)
    return _refined(instance, best, effort)


def _found_by_heuristics(instance: Instance) -> Iterator[Plan]:
    for heuristic in fallow.planners.HEURISTICS.values():  # of the package, which imports this file
        with suppress(StuckError):
            yield heuristic(instance)


def _any_plan(instance: Instance) -> Plan:
    """Return a plan of which all that is known is that it obeys the rules."""
    cycle = any_cycle(instance)
    if cycle is None:
        raise StuckError("plan")
    if not cycle.size:
        raise conflict(instance)
    return certify(instance, cycle, "any")


def _refined(instance: Instance, best: Plan, effort: int) -> Plan:
    """Return a plan at least as good with a certificate at least as good."""
    if best.certificate >= PROVED:
        return best
    proved = best.upper_bound
    for bound, cycle in refinements(instance, effort):
        if cycle is not None:
            found = search_from(instance, certify(instance, cycle, "group"), MAX_MOVES // 10)
            best = max(best, found, key=_gain)
        proved = min(proved, bound)
        best = replace(best, upper_bound=proved)
        if best.certificate >= PROVED:
            return best
    width = effort // (BEAM_ROUNDS * (instance.max_delay + 1))
    if width > WIDTH:
        with suppress(StuckError):
            wider = search_from(instance, beam(instance, width))
            best = replace(max(best, wider, key=_gain), upper_bound=proved)
    return best


def _gain(candidate: Plan) -> float:
    return candidate.gain
