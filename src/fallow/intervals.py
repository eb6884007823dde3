"""Means over runs with their 95 % intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray
from fallow.errors import InputError

LEVEL = 0.975
"""The quantile at the upper end of a 95 % interval."""


class Estimate(NamedTuple):
    """Means over runs with their 95 % intervals: mean - half_width to mean + half_width."""

    mean: FloatArray
    half_width: FloatArray

    def at(self, place: int) -> Estimate:
        """Return the estimate at a place of its axis, such as -1 for the last round."""
        return Estimate(self.mean[place], self.half_width[place])

    def __format__(self, form: str) -> str:
        return format_estimate(float(self.mean), float(self.half_width), form)


@dataclass(frozen=True, eq=False)
class Moments:
    """How many values there were, their mean, and their squared deviations from it added up.

    Those of two samples merge to those of both together (Chan, Golub and LeVeque 1979).

    Examples
    --------
    >>> parts = np.array([1.0, 2.0]), np.array([6.0])
    >>> whole = moments(parts[0]).merge(moments(parts[1]))
    >>> print(whole.count, whole.mean, whole.squares)
    3 3.0 14.0
    """

    count: int
    mean: FloatArray
    squares: FloatArray

    def merge(self, other: Moments) -> Moments:
        """Return the moments of both samples together."""
        count = self.count + other.count
        if self.count == 0 or other.count == 0:
            return max(self, other, key=lambda each: each.count)
        step = other.mean - self.mean
        return Moments(
            count,
            self.mean + step * (other.count / count),
            self.squares + other.squares + step**2 * (self.count * other.count / count),
        )

    def estimate(self) -> Estimate:
        """Return the mean and the half-width of its 95 % interval, Student's."""
        if self.count < 2:
            return Estimate(self.mean, np.full_like(self.mean, np.nan))
        deviation = np.sqrt(self.squares / (self.count - 1))
        quantile = student_quantile(LEVEL, self.count - 1)
        return Estimate(self.mean, quantile * deviation / math.sqrt(self.count))


def format_estimate(mean: float, half_width: float, form: str = "") -> str:
    """Return a mean with its 95 % interval, which a single run does not have.

    Examples
    --------
    >>> format_estimate(1234.56, 7.89), format_estimate(0.5, math.nan, ".1%")
    ('1,235 ± 8', '50.0%')
    """
    form = form or (",.0f" if abs(mean) >= 100 else ".1f")
    return f"{mean:{form}}" + ("" if math.isnan(half_width) else f" ± {half_width:{form}}")


def moments(values: FloatArray) -> Moments:
    """Return the moments of values along the first axis."""
    if len(values) == 0:
        return Moments(0, np.full(values.shape[1:], np.nan), np.zeros(values.shape[1:]))
    mean = values.mean(axis=0)
    return Moments(len(values), mean, ((values - mean) ** 2).sum(axis=0))


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
    try:
        array = np.asarray(values)
    except (ValueError, MemoryError):  # rows of different lengths, or a range without end
        array = np.array(None)
    if array.ndim == 0 or array.size == 0 or array.dtype.kind not in "iuf":
        rule = "numbers, one or an equally long row for each run, at least one"
        raise InputError("values", f"must be {rule}", checks.short(values))
    return moments(array).estimate()


def student_quantile(chance: float, freedom: float) -> float:
    """Return a quantile of Student's t (expansion: Abramowitz and Stegun 26.7.5).

    Examples
    --------
    >>> round(student_quantile(0.975, 10), 3)
    2.228
    """
    few = {1: 12.7062, 2: 4.30265, 3: 3.18245}
    if chance == LEVEL and freedom in few:
        return few[int(freedom)]
    z = NormalDist().inv_cdf(chance)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return math.fsum(term / freedom**power for power, term in enumerate(terms))


def student_tails(statistic: float, freedom: float) -> float:
    """Return the chance of such a Student's t or one further from 0 (Wallace 1959).

    Examples
    --------
    >>> round(student_tails(2.228, 10), 3)
    0.05
    """
    z = math.sqrt(freedom * math.log1p(statistic**2 / freedom))
    return 2 * NormalDist().cdf(-z * (8 * freedom + 1) / (8 * freedom + 3))
