"""Index policies: the arm with the largest index at its delay is pulled next."""

from fallow.arrays import FloatArray
from fallow.instance import Instance
from fallow.kernels.indices import follow
from fallow.planners.cycle import Plan, certify

MAX_WORK = 2**25
"""Looks at an arm after which a policy is cut short, a tenth of a second."""
KEEPING = 16
"""What one pull more in the cycle costs beside the look at all arms, in looks at an arm."""


def follow_indices(instance: Instance, indices: FloatArray, method: str) -> Plan:
    """Return the cycle in which an index policy ends when all arms start rested.

    `indices[i, tau - 1]` is the index of arm i at delay tau. A cycle can be astronomically long.
    After 256 (D + 1) rounds without a repeat the recent rounds are taken as the cycle; that changes
    only the first D + 1 of at least 128 (D + 1) pulls, and the plan's gain is that of the cycle so
    cut. Where arms and delays are very many, there are fewer rounds, but at least 4 (D + 1).
    """
    order = instance.order  # so that ties go to the arm with the larger baseline
    longest = instance.max_delay + 1
    affordable = MAX_WORK // (longest * (instance.arms + KEEPING))
    cycle = follow(indices[order], max_rounds=longest * min(256, max(4, affordable)))
    return certify(instance, order[cycle], method)
