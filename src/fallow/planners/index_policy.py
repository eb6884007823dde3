"""Index policies: the arm with the largest index at its delay is pulled next."""

from fallow.arrays import FloatArray
from fallow.instance import Instance
from fallow.kernels.indices import follow
from fallow.planners.cycle import Plan, certify


def follow_indices(instance: Instance, indices: FloatArray, method: str) -> Plan:
    """Return the cycle in which an index policy ends when all arms start rested.

    `indices[i, tau - 1]` is the index of arm i at delay tau. A cycle can be astronomically long.
    After 256 (D + 1) rounds without a repeat the recent rounds are taken as the cycle; that changes
    only the first D + 1 of at least 128 (D + 1) pulls, and the plan's gain is that of the cycle so
    cut.
    """
    order = instance.order  # so that ties go to the arm with the larger baseline
    cycle = follow(indices[order], max_rounds=256 * (instance.max_delay + 1))
    return certify(instance, order[cycle], method)
