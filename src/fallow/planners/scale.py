"""Means on a scale of their own, so that no tolerance and no rounding depends on theirs."""

import numpy as np

from fallow.arrays import FloatArray
from fallow.instance import Instance


def scaled_means(instance: Instance) -> FloatArray:
    """Return the means times the power of two that brings the largest to 1/2 or more.

    Only ever up, which is exact down to the smallest numbers there are. All means may be 0.

    Examples
    --------
    >>> scaled_means(Instance([[5e-324, 1e-323]]))
    array([[0.25, 0.5 ]])
    """
    exponent = _exponent(instance)
    if exponent == 0:
        return instance.means
    scaled = np.ldexp(instance.means, -exponent)
    scaled.setflags(write=False)  # kernels are compiled for such tables
    return scaled


def bound_at_own_scale(instance: Instance, value: float, size: float) -> float:
    """Return an upper bound that was computed from `scaled_means` as one for the instance.

    It is rounded up by more than the rounding error in sums of terms that add up to `size`.

    Examples
    --------
    >>> bound_at_own_scale(Instance([[5e-324, 1e-323]]), value=0.3, size=0.3)
    1e-323
    """
    exponent = _exponent(instance)
    above = value + 16 * np.finfo(float).eps * size
    bound = np.ldexp(above, exponent)
    if np.ldexp(bound, -exponent) < above:  # among the smallest numbers, half of what is meant
        bound = np.nextafter(bound, np.inf)
    return float(bound)


def _exponent(instance: Instance) -> int:
    _, exponent = np.frexp(instance.means.max())
    return min(int(exponent), 0)
