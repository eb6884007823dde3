"""Looking d pulls ahead, the learner of recovering bandits (Pike-Burke and Gruenewaelder 2019)."""

import math

import numpy as np

from fallow import checks
from fallow.arrays import IntArray
from fallow.errors import InputError
from fallow.kernels.lookahead import best_sequence, draw
from fallow.learners import restored
from fallow.learners.cell_rewards import delay_bound
from fallow.learners.checked_learner import FixedLearner
from fallow.protocol import Block, Outcome, own_generator

MAX_DEPTH = 24
QUICK = 10_000
"""Sequences of pulls up to which three are planned at once if nothing else is asked for."""
MAX_SEQUENCES = 2**24
"""Sequences of pulls that a search may have to look at, about a second's work."""
MAX_COVARIANCES = 2**24
"""Arms x delays x delays, 128 MiB of memory."""
LEAST = 1e-6
"""Of the noise, so that rounding does not take over, and of the length scale."""


class Lookahead(FixedLearner):
    """dRGP-UCB (Pike-Burke and Gruenewaelder 2019): the best `depth` pulls by upper bounds.

    Each arm's means by delay are a Gaussian process: mean 0, variance 1, and a squared exponential
    kernel. After one pull of each arm, every `depth` rounds it plays the sequence with the largest
    mean + sqrt(2 ln((t + depth - 1)^2 k^depth (D + 1))) standard deviations of its total reward,
    noise included, as in the authors' code. Arms may repeat within a sequence. The search is exact,
    with the pruning of their optimistic planning.

    Parameters
    ----------
    arms
        Number of arms, k.
    max_delay
        A bound on all delays, D, or None if delays do not matter.
    depth
        Pulls planned at once, d. Search takes up to k^d steps, so it is 3 by default for up to 21
        arms, and 1 for more.
    length_scale
        Of the kernel, in rounds; the published experiments try 2.5, 5 and 7.5.
    noise
        Variance of a reward about its mean: at most 0.25 for rewards in [0, 1], the default. The
        published experiments have 0.01, and know it.

    Examples
    --------
    >>> Lookahead(arms=3, max_delay=2).ask()
    Block(arms=(0, 1, 2), plays=1)
    """

    def __init__(
        self,
        arms: int,
        max_delay: int | None,
        depth: int | None = None,
        length_scale: float = 5.0,
        noise: float = 0.25,
    ) -> None:
        self.arms = checks.arms(arms)
        self.max_delay = delay_bound(max_delay)
        if depth is None:
            depth = 3 if self.arms**3 <= QUICK else 1
        self.depth = checks.whole_number("depth", depth, minimum=1, maximum=MAX_DEPTH)
        if self.arms**self.depth > MAX_SEQUENCES:
            raise InputError(
                "depth",
                f"must leave at most {MAX_SEQUENCES:,} sequences of arms",
                f"{self.depth} for {self.arms:,} arms; look less far ahead",
            )
        self.length_scale = checks.number("length_scale", length_scale, minimum=LEAST)
        self.noise = checks.number("noise", noise, minimum=LEAST)
        width = self.max_delay + 1
        if self.arms * width**2 > MAX_COVARIANCES:
            raise InputError(
                "max_delay",
                f"must leave at most {MAX_COVARIANCES:,} covariances of delays",
                f"{checks.count(self.max_delay)} for {self.arms:,} arms; give a shorter one",
            )
        steps = np.subtract.outer(np.arange(width), np.arange(width)) / self.length_scale
        self._means = np.zeros((self.arms, width))
        self._covariances = np.tile(np.exp(-(steps**2) / 2), (self.arms, 1, 1))
        self._rounds = 0
        self._last = [-width] * self.arms

    def _check_progress(self) -> None:
        super()._check_progress()
        arms, width = self.arms, self.max_delay + 1
        restored.whole_number("progress._rounds", self._rounds, least=0)
        restored.last_pulls("progress._last", self._last, arms, width, self._rounds)
        restored.numbers("progress._means", self._means, (arms, width), -1e9, 1e9)
        shape = (arms, width, width)
        restored.numbers("progress._covariances", self._covariances, shape, -1 - LEAST, 1 + LEAST)
        if self._pending is not None:
            restored.equal("progress._pending.plays", self._pending.plays, 1)

    @property
    def scale(self) -> float:
        """Standard deviations that an upper bound adds to the mean."""
        cells = (self._rounds + self.depth) ** 2 * (self.max_delay + 1)
        return math.sqrt(2 * (math.log(cells) + self.depth * math.log(self.arms)))

    def _choose(self) -> Block:
        if self._rounds == 0:
            return Block(tuple(range(self.arms)))
        return Block(tuple(self._best_sequence(self._rounds - np.array(self._last)).tolist()))

    def _best_sequence(self, delays: IntArray) -> IntArray:
        """Return the pulls that promise most, of arms that were last pulled so long ago."""
        return best_sequence(
            self._means, self._covariances, self.noise, delays, self.depth, self.scale
        )

    def _learn(self, block: Block, outcome: Outcome) -> None:
        for arm, reward in zip(block.arms, outcome.first, strict=True):
            delay = min(self._rounds - self._last[arm], self.max_delay + 1)
            self._observe(arm, delay, float(reward))
            self._last[arm] = self._rounds
            self._rounds += 1

    def _observe(self, arm: int, delay: int, reward: float) -> None:
        """Take a reward into the posterior of an arm."""
        mean, covariance = self._means[arm], self._covariances[arm]
        column = covariance[:, delay - 1].copy()
        gain = column / (max(column[delay - 1], 0.0) + self.noise)
        mean += gain * (reward - mean[delay - 1])
        covariance -= np.outer(gain, column)


class LookaheadThompson(Lookahead):
    """dRGP-TS (Pike-Burke and Gruenewaelder 2019): the best `depth` pulls by a posterior draw.

    As `Lookahead`, but the sequence is the best for means that are drawn from the posterior, at the
    delays that it could meet.

    Parameters
    ----------
    arms, max_delay, depth, length_scale, noise
        As of `Lookahead`.
    seed
        Of the draws.

    Examples
    --------
    >>> LookaheadThompson(arms=3, max_delay=2, seed=1).ask()
    Block(arms=(0, 1, 2), plays=1)
    """

    def __init__(
        self,
        arms: int,
        max_delay: int | None,
        depth: int | None = None,
        length_scale: float = 5.0,
        noise: float = 0.25,
        seed: int = 0,
    ) -> None:
        super().__init__(arms, max_delay, depth, length_scale, noise)
        self.seed = checks.seed("seed", seed)
        self.generator = own_generator(self.seed)

    def _best_sequence(self, delays: IntArray) -> IntArray:
        waiting = delays[:, None] + np.arange(self.depth)
        repeated = np.broadcast_to(np.arange(1, self.depth), (self.arms, self.depth - 1))
        cells = np.minimum(np.hstack([waiting, repeated]), self.max_delay + 1) - 1
        normals = self.generator.standard_normal(cells.shape)
        drawn = draw(self._means, self._covariances, cells, normals)
        return best_sequence(drawn, self._covariances, 0.0, delays, self.depth, scale=0.0)
