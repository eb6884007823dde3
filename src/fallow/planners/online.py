"""Planning for a learner: the more rounds it has played, the more a better plan is worth."""

from fallow.instance import Instance
from fallow.planners.beam import beam
from fallow.planners.cycle import Plan
from fallow.planners.harmonic import harmonic
from fallow.planners.optimal import optimal, within_reach
from fallow.planners.periodic import periodic
from fallow.planners.plan import MAX_STATES, PROVED
from fallow.planners.whittle import whittle

SMALL = 256
"""Cells up to which a beam search is quick; beyond, the index policy is."""
WIDTH = 16
"""Of the beam search: nearly always as good on upper bounds as a wider one, and much faster."""
SIZE_PER_REWARD = 4
"""Cells for more planners, or delay vectors for the exact one, that a reward more pays for."""


def plan_online(instance: Instance, rounds: float) -> Plan:
    """Return a plan whose search was worth its work after so many rounds of learning.

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
    is_small = instance.means.size <= SMALL
    quick = exact_online(instance, beam(instance, WIDTH) if is_small else whittle(instance), rounds)
    if is_small or instance.means.size > _affordable(quick, rounds):
        return quick
    others = beam(instance, WIDTH), harmonic(instance), periodic(instance)
    return max(quick, *others, key=lambda plan: plan.gain)


def exact_online(instance: Instance, plan: Plan, rounds: float) -> Plan:
    """Return the optimum if it is within reach and worth its work by now, or else the given plan.

    Examples
    --------
    >>> instance = Instance.b2dep([1, 0.4], delays=[1, 1], decay=[0.5])
    >>> exact_online(instance, Plan.of(instance, [0], "by hand"), rounds=1000).cycle
    (1, 0)
    """
    states = min(_affordable(plan, rounds), MAX_STATES)
    return optimal(instance) if within_reach(instance, states) else plan


def _affordable(plan: Plan, rounds: float) -> int:
    """Return the size of a search that is worth its work: none if nothing is left to be found."""
    if plan.certificate >= PROVED:
        return 0
    return int(SIZE_PER_REWARD * plan.residual * rounds)
