"""What to believe of means after some rewards: a posterior over rows that mostly rise or fall."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Prior:
    """What is assumed of a table of means before any reward, and how much optimism is added.

    A row of means starts at its rested level and changes from one delay to the next by steps; see
    `docs/explanation/rotation.md`.

    Attributes
    ----------
    zero_probability
        Probability that a rested arm pays nothing.
    low_mean, low_probability
        Half of the rows that rise have a rested mean below `low_mean` with this probability. They
        stand for small rates, such as those of clicks.
    zero_step_probabilities
        Probabilities that a step down goes to 0, as where an arm is blocked. Half of the rows that
        rise have the first one, half the second.
    early_steps
        Expected number of steps in a row that changes mostly at short delays.
    step_probability
        Probability of a step from each delay to the next in a row that changes anywhere.
    max_step_probability
        Largest probability of a step from one delay to the next.
    leap_probability
        Probability of a jump against the direction of a row that rises or falls.
    mixtures
        Shares of the arms whose means rise with rest, fall, or do neither: one row per mixture.
    mixture_probabilities
        Probability of each mixture.
    optimism
        Odds against an index that is too low, as a multiple of the cube root of the rounds.
    exploration
        More odds against it, as a multiple of the rounds over all cells and the cell's samples, so
        that no cell is given up early.
    """

    zero_probability: float = 0.05
    low_mean: float = 0.06
    low_probability: float = 0.8
    zero_step_probabilities: tuple[float, float] = (0.05, 0.95)
    early_steps: float = 2.5
    step_probability: float = 0.4
    max_step_probability: float = 0.8
    leap_probability: float = 1e-100
    mixtures: tuple[tuple[float, float, float], ...] = (
        (0.96, 0.02, 0.02),
        (0.02, 0.96, 0.02),
        (1 / 3, 1 / 3, 1 / 3),
    )
    mixture_probabilities: tuple[float, ...] = (0.7, 0.1, 0.2)
    optimism: float = 2.0
    exploration: float = 2.0


PRIOR = Prior()
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


def _start(prior: Prior, low: bool) -> FloatArray:
    """Return the probability of each level of a rested arm, with low means likely or not."""
    edges = _levels().edges
    start: FloatArray = np.diff(edges)
    start[0] = 0
    start *= (1 - prior.zero_probability) / start.sum()
    if low:
        below = np.diff(np.minimum(edges, prior.low_mean))
        below[0] = 0
        others = 1 - prior.low_probability / (1 - prior.zero_probability)
        start = others * start + prior.low_probability * below / below.sum()
    start[0] = prior.zero_probability
    return start


@cache
def _lanes(prior: Prior, columns: int) -> tuple[Lanes, Lanes]:
    """Return the priors of rows that rise, and of all others."""
    delays = np.arange(1, max(columns, 2))
    limit, leap = prior.max_step_probability, prior.leap_probability
    anywhere = np.full(len(delays), prior.step_probability)
    one_step = np.full(len(delays), min(limit, 1 / len(delays)))
    early = np.minimum(limit, prior.early_steps / delays / (1 / delays).sum())
    rising = [
        (_start(prior, low), steps[::-1], to_zero, leap)
        for to_zero in prior.zero_step_probabilities
        for steps in (anywhere, early)
        for low in (False, True)
    ]
    to_zero = prior.zero_step_probabilities[0]
    falling = [(_start(prior, False), steps, to_zero, leap) for steps in (one_step, anywhere)]
    free = (_start(prior, False), np.zeros(len(delays)), 0.0, 1.0)
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

    The posterior of an arm is computed once and used until `forget`, which is called when the arm
    has new rewards.

    Parameters
    ----------
    arms, columns
        The shape of the table: number of arms, and of delays that are distinguished.
    prior
        What is assumed before any reward.

    Examples
    --------
    >>> beliefs = Beliefs(arms=1, columns=2)
    >>> counts, sums = np.array([[0.0, 10.0]]), np.array([[0.0, 5.0]])
    >>> beliefs.upper_quantiles(counts, sums, chances=np.full((1, 2), 0.5)).round(2)
    array([[0.39, 0.49]])
    """

    def __init__(self, arms: int, columns: int, prior: Prior = PRIOR) -> None:
        check_cells(arms, columns)
        self.prior = prior
        self.shape = arms, columns
        self._rising, self._others = _lanes(prior, columns)
        rising, others = len(self._rising.vanish), len(self._others.vanish)
        tails = *self.shape, len(_levels().values)
        self._posterior = Posterior(
            np.empty((*tails, rising)),
            np.empty((*tails, others)),
            np.empty((arms, rising + others)),
        )
        self._stale = set(range(arms))

    def forget(self, arms: Iterable[int]) -> None:
        """Compute the posterior of these arms again when it is next needed."""
        self._stale.update(arms)

    def upper_quantiles(
        self, counts: FloatArray, sums: FloatArray, chances: FloatArray
    ) -> FloatArray:
        """Return for each cell the value that its mean exceeds with the given probability."""
        arms = np.array(sorted(self._stale), np.int64)
        believe(counts, sums, arms, _levels(), self._rising, self._others, self._posterior)
        self._stale.clear()
        mixtures = np.array(self.prior.mixtures), np.array(self.prior.mixture_probabilities)
        weights = weigh(self._posterior.evidence, len(self._rising.vanish), *mixtures)
        return upper_quantiles(self._posterior, weights, _levels(), counts, sums, chances)

    def indices(self, counts: FloatArray, sums: FloatArray, rounds: float) -> FloatArray:
        """Return an optimistic value of each cell after a number of rounds.

        The mean exceeds it with probability 1 / (1 + a t^(1/3) + b t / (c (n + 1))) after t rounds,
        n of them in this one of c cells; a is the prior's `optimism` and b its `exploration`.
        """
        rounds = max(rounds, 1)
        odds = self.prior.optimism * math.pow(rounds, 1 / 3)
        odds_by_cell = odds + self.prior.exploration * rounds / (counts.size * (counts + 1))
        return self.upper_quantiles(counts, sums, 1 / (1 + odds_by_cell))
