"""Means over runs with their 95 % intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray
from fallow.errors import InputError

LEVEL = 0.975
"""The quantile at the upper end of a 95 % interval."""
FREEST = 1e8
"""Degrees of freedom from which on Student's t is normal, to 1e-7 of its quantiles."""


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


@lru_cache(maxsize=4096)
def student_quantile(chance: float, freedom: float) -> float:
    """Return a quantile of Student's t, for any real number of degrees of freedom from 1.

    Exact to 1e-6 of it for chances up to 1 - 1e-6. Newton's method on the chance of a larger t
    starts at the normal quantile. That is too small, and the chance is a convex function, so each
    step brings t closer to the quantile and none goes past it.

    Examples
    --------
    >>> round(student_quantile(0.975, 10), 3), round(student_quantile(0.975, 1.5), 3)
    (2.228, 6.017)
    """
    if chance <= 0.5:
        return -student_quantile(1 - chance, freedom) if chance < 0.5 else 0.0
    tails, step = 2 * (1 - chance), math.inf
    quantile = NormalDist().inv_cdf(chance)
    while step > 1e-10 * quantile:  # beyond that, only rounding is left
        slope = 2 * student_density(quantile, freedom)
        step = (student_tails(quantile, freedom) - tails) / slope
        quantile += step
    return quantile


def student_tails(statistic: float, freedom: float) -> float:
    """Return the chance of this Student's t or one further from 0.

    It is the regularized incomplete beta function I_y(f / 2, 1 / 2) at y = f / (f + t^2), for f
    degrees of freedom (DLMF 8.17). Of its two continued fractions, for y and for 1 - y, the one
    that converges fast is taken.

    Examples
    --------
    >>> round(student_tails(2.228, 10), 3), round(student_tails(8, 1.2), 3)
    (0.05, 0.055)
    """
    freedom = min(freedom, FREEST)
    angle = math.atan2(abs(statistic), math.sqrt(freedom))
    x, y = math.sin(angle) ** 2, math.cos(angle) ** 2
    factor = _gamma_ratio(freedom) * math.sin(angle) * math.pow(math.cos(angle), freedom)
    if x < 3 / (freedom + 5):
        return 1 - 2 * factor / _beta_fraction(0.5, freedom / 2, x)
    return 2 / freedom * factor / _beta_fraction(freedom / 2, 0.5, y)


def student_density(statistic: float, freedom: float) -> float:
    """Return the density of Student's t.

    Examples
    --------
    >>> round(student_density(1, 1) * math.pi, 12)
    0.5
    """
    freedom = min(freedom, FREEST)
    cosine = math.cos(math.atan2(statistic, math.sqrt(freedom)))
    return _gamma_ratio(freedom) / math.sqrt(freedom) * math.pow(cosine, freedom + 1)


def _gamma_ratio(freedom: float) -> float:
    """Return Gamma((f + 1) / 2) / (Gamma(1 / 2) Gamma(f / 2)), 1 over the beta function."""
    log_ratio = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    return math.exp(log_ratio) / math.sqrt(math.pi)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Return 1 + d_1 / (1 + d_2 / (1 + ...)), the continued fraction of DLMF 8.17.22.

    By the method of Lentz (1976), from the first term to the last: each turn multiplies what the
    terms so far come to by a factor, until that is 1.
    """
    fraction = upper = 1.0
    lower = change = 0.0
    term = 0
    while abs(change - 1) > 1e-15:
        term += 1
        half = term // 2
        above = half * (b - half) if term % 2 == 0 else -(a + half) * (a + b + half)
        ratio = above * x / ((a + term - 1) * (a + term))
        lower = 1 / (1 + ratio * lower)
        upper = 1 + ratio / upper
        change = upper * lower
        fraction *= change
    return fraction
