"""Index policies: the arm with the largest index at its delay is pulled next."""

from collections.abc import Callable

from fallow.arrays import FloatArray
from fallow.instance import Instance
from fallow.kernels.cycles import best_part
from fallow.kernels.indices import whittle_indices
from fallow.kernels.paths import follow
from fallow.limits import rested_past
from fallow.planners.cycle import Plan, certify
from fallow.planners.feasible import StuckError, possible_problem
from fallow.planners.problem import Problem

MAX_WORK = 2**25
"""Looks at an arm after which a policy is cut short, a tenth of a second."""
PULL_WORK = 16
"""What one pull more in the cycle costs beside the look at all arms, in looks at an arm."""


def greedy(instance: Instance) -> Plan:
    """Return the cycle of the policy that always pulls the arm with the largest mean now.

    The paper's pi_greedy (section 3, equation 2). Ties go to the arm with the larger baseline.

    Examples
    --------
    >>> greedy(Instance.b2dep([1, 0.4], delays=[1, 1], decay=[0.5])).gain
    0.5
    """
    return greedy_plan(possible_problem(instance))


def greedy_plan(problem: Problem) -> Plan:
    """Return the plan of `greedy`."""
    return _follow(problem, lambda means: means, "greedy")


def whittle(instance: Instance) -> Plan:
    """Return the cycle of the policy that always pulls the arm with the largest index.

    It follows Whittle (1988), with the index in closed form. The index of an arm at delay t is the
    price of a pull at which pulling it always at delay t earns as much as pulling it always at its
    best later delay, or never: min(mu(t), min_{u > t} (u mu(t) - t mu(u)) / (u - t)). Where the
    means are concave in the delay this is Whittle's index; elsewhere his weighs a single pull now,
    and differs. A round costs one look at each arm.

    Examples
    --------
    >>> whittle(Instance.b2dep([1, 0.4], delays=[1, 1], decay=[0.5])).cycle
    (1, 0)
    """
    return whittle_plan(possible_problem(instance))


def whittle_plan(problem: Problem) -> Plan:
    """Return the plan of `whittle`."""
    return _follow(problem, whittle_indices, "whittle")


def _follow(problem: Problem, index: Callable[[FloatArray], FloatArray], method: str) -> Plan:
    """Return the cycle in which an index policy ends when all arms start rested.

    `index` turns a table of means into one of indices. Of the arms that the rules allow, the one
    with the largest index is pulled; ties go to the arm with the larger baseline. A cycle can be
    astronomically long. After 256 (D + 1) rounds without a repeat the recent rounds are taken as
    the cycle; that changes only the first D + 1 of at least 128 (D + 1) pulls, and the plan's gain
    is that of the cycle so cut. Where arms and delays are very many, there are fewer rounds, but at
    least 4 (D + 1).
    """
    ranked = problem.ranked
    means, limits = ranked.means, ranked.limits
    arms, longest = means.shape
    affordable = MAX_WORK // (longest * (arms + PULL_WORK))
    max_rounds = longest * min(256, max(4, affordable))
    cycle, repeats = follow(index(means), limits, rested_past(limits, longest), max_rounds)
    if limits.bind and not repeats:
        start = best_part(means, limits, cycle)
        if start == -1:
            raise StuckError(method)
        cycle = cycle[start:]
    return certify(problem, ranked.arms[cycle], method)
