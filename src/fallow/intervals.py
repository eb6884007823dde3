"""Means over runs with their 95 % intervals."""

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from fallow.arrays import FloatArray


class Estimate(NamedTuple):
    """Means over runs with their 95 % intervals: mean - half_width to mean + half_width."""

    mean: FloatArray
    half_width: FloatArray


def estimate(values: FloatArray) -> Estimate:
    """Return the mean over runs (the first axis) and the half-width of its 95 % interval.

    Student's interval; not a number for a single run. For two learners on the same runs, pass the
    difference.

    Examples
    --------
    >>> mean, half_width = estimate(np.array([1.0, 2.0, 3.0]))
    >>> print(f"{mean:.2f} +- {half_width:.2f}")
    2.00 +- 2.48
    """
    runs = len(values)
    mean = values.mean(axis=0)
    if runs == 1:
        return Estimate(mean, np.full_like(mean, np.nan))
    return Estimate(
        mean, _student_quantile(runs - 1) * values.std(axis=0, ddof=1) / math.sqrt(runs)
    )


def _student_quantile(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t (expansion: Abramowitz and Stegun 26.7.5)."""
    few = {1: 12.7062, 2: 4.30265, 3: 3.18245}
    if freedom in few:
        return few[freedom]
    z = NormalDist().inv_cdf(0.975)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return math.fsum(term / freedom**power for power, term in enumerate(terms))
