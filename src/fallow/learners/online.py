"""Planning for a learner: the more rounds it has played, the more a better plan is worth."""

from fallow.instance import Instance
from fallow.planners.beam import beam_plan
from fallow.planners.cycle import Plan
from fallow.planners.feasible import possible_problem
from fallow.planners.harmonic import harmonic_plan
from fallow.planners.index_policies import whittle_plan
from fallow.planners.optimal import can_solve, optimal_plan
from fallow.planners.periodic import periodic_plan
from fallow.planners.plan import MAX_STATES, PROVED
from fallow.planners.problem import Problem

MAX_BEAM_CELLS = 256
"""Cells up to which a beam search is quick; beyond, the index policy is."""
BEAM_WIDTH = 16
"""Width of the beam: nearly always as good on upper bounds as a wider one, and much faster."""
SIZE_PER_REWARD = 4
"""Cells for more planners, or delay vectors for the exact one, that one more reward pays for."""


def plan_online(instance: Instance, rounds: float) -> Plan:
    """Return a plan whose search was worth its work after these rounds of learning.

    A plan is played for about as many rounds as were played before. In these a better one can earn
    at most `rounds` times the residual of a quick plan. Where that is much, compared with the size
    of the table, more planners are asked, and the exact one if it is within reach. Sizes decide and
    not seconds, so that the plan is the same everywhere.

    Parameters
    ----------
    instance
        What the learner takes for the means, such as upper confidence bounds.
    rounds
        Rounds that it has played.

    Examples
    --------
    >>> from fallow import catalog
    >>> instance = catalog.figure2(seed=0)
    >>> [plan_online(instance, rounds).method for rounds in (10**3, 10**6)]
    ['beam', 'optimal']
    """
    problem = possible_problem(instance)
    cells = instance.means.size
    if cells <= MAX_BEAM_CELLS:
        return exact_online(problem, beam_plan(problem, BEAM_WIDTH), rounds)
    quick = exact_online(problem, whittle_plan(problem), rounds)
    if cells > _affordable(quick, rounds):
        return quick
    others = beam_plan(problem, BEAM_WIDTH), harmonic_plan(problem), periodic_plan(problem)
    return max(quick, *others, key=lambda plan: plan.gain)


def exact_online(problem: Problem, plan: Plan, rounds: float) -> Plan:
    """Return the optimum if it is within reach and worth its work by now, or the given plan.

    Examples
    --------
    >>> instance = Instance.b2dep([1, 0.4], delays=[1, 1], decay=[0.5])
    >>> by_hand = Plan.of(instance, [0], "by hand")
    >>> exact_online(possible_problem(instance), by_hand, rounds=1000).cycle
    (1, 0)
    """
    states = min(_affordable(plan, rounds), MAX_STATES)
    return optimal_plan(problem) if can_solve(problem, states) else plan


def _affordable(plan: Plan, rounds: float) -> int:
    """Return the size of a search that is worth its work: 0 if nothing is left to be found."""
    if plan.certificate >= PROVED:
        return 0
    return int(SIZE_PER_REWARD * plan.residual * rounds)
