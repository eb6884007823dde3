"""IMED-KD, a learner for known dynamics and unknown rewards (Saber et al. 2023)."""

import numpy as np

from fallow.instance import Instance
from fallow.kernels.imed import least_index
from fallow.learners import restored
from fallow.learners.cell_rewards import Cells, delay_bound
from fallow.learners.checked_learner import FixedLearner
from fallow.learners.online import plan_online
from fallow.learners.sampling import check_pulls, sampling_cycles
from fallow.protocol import Block, Outcome

SAMPLES = 2
"""Of each cell before anything is compared."""


class ImedKD(FixedLearner):
    """IMED-KD (Saber, Pesquerel, Maillard and Talebi 2023): the policy of least index.

    Indexed minimum empirical divergence, for Markov decision processes whose dynamics are known. A
    policy of gain g, whose rarest state and action had N visits, has the index
    2 N (g* - g)^2 + ln N, where g* is the largest gain by the averages. An episode plays the policy
    of least index until all its recurrent states were visited.

    As in the authors' code: two visits of everything at first, averages as if each had one more
    reward of 0, the divergence of normal distributions with variance 1/4, and as candidates the
    best policy and those that differ from it at one state. Adapted: states are delay vectors, so a
    policy is the cycle that it ends in, and one that differs at one state is a cycle with one pull
    replaced, added or left out; visits are counted by cells, as a cell pays the same in every
    state; the best cycle is `Rotation`'s planner's. Left out: ten random policies in each episode.

    The regret of the published algorithm is logarithmic; nothing is proved of this one.

    Parameters
    ----------
    arms
        Number of arms, k.
    max_delay
        A bound on all delays, D, or None if delays do not matter.

    Examples
    --------
    >>> ImedKD(arms=3, max_delay=2).ask()
    Block(arms=(0,), plays=3)
    """

    def __init__(self, arms: int, max_delay: int | None) -> None:
        self.max_delay = delay_bound(max_delay)
        self._cells = Cells(arms, self.max_delay)
        self.arms = self._cells.arms
        check_pulls(self.arms, self.max_delay)
        self._explored = 0

    def _check_progress(self) -> None:
        super()._check_progress()
        self._cells.check(self.arms, self.max_delay + 1)
        cycles = len(sampling_cycles(self.arms, self.max_delay))
        restored.whole_number("progress._explored", self._explored, 0, cycles)

    def _choose(self) -> Block:
        cycles = sampling_cycles(self.arms, self.max_delay)
        if self._explored < len(cycles):
            return Block(cycles[self._explored], 1 + SAMPLES)
        counts = self._cells.counts
        averages = np.clip(self._cells.sums / (counts + 1), 0, 1)
        best = np.array(plan_online(Instance(averages), self._cells.rounds).cycle)
        cycle = least_index(averages, counts, best)
        # The first play leads to the cycle, the second one visits all of it.
        return Block(tuple(cycle.tolist()), 2)

    def _learn(self, block: Block, outcome: Outcome) -> None:
        self._cells.credit(block, outcome)
        cycles = sampling_cycles(self.arms, self.max_delay)
        self._explored = min(self._explored + 1, len(cycles))
