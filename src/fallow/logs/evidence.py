"""What the plays of a log say of each cell, and how sure that is: errors are clustered by user."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.intervals import LEVEL, student_quantile
from fallow.kernels.plays import log_window_weights

if TYPE_CHECKING:
    from fallow.logs.log import Log

MIN_USERS = 10
"""With fewer users, no interval is given."""
MIN_EFFECTIVE_SIZE = 10.0
"""The effective sample size that a cell needs to be relied on."""

NORMAL = student_quantile(LEVEL, 1e9)
"""The half-width of a 95 % interval in standard errors, where there are many."""
TINY = np.finfo(float).tiny
ROUNDING_ERROR = 1e-9
"""Numbers that differ by less are taken as equal."""


class Interval(NamedTuple):
    """An estimate and the ends of its 95 % interval."""

    value: float
    low: float
    high: float

    def __neg__(self) -> Interval:
        return Interval(-self.value, -self.high, -self.low)

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


class CellMeans(NamedTuple):
    """Weighted means by arm and delay, of shape (arms, delays).

    `rows` counts plays, `effective` those that would be as sure with equal weights. `errors` are
    standard errors, infinite below an effective sample size or a number of users of 10. Cells
    without a play have mean and error NaN.
    """

    means: FloatArray
    errors: FloatArray
    rows: FloatArray
    effective: FloatArray


class Evidence:
    """The plays that count: reward known, and all that came within `max_delay` before in the log.

    Were early plays to count whose arm was seen already, short delays would be early ones, and
    whatever changes with time or from user to user would pass for an effect of rest.

    Parameters
    ----------
    log
        The plays.
    weighted
        Whether each counts by one over the chance that its arm came up just then, so that all users
        at all times are heard alike. Needs propensities.
    """

    def __init__(self, log: Log, weighted: bool) -> None:
        self.log = log
        self.shape = len(log.names), log.max_delay + 1
        self.plays = np.flatnonzero(log.whole & ~np.isnan(log.rewards))
        columns = log.delays[self.plays] - 1
        self.cells: IntArray = log.arms[self.plays].astype(np.int64) * self.shape[1] + columns
        self.rewards = log.rewards[self.plays]
        self.users = np.searchsorted(log.starts, self.plays, side="right") - 1
        self.weights = self._weights() if weighted else np.ones(self.plays.size)

    def _weights(self) -> FloatArray:
        """Return weights that are at most 1 in each cell, where only their ratios matter."""
        log = self.log
        assert log.propensity is not None
        logarithms = log_window_weights(
            log.starts,
            log.arms,
            log.delays,
            log.gaps,
            log.windows,
            log.max_delay + 1,
            log.propensity,
            all_propensities(log),
            log.shares,
        )[self.plays]
        largest = np.full(math.prod(self.shape), -np.inf)
        np.maximum.at(largest, self.cells, logarithms)
        weights: FloatArray = np.exp(logarithms - largest[self.cells])
        return weights

    def total(self, values: FloatArray) -> FloatArray:
        """Return the sum of values by cell, of shape (arms, delays)."""
        size = self.shape[0] * self.shape[1]
        return sums_by(self.cells, values, size).reshape(self.shape)

    def means(self) -> CellMeans:
        """Return the weighted mean of each cell."""
        weight = self.total(self.weights)
        heard = np.where(weight > 0, weight, np.nan)
        means = self.total(self.weights * self.rewards) / heard
        scores = self.weights * (self.rewards - means.ravel()[self.cells])
        # Plays of one user in one cell are added up before they are squared.
        pairs, pair_of_play = np.unique(self.users * weight.size + self.cells, return_inverse=True)
        squares = sums_by(pair_of_play, scores, pairs.size) ** 2
        spread = sums_by(pairs % weight.size, squares, weight.size).reshape(self.shape)
        users = np.bincount(pairs % weight.size, minlength=weight.size).reshape(self.shape)
        errors = np.sqrt(spread * users / np.maximum(users - 1, 1)) / heard
        effective = weight**2 / np.maximum(self.total(self.weights**2), TINY)
        alike = (means == 0) | (means == 1)  # as if one play of two had paid otherwise
        errors[alike] = np.sqrt(effective[alike] + 1) / (effective[alike] + 2) ** 1.5
        errors[((effective < MIN_EFFECTIVE_SIZE) | (users < MIN_USERS)) & (weight > 0)] = np.inf
        return CellMeans(means, errors, self.total(np.ones(self.plays.size)), effective)

    def effective_weights(self) -> FloatArray:
        """Return weights that add up to the effective sample size in each cell."""
        scale = self.total(self.weights) / np.maximum(self.total(self.weights**2), TINY)
        return self.weights * scale.ravel()[self.cells]

    def average(self, shares: FloatArray) -> tuple[float, FloatArray]:
        """Return a weighted average of the cells' means, and how far each user moves it."""
        used = shares.ravel()[self.cells] != 0
        cells, weights, rewards = self.cells[used], self.weights[used], self.rewards[used]
        size = shares.size
        weight = sums_by(cells, weights, size)
        means = sums_by(cells, weights * rewards, size) / np.where(weight > 0, weight, 1)
        scale = shares.ravel() / np.where(weight > 0, weight, 1)
        scores = weights * (rewards - means[cells]) * scale[cells]
        influences = sums_by(self.users[used], scores, self.log.users)
        return float(shares.ravel() @ means), influences


def sums_by(groups: IntArray, values: FloatArray, count: int) -> FloatArray:
    """Return the sum of the values of each group."""
    return np.bincount(groups, values, count).astype(np.float64, copy=False)


def all_propensities(log: Log) -> FloatArray:
    """Return the propensities of all arms by play, no rows where only the chosen arm's is known."""
    return np.empty((0, 0)) if log.propensities is None else log.propensities


class StandardError(NamedTuple):
    """The standard error of an estimate, and the degrees of freedom of Student's t for it."""

    size: float
    freedom: float


def standard_error(influences: FloatArray) -> StandardError:
    """Return the error of an estimate that each user moves so far.

    Where few users move it much, their squares vary much, and there is less freedom
    (Satterthwaite 1946).
    """
    users = int(np.count_nonzero(influences))
    if users < 2:
        return StandardError(math.inf, 1)
    squares = influences**2
    total = float(squares.sum())
    freedom = min(users - 1, 2 * total**2 / float(squares @ squares))
    return StandardError(math.sqrt(total * users / (users - 1)), max(freedom, 1))


def interval_of(value: float, influences: FloatArray, luck: float = 0.0) -> Interval:
    """Return the 95 % interval of an estimate that each user moves so far, Student's.

    `luck` is what it varies by beside users, as a variance.
    """
    error = standard_error(influences)
    half_width = student_quantile(LEVEL, error.freedom) * math.sqrt(error.size**2 + luck)
    return Interval(value, value - half_width, value + half_width)


def what_is_missing(log: Log) -> str:
    """Say what keeps chance from telling anything about the log, or nothing."""
    if log.users < MIN_USERS:
        return f"at least {MIN_USERS} users; the log has {log.users}"
    evidence = log.evidence(weighted=False)
    if not evidence.plays.size:
        return "users with more plays, or a shorter max_delay: no play has all that came before it"
    if np.ptp(evidence.rewards) < ROUNDING_ERROR:
        return f"rewards that differ; all are {evidence.rewards[0]:g}"
    if log.propensity is None:
        return "the propensities with which arms were chosen, or that choice is declared random"
    certain = int(np.count_nonzero(log.propensity == 1))
    if certain:
        return f"plays that were left to chance; {certain:,} had propensity 1"
    return ""
