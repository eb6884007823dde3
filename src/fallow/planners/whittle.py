"""An index policy after Whittle (1988), with the index in closed form."""

from fallow.instance import Instance
from fallow.kernels.indices import whittle_indices
from fallow.planners.cycle import Plan
from fallow.planners.feasible import possible_problem
from fallow.planners.index_policy import follow_indices


def whittle(instance: Instance) -> Plan:
    """Return the cycle of the policy that always pulls the arm with the largest index.

    The index of an arm at delay t is the price of a pull at which pulling it always at delay t
    earns as much as pulling it always at its best later delay, or never:
    min(mu(t), min_{u > t} (u mu(t) - t mu(u)) / (u - t)). Where the means are concave in the delay
    this is Whittle's index; elsewhere his weighs a single pull now, and differs. A round costs one
    look at each arm.

    Examples
    --------
    >>> whittle(Instance.b2dep([1, 0.4], delays=[1, 1], decay=[0.5])).cycle
    (1, 0)
    """
    problem = possible_problem(instance)
    return follow_indices(instance, problem, whittle_indices(problem.means), "whittle")
