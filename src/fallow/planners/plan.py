"""The default planner: exact where that fits, otherwise the best heuristic plan, improved."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter

from fallow import checks
from fallow.instance import Instance
from fallow.planners.beam import WIDTH, beam_plan
from fallow.planners.cycle import Plan, certify
from fallow.planners.feasible import StuckError, any_cycle, conflict, possible_problem
from fallow.planners.groups import EFFORT, refinements
from fallow.planners.harmonic import harmonic_plan
from fallow.planners.index_policies import greedy_plan, whittle_plan
from fallow.planners.local_search import MAX_MOVES, improved_plan
from fallow.planners.optimal import can_solve, optimal_plan
from fallow.planners.periodic import periodic_plan
from fallow.planners.problem import Problem
from fallow.planners.ranking import ghost_plan

MAX_STATES = 200_000
"""Size up to which the exact optimum takes under a second, for delays up to some dozens."""
BEAM_ROUNDS = 16
"""Times the longest delay for which the effort is to last a wider beam search."""
PROVED = 1 - 1e-9
"""Certificate from which on a plan counts as proved optimal."""
HEURISTIC_PLANS: Sequence[Callable[[Problem], Plan]] = (
    ghost_plan,
    greedy_plan,
    whittle_plan,
    harmonic_plan,
    periodic_plan,
    beam_plan,
)
"""The planners of `fallow.planners.HEURISTICS`, in the same order, as functions of a problem."""


def optimum_or_bound(instance: Instance) -> float:
    """Return the gain of the optimum, or a quick upper bound where it is out of reach.

    Examples
    --------
    >>> optimum_or_bound(Instance.blocking([1, 0.5], delays=[1, 1]))
    0.75
    """
    problem = possible_problem(instance)
    return optimal_plan(problem).gain if can_solve(problem, MAX_STATES) else problem.bound


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
    return best_plan(possible_problem(instance), max_states, effort)


def best_plan(problem: Problem, max_states: int = MAX_STATES, effort: int = EFFORT) -> Plan:
    """Return the plan of `plan`."""
    if can_solve(problem, max_states):
        return optimal_plan(problem, max_states)
    candidates = list(_heuristic_plans(problem)) or [_any_plan(problem)]
    best = max((improved_plan(problem, plan) for plan in candidates), key=_gain)
    return _refined(problem, best, effort)


def _heuristic_plans(problem: Problem) -> Iterator[Plan]:
    for heuristic in HEURISTIC_PLANS:
        with suppress(StuckError):
            yield heuristic(problem)


def _any_plan(problem: Problem) -> Plan:
    """Return a plan of which all that is known is that it obeys the rules."""
    cycle = any_cycle(problem)
    if cycle is None:
        raise StuckError("plan")
    if not cycle.size:
        raise conflict(problem.instance)
    return certify(problem, cycle, "any")


def _refined(problem: Problem, best: Plan, effort: int) -> Plan:
    """Return a plan at least as good with a certificate at least as good."""
    if best.certificate >= PROVED:
        return best
    proved = best.upper_bound
    for bound, cycle in refinements(problem, effort):
        if cycle is not None:
            group = improved_plan(problem, certify(problem, cycle, "group"), MAX_MOVES // 10)
            best = max(best, group, key=_gain)
        proved = min(proved, bound)
        best = replace(best, upper_bound=proved)
        if best.certificate >= PROVED:
            return best
    width = effort // (BEAM_ROUNDS * (problem.instance.max_delay + 1))
    if width > WIDTH:
        with suppress(StuckError):
            wider = improved_plan(problem, beam_plan(problem, width))
            best = replace(max(best, wider, key=_gain), upper_bound=proved)
    return best


_gain = attrgetter("gain")
