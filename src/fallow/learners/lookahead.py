"""Looking d pulls ahead, the learner of recovering bandits (Pike-Burke and Gruenewaelder 2019)."""

import math

import numpy as np

from fallow import checks
from fallow.kernels.lookahead import best_sequence
from fallow.learners.cell_rewards import delay_bound
from fallow.learners.checked_learner import CheckedLearner
from fallow.protocol import Block, Outcome


class Lookahead(CheckedLearner):
    """dRGP-UCB (Pike-Burke and Gruenewaelder 2019): the best `depth` pulls by upper bounds.

    Each arm's means by delay are a Gaussian process: mean 0, variance 1, and a squared exponential
    kernel. After one pull of each arm, every `depth` rounds it plays the sequence with the largest
    posterior mean + sqrt(2 ln((t + depth - 1)^2 k^depth (D + 1))) posterior standard deviations of
    its total reward. Arms may repeat within a sequence. The search is exact, with the pruning of
    their optimistic planning.

    Parameters
    ----------
    arms
        Number of arms, k.
    max_delay
        A bound on all delays, D, or None if delays do not matter.
    depth
        Pulls planned at once, d. Search takes up to k^d steps.
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
        depth: int = 3,
        length_scale: float = 5.0,
        noise: float = 0.25,
    ) -> None:
        self.arms = checks.whole_number("arms", arms, minimum=1)
        self.max_delay = delay_bound(max_delay)
        self.depth = checks.whole_number("depth", depth, minimum=1)
        self.length_scale = checks.positive("length_scale", length_scale)
        self.noise = checks.positive("noise", noise)
        width = self.max_delay + 1
        checks.table_size(self.arms * width, width)
        steps = np.subtract.outer(np.arange(width), np.arange(width)) / self.length_scale
        self.means = np.zeros((self.arms, width))
        self.covariances = np.tile(np.exp(-(steps**2) / 2), (self.arms, 1, 1))
        self._rounds = 0
        self._last = [-width] * self.arms

    @property
    def scale(self) -> float:
        """Standard deviations that an upper bound adds to the mean."""
        cells = (self._rounds + self.depth) ** 2 * (self.max_delay + 1)
        return math.sqrt(2 * (math.log(cells) + self.depth * math.log(self.arms)))

    def _choose(self) -> Block:
        if self._rounds == 0:
            return Block(tuple(range(self.arms)))
        delays = self._rounds - np.array(self._last)
        pulls = best_sequence(self.means, self.covariances, delays, self.depth, self.scale)
        return Block(tuple(pulls.tolist()))

    def _learn(self, block: Block, outcome: Outcome) -> None:
        for arm, reward in zip(block.arms, outcome.first, strict=True):
            delay = min(self._rounds - self._last[arm], self.max_delay + 1)
            self._observe(arm, delay, float(reward))
            self._last[arm] = self._rounds
            self._rounds += 1

    def _observe(self, arm: int, delay: int, reward: float) -> None:
        """Take a reward into the posterior of an arm."""
        mean, covariance = self.means[arm], self.covariances[arm]
        column = covariance[:, delay - 1].copy()
        gain = column / (column[delay - 1] + self.noise)
        mean += gain * (reward - mean[delay - 1])
        covariance -= np.outer(gain, column)
