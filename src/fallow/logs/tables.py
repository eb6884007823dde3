"""Means from counts and sums by cell: each cell's own, drawn towards a shape that arms share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fallow.arrays import BoolArray, FloatArray
from fallow.kernels.isotone import isotone
from fallow.logs.evidence import Evidence, sums_by

FOLDS = 3
"""Parts of the users, each of which judges what was fitted on the others."""
TRUSTS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 1e4)
"""How many plays the shape that all arms share may be worth, in each cell."""
GROUPS = 50
"""Groups of users that are drawn again for the intervals of recovery."""
MIN_LOSS_DIFFERENCE = 4.0
"""Loss by which the other direction must win in cross-validation, in squared rewards."""
STEPS = 12
"""How often levels and shape are fitted in turn; after that they hardly change."""
EMPTY_WEIGHT = 1e-9
"""The weight of a cell without a play."""


@dataclass(frozen=True, eq=False)
class Tables:
    """Counts and sums of rewards by group of users, arm and delay, and how to make means of them.

    Where plays have weights, a count is the effective sample size. `trust` is how many plays of a
    cell the shared shape is worth.
    """

    counts: FloatArray
    sums: FloatArray
    trust: float
    falls: BoolArray

    @classmethod
    def of(cls, evidence: Evidence) -> Tables:
        """Sort users into groups at random, and choose what predicts those left out best."""
        users = evidence.log.users
        groups = np.random.default_rng(0).permutation(users) % GROUPS
        weights = evidence.effective_weights()
        cells = groups[evidence.users] * math.prod(evidence.shape) + evidence.cells
        shape = GROUPS, *evidence.shape
        counts, sums = (
            sums_by(cells, values, math.prod(shape)).reshape(shape)
            for values in (weights, weights * evidence.rewards)
        )
        return cls(counts, sums, *choose(counts, sums))

    def means(self) -> FloatArray:
        """Return the fitted means."""
        return fitted(self.counts.sum(axis=0), self.sums.sum(axis=0), self.trust, self.falls)

    def redrawn(self, times: int) -> FloatArray:
        """Return the fitted means of groups that are drawn again, so many times."""
        draw = np.random.default_rng(0)
        tables = []
        for _ in range(times):
            often = np.bincount(draw.integers(0, GROUPS, GROUPS), minlength=GROUPS)
            counts, sums = (np.tensordot(often, each, 1) for each in (self.counts, self.sums))
            tables.append(fitted(counts, sums, self.trust, self.falls))
        return np.array(tables)


def choose(counts: FloatArray, sums: FloatArray) -> tuple[float, BoolArray]:
    """Return the trust in the shared shape, and each arm's direction, that predict others best.

    Arms have one direction together, but for those that clearly go the other way.
    """
    arms = counts.shape[1]
    losses = np.zeros((2, len(TRUSTS), arms))
    for fold in range(FOLDS):
        held_out = np.arange(GROUPS) % FOLDS == fold
        count, total = counts[~held_out].sum(axis=0), sums[~held_out].sum(axis=0)
        unseen, earned = counts[held_out].sum(axis=0), sums[held_out].sum(axis=0)
        for falls in (False, True):
            shape = _shared(count, total, falls)
            for index, trust in enumerate(TRUSTS):
                means = _drawn_to(shape, count, total, trust, falls)
                lost = unseen * means**2 - 2 * means * earned
                losses[int(falls), index] += lost.sum(axis=1)
    best, index = divmod(int(losses.sum(axis=2).argmin()), len(TRUSTS))
    other_way = losses[1 - best, 0] < losses[best, index] - MIN_LOSS_DIFFERENCE
    return TRUSTS[index], other_way != bool(best)


def fitted(counts: FloatArray, sums: FloatArray, trust: float, falls: BoolArray) -> FloatArray:
    """Return means that rise or fall by row; arms that go the same way share a shape."""
    means = np.empty_like(counts)
    for direction in (False, True):
        arms = falls == direction
        if arms.any():
            own = counts[arms], sums[arms]
            means[arms] = _drawn_to(_shared(*own, direction), *own, trust, direction)
    return means


def _drawn_to(
    shape: FloatArray, counts: FloatArray, sums: FloatArray, trust: float, falls: bool
) -> FloatArray:
    """Return monotone rows: each cell's average, with the shape as so many more plays."""
    weights = counts + trust
    return _monotone((sums + trust * shape) / weights, weights, falls)


def _shared(counts: FloatArray, sums: FloatArray, falls: bool) -> FloatArray:
    """Return means that are a level of the arm's own times a shape that all arms share."""
    overall = sums.sum() / max(counts.sum(), 1)  # a part of few users may have no play
    shape = np.ones(counts.shape[1])
    levels = np.empty(0)
    for _ in range(STEPS):
        # An arm counts as if it had one average play more.
        levels = (sums.sum(axis=1) + overall) / (counts @ shape + 1)
        expected = levels @ counts
        ratios = np.divide(sums.sum(axis=0), expected, out=np.ones_like(shape), where=expected > 0)
        shape = _monotone(
            ratios[np.newaxis], np.maximum(expected, EMPTY_WEIGHT)[np.newaxis], falls
        )[0]
        shape /= shape.max() or 1.0
    return np.minimum(levels[:, np.newaxis] * shape, 1)


def _monotone(values: FloatArray, weights: FloatArray, falls: bool) -> FloatArray:
    if falls:
        return isotone(values[:, ::-1].copy(), weights[:, ::-1].copy())[:, ::-1]
    return isotone(values, weights)
