"""The default planner: exact where that fits, else the best of the heuristics, improved."""

from dataclasses import replace

import fallow.planners
from fallow import checks
from fallow.instance import Instance
from fallow.planners.beam import WIDTH, beam
from fallow.planners.bounds import relaxed_bound
from fallow.planners.cycle import Plan, certify
from fallow.planners.groups import EFFORT, refinements
from fallow.planners.local_search import MAX_MOVES, search_from
from fallow.planners.optimal import optimal, within_reach

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
    return relaxed_bound(instance)


def plan(instance: Instance, max_states: int = MAX_STATES, effort: int = EFFORT) -> Plan:
    """Return a good plan with its certificate: the plan to use unless you know better.

    Parameters
    ----------
    instance
        What to plan for.
    max_states
        Find the exact optimum if at most this many delay vectors can be reached, and their table
        can be held; 0 never tries.
        Otherwise the plan is the best of ghost, greedy, whittle, harmonic and beam, each improved.
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
    heuristics = fallow.planners.HEURISTICS.values()  # the package, which imports this file
    improved = [search_from(instance, heuristic(instance)) for heuristic in heuristics]
    return _refined(instance, max(improved, key=_gain), effort)


def _refined(instance: Instance, best: Plan, effort: int) -> Plan:
    """Return a plan at least as good with a certificate at least as good."""
    if best.certificate >= PROVED:
        return best
    for bound, cycle in refinements(instance, effort):
        found = search_from(instance, certify(instance, cycle, "group"), MAX_MOVES // 10)
        bound = min(bound, best.upper_bound)
        best = replace(max(best, found, key=_gain), upper_bound=bound)
        if best.certificate >= PROVED:
            return best
    width = effort // (BEAM_ROUNDS * (instance.max_delay + 1))
    if width > WIDTH:
        wider = search_from(instance, beam(instance, width))
        best = replace(max(best, wider, key=_gain), upper_bound=best.upper_bound)
    return best


def _gain(candidate: Plan) -> float:
    return candidate.gain
