"""ISI-CombUCB1, the learner of last-switch dependent bandits (Laforgue et al. 2022)."""

import math

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray
from fallow.kernels.blocks import best_block
from fallow.learners import restored
from fallow.learners.cell_rewards import delay_bound
from fallow.learners.checked_learner import FixedLearner
from fallow.protocol import Block, Outcome

MAX_NODES = 2000
"""Steps of the search for a block; short blocks of few arms need fewer, and are then optimal."""


class ISICombUCB1(FixedLearner):
    """ISI-CombUCB1 (Laforgue, Clerici, Cesa-Bianchi and Gilad-Bachrach 2022).

    Combinatorial UCB over blocks of d + 1 pulls. An arm's first pull in a block only sets its
    delay: it scores nothing and is not averaged, so blocks do not depend on each other. A repeated
    pull scores the average of its arm and delay + sqrt(c ln t / n), and much more if it is untried.
    The block with the largest score is played.

    Published for payoffs that depend on the last switch; here only the rounds since the last pull
    matter. The published solver rounds a linear program arm by arm; here branch and bound finds the
    best block, or a good one where that takes too long.

    Parameters
    ----------
    arms
        Number of arms, k.
    max_delay
        A bound on all delays, or None if delays do not matter.
    block
        Pulls in a block, d + 1 as published. By default 3 (max_delay + 2): in d = max_delay + 1
        rounds an arm can be pulled rested just once, and most pulls of so short a block are first
        ones.
    exploration
        Scale of the bonus, c: 1.5 as published, a hundredth of that learns faster.

    Examples
    --------
    >>> ISICombUCB1(arms=2, max_delay=1, block=4).ask()
    Block(arms=(0, 0, 0, 0), plays=1)
    """

    def __init__(
        self,
        arms: int,
        max_delay: int | None,
        block: int | None = None,
        exploration: float = 1.5,
    ) -> None:
        self.arms = checks.arms(arms)
        self.max_delay = delay_bound(max_delay)
        if block is None:
            block = 3 * (self.max_delay + 2)
        self.block = checks.whole_number("block", block, minimum=2)
        checks.table_size(self.arms, (self.block + 1) ** 2)
        self.exploration = checks.positive("exploration", exploration)
        width = min(self.block, self.max_delay + 2) - 1
        self._counts = np.zeros((self.arms, width))
        self._sums = np.zeros((self.arms, width))
        self._rounds = 0

    def _check_progress(self) -> None:
        super()._check_progress()
        width = min(self.block, self.max_delay + 2) - 1
        restored.rewards("progress._", self._counts, self._sums, (self.arms, width))
        restored.whole_number("progress._rounds", self._rounds, least=0)
        if self._pending is not None:
            restored.equal("progress._pending.plays", self._pending.plays, 1)

    def _choose(self) -> Block:
        return Block(tuple(best_block(self._scores(), self.block, MAX_NODES).tolist()))

    def _scores(self) -> FloatArray:
        """Return the upper confidence bound of each repeated pull by arm and delay."""
        untried = self.block * math.sqrt(1.5 * math.log(self.arms * self.block))
        tried = np.maximum(self._counts, 1)
        bonus = np.sqrt(self.exploration * math.log(max(self._rounds, 1)) / tried)
        return np.where(self._counts > 0, self._sums / tried + bonus, untried)

    def _learn(self, block: Block, outcome: Outcome) -> None:
        width = self._counts.shape[1]
        last: dict[int, int] = {}
        for now, (arm, reward) in enumerate(zip(block.arms, outcome.first, strict=True)):
            if arm in last:
                cell = arm, min(now - last[arm], width) - 1
                self._counts[cell] += 1
                self._sums[cell] += float(reward)
            last[arm] = now
        self._rounds += block.pulls
