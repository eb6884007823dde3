"""What to believe of means after some rewards: a posterior over rows that mostly rise or fall."""

import math
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray
from fallow.errors import InputError
from fallow.kernels.rows import Lanes, Levels, Posterior, believe, upper_quantiles, weigh

ANGLES = 32
"""Levels that are evenly spaced in the angle of a mean's square root, as its errors are."""
LOW_LEVELS = (0.0005, 0.0015, 0.005, 0.0075, 0.015)
"""More levels for small rates."""
NOTHING = 0.05
"""Prior chance that a rested arm pays nothing."""
SCALES = (1.0, 0.06)
"""Means below the second one are likely under one half of the priors of rows that rise."""
LOW = 0.8
"""How likely they are there."""
VANISH = (0.05, 0.95)
"""Prior chances that a step down goes to 0, as where an arm is blocked."""
JUMPS, MANY_JUMPS = 2.5, 0.4
"""Steps down that a row has: mostly at short delays, or so many by delay anywhere."""
MOST = 0.8
"""Largest prior chance of a step from one delay to the next."""
HARDLY = 1e-100
"""Prior chance that a row which rises or falls does not."""
MIXTURES = np.array([[0.96, 0.02, 0.02], [0.02, 0.96, 0.02], [1 / 3, 1 / 3, 1 / 3]])
"""Shares of the arms whose means rise with rest, fall, or do neither."""
PRIOR = np.array([0.7, 0.1, 0.2])
"""Of the mixtures."""
OPTIMISM = 2.0
"""Times the cube root of t, odds against an index that is too low."""
CURIOSITY = 2.0
"""Times t over all cells and a cell's samples, more odds against it: no cell is given up early."""
MAX_CELLS = 2**19
"""Cells up to which a posterior takes less than two gigabytes."""


def check_cells(arms: int, columns: int) -> None:
    """Check that a posterior of this size can be held."""
    if arms * columns > MAX_CELLS:
        raise InputError(
            "arms x delays",
            f"must be at most {MAX_CELLS:,} cells",
            f"{checks.count(arms)} x {checks.count(columns)}; give a shorter max_delay, drop "
            "arms, or use Rotation",
        )


@cache
def _levels() -> Levels:
    even = np.sin(np.linspace(0, np.pi / 2, ANGLES)) ** 2
    values = np.unique([*even[:-1], *LOW_LEVELS, 1.0])
    edges = np.concatenate([[0.0], (values[1:] + values[:-1]) / 2, [1.0]])
    return Levels(values, edges)


def _start(scale: float) -> FloatArray:
    """Return the chance of each level of a rested arm."""
    edges = _levels().edges
    start: FloatArray = np.diff(edges)
    start[0] = 0
    start *= (1 - NOTHING) / start.sum()
    if scale < 1:
        low = np.diff(np.minimum(edges, scale))
        low[0] = 0
        start = (1 - LOW / (1 - NOTHING)) * start + LOW * low / low.sum()
    start[0] = NOTHING
    return start


@cache
def _lanes(columns: int) -> tuple[Lanes, Lanes]:
    """Return the priors of rows that rise, and of all others."""
    delays = np.arange(1, max(columns, 2))
    flat = np.full(len(delays), MANY_JUMPS)
    flat_few = np.full(len(delays), min(MOST, 1 / len(delays)))
    early = np.minimum(MOST, JUMPS / delays / (1 / delays).sum())
    rising = [
        (_start(scale), steps[::-1], vanish, HARDLY)
        for vanish in VANISH
        for steps in (flat, early)
        for scale in SCALES
    ]
    falling = [(_start(1.0), steps, VANISH[0], HARDLY) for steps in (flat_few, flat)]
    free = (_start(1.0), np.zeros(len(delays)), 0.0, 1.0)
    return _side_by_side(rising), _side_by_side([*falling, free])


def _side_by_side(priors: Sequence[tuple[FloatArray, FloatArray, float, float]]) -> Lanes:
    start, steps, vanish, leaps = (
        np.ascontiguousarray(np.array(each).T) for each in zip(*priors, strict=True)
    )
    inverse = np.zeros_like(start)
    inverse[2:] = 1 / np.cumsum(start[1:-1], axis=0)
    return Lanes(start, inverse, steps, vanish, leaps)


class Beliefs:
    """The posterior of all means, by arm and delay.

    What is believed of an arm is kept until it is to be forgotten, since its rewards have changed.

    Examples
    --------
    >>> beliefs = Beliefs(arms=1, columns=2)
    >>> counts, sums = np.array([[0.0, 10.0]]), np.array([[0.0, 5.0]])
    >>> beliefs.upper_quantiles(counts, sums, chances=np.full((1, 2), 0.5)).round(2)
    array([[0.39, 0.49]])
    """

    def __init__(self, arms: int, columns: int) -> None:
        check_cells(arms, columns)
        self.shape = arms, columns
        self._rising, self._others = _lanes(columns)
        rising, others = len(self._rising.vanish), len(self._others.vanish)
        tails = *self.shape, len(_levels().values)
        self._posterior = Posterior(
            np.empty((*tails, rising)),
            np.empty((*tails, others)),
            np.empty((arms, rising + others)),
        )
        self._stale = set(range(arms))

    def forget(self, arms: Iterable[int]) -> None:
        """Compute anew what to believe of these arms when it is next asked for."""
        self._stale.update(arms)

    def upper_quantiles(
        self, counts: FloatArray, sums: FloatArray, chances: FloatArray
    ) -> FloatArray:
        """Return for each cell the mean that is exceeded with its chance."""
        arms = np.array(sorted(self._stale), np.int64)
        believe(counts, sums, arms, _levels(), self._rising, self._others, self._posterior)
        self._stale.clear()
        weights = weigh(self._posterior.evidence, len(self._rising.vanish), MIXTURES, PRIOR)
        return upper_quantiles(self._posterior, weights, _levels(), counts, sums, chances)

    def indices(self, counts: FloatArray, sums: FloatArray, rounds: float) -> FloatArray:
        """Return for each cell what it may well pay, after so many rounds.

        It is exceeded with a chance of 1 / (1 + 2 t^(1/3) + 2 t / (c (n + 1))), after t rounds, n
        of them in this one of c cells.
        """
        rounds = max(rounds, 1)
        odds = OPTIMISM * math.pow(rounds, 1 / 3)
        odds_by_cell = odds + CURIOSITY * rounds / (counts.size * (counts + 1))
        return self.upper_quantiles(counts, sums, 1 / (1 + odds_by_cell))
