"""An upper bound on the gain of every policy."""

from fallow import checks
from fallow.instance import Instance
from fallow.planners.feasible import check_rules, possible_problem
from fallow.planners.groups import EFFORT, refinements
from fallow.planners.problem import Problem


def upper_bound(instance: Instance, effort: int = EFFORT) -> float:
    """Return a number, in reward per round, that no policy's long-run average exceeds.

    It is the least of several bounds. In the first one, arms may be pulled at the same time as long
    as there is one pull a round on average. The dual of this relaxed problem is the minimum over
    prices p of p + sum_i max(0, max_t (mu_i(t) - p) / t). It is never above the block bound,
    min_r (1/r) sum_{i <= r} max(mu_i, max_j mu_j(r - 1)), of the repaired argument of the paper's
    Theorem 2: of the relaxed pulls, those of an arm at delays r or longer are at most 1/r a round,
    and all others earn at most max_j mu_j(r - 1).

    In the others, groups of arms take turns as they must, and only the rest is relaxed
    (`fallow.planners.groups` has the proof).

    It is rounded up, so it bounds the optimum in floating point too.

    Parameters
    ----------
    instance
        What to bound.
    effort
        Most delay vectors to take on, all groups together; never seconds, so that bounds do not
        depend on the machine. More effort never gives a larger bound; 0 gives the first one alone,
        within milliseconds.

    Examples
    --------
    >>> instance = Instance.blocking([0, 1, 1], delays=[1, 1, 2])
    >>> round(upper_bound(instance), 12), round(upper_bound(instance, effort=0), 12)
    (0.75, 0.833333333333)
    """
    effort = checks.whole_number("effort", effort, minimum=0)
    return refined_bound(possible_problem(instance), effort)


def refined_bound(problem: Problem, effort: int = EFFORT) -> float:
    """Return the `upper_bound` of a problem."""
    if effort > 0:
        check_rules(problem)
    return min([problem.bound, *(refined.bound for refined in refinements(problem, effort))])
