"""The greedy policy (paper, section 3, equation 2)."""

from fallow.instance import Instance
from fallow.planners.cycle import Plan
from fallow.planners.feasible import possible_problem
from fallow.planners.index_policy import follow_indices


def greedy(instance: Instance) -> Plan:
    """Return the cycle of the policy that always pulls the arm with the largest mean now.

    The paper's pi_greedy. Ties go to the arm with the larger baseline.

    Examples
    --------
    >>> greedy(Instance.b2dep([1, 0.4], delays=[1, 1], decay=[0.5])).gain
    0.5
    """
    problem = possible_problem(instance)
    return follow_indices(instance, problem, problem.means, "greedy")
