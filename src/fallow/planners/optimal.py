"""The exact optimum by Howard's policy iteration over the reachable delay vectors."""

import logging

import numpy as np

from fallow import checks
from fallow.errors import InputError
from fallow.instance import Instance
from fallow.kernels import policies
from fallow.kernels.indices import whittle_indices
from fallow.planners.cycle import Plan, certify
from fallow.planners.feasible import conflict, possible_problem
from fallow.planners.graph import graph_of
from fallow.planners.problem import Problem

log = logging.getLogger(__name__)

MAX_DELAY_VECTORS = 20_000_000
"""Delay vectors that are taken on, unless asked otherwise."""
MAX_MEMORY = 2**32
"""Most bytes that the delay vectors may take."""
MAX_STALE_SWEEPS = 5000
"""Sweeps without a better gain after which only rounding can be left to improve."""


def optimal(instance: Instance, max_states: int = MAX_DELAY_VECTORS) -> Plan:
    """Return a cycle that no policy beats, with the proof on the plan.

    The problem is NP-hard (paper, Theorem 1): the cost grows with the number of reachable delay
    vectors, which `reachable_states` tells beforehand. `Plan.upper_bound` is max_s (TV - V)(s) for
    the values V found, T the step of value iteration; no policy's gain exceeds it, whatever V is.
    So `Plan.residual`, about 1e-14 of the largest mean as a rule, proves the cycle optimal. Each
    sweep is logged.

    Parameters
    ----------
    instance
        What to plan for.
    max_states
        Most delay vectors to take on. Each takes 44 bytes of memory and up to 8 more for each arm;
        beyond 4 GiB in all, the instance is refused whatever this is.

    Examples
    --------
    >>> best = optimal(Instance.b2dep([1, 0.99, 0.01], delays=[2, 1, 1], decay=[1, 1]))
    >>> round(best.gain, 12)
    0.7475
    >>> best.residual < 1e-12
    True
    """
    max_states = checks.whole_number("max_states", max_states, minimum=0)
    return optimal_plan(possible_problem(instance), max_states)


def optimal_plan(problem: Problem, max_states: int = MAX_DELAY_VECTORS) -> Plan:
    """Return the plan of `optimal`."""
    needed = problem.states
    if _memory(problem) > MAX_MEMORY:
        raise InputError(
            "instance",
            f"must have delay vectors that take at most {MAX_MEMORY:,} bytes",
            f"{checks.count(needed)} of {problem.instance.arms:,} arms; plan without the optimum "
            "instead, with max_states=0",
        )
    if needed > max_states:
        raise InputError(
            "max_states",
            f"must be at least {checks.count(needed)}, the number of delay vectors that can be "
            "reached",
            f"{checks.count(max_states)}; plan without the optimum instead, with max_states=0",
        )
    graph = graph_of(problem.means, problem.delays, problem.limits)
    count = len(graph.delays)
    if count == 0:
        raise conflict(problem.instance)
    policy = policies.index_policy(graph, whittle_indices(graph.means))
    scores = np.zeros((count, 2))  # the gain and the relative value of each state
    best, stale = -np.inf, 0
    changed = count
    while changed and stale < MAX_STALE_SWEEPS:
        policies.evaluate(policy, scores)
        gain = scores[:, 0].max()
        best, stale = max(best, gain), stale + 1 if gain <= best else 0
        changed = policies.improve(graph, policy, scores)
        log.info("%d of %d states changed, gain %.12f", changed, count, gain)
    cycle = policies.best_cycle(policy, scores)
    bound = policies.largest_rise(graph, scores)
    size = bound + 2 * max(scores[:, 1].max(), -scores[:, 1].min())
    return certify(problem, problem.arms[cycle], "optimal", problem.own_bound(bound, size))


def reachable_states(instance: Instance) -> int:
    """Return the number of delay vectors that can be reached, the size of the exact problem.

    Exact up to 2^53; larger counts are rounded, and those above 1e300 given as that. With rules it
    counts what the exact planner builds before it leaves out what they forbid. Rules that reach
    further back than an arm's own delays make it larger, and each cap of several pulls multiplies
    it by the patterns of latest pulls to tell apart.

    Examples
    --------
    >>> reachable_states(Instance.blocking([1] * 10, delays=[8] * 10))
    10473760
    """
    return possible_problem(instance).states


def within_reach(instance: Instance, max_states: int) -> bool:
    """Tell whether `optimal` takes the instance: few enough delay vectors, in little memory.

    Examples
    --------
    >>> within_reach(Instance.blocking([1] * 10, delays=[8] * 10), max_states=200_000)
    False
    """
    return can_solve(possible_problem(instance), max_states)


def can_solve(problem: Problem, max_states: int) -> bool:
    """Tell whether `optimal_plan` takes a problem, as `within_reach` tells for an instance."""
    return problem.states <= max_states and _memory(problem) <= MAX_MEMORY


def _memory(problem: Problem) -> int:
    """Return the bytes that all states take at most."""
    return problem.states * (44 + (32 if problem.limits.bind else 8) * len(problem.arms))
