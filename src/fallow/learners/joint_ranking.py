"""Ranking and cutoff learned together: the open question of the paper's conclusions."""

import math

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray
from fallow.kernels.confidence import upper_bounds
from fallow.learners import restored
from fallow.learners.cell_rewards import Cells, delay_bound
from fallow.learners.checked_learner import CheckedLearner
from fallow.protocol import Block, Outcome


class JointRanking(CheckedLearner):
    """Learns which arms to take in turn, and how many, from nothing and without a horizon.

    Cycling over m arms pulls each of them after m rounds. So rewards are kept by arm and delay,
    where every pull is a sample, each with an upper confidence bound at level `exploration` ln t.
    For each m the best m arms are those with the largest bounds at delay m. The cycle with the
    largest average bound is played until one of its cells has doubled its count, and kept unless
    another one is better by bounds. Ties go to more arms, as pulls at long delays bound those at
    short ones too.

    Its regret is measured against the best cycle over any m arms, which earns at least what ghost
    does. With D = max_delay and exploration=3 it is of order sqrt(k min(k, D + 1) T ln T)
    (docs/explanation/theorems.md has the proof). There are at most k (D + 1)(1 + log2 T) switches:
    each ends an epoch in which one of the k (D + 1) cells got its first sample or doubled its
    count.

    Parameters
    ----------
    arms
        Number of arms, k.
    max_delay
        A bound on all delays, d_i <= max_delay; none where delays do not matter.
    exploration
        Scale of the confidence level. The proof needs 3; 1 learns faster.

    Attributes
    ----------
    cycle
        The arms played last, by number; none before the first block.

    Notes
    -----
    The level and the ties were chosen on `catalog.figure2`, `figure3` and `random_geometric` with
    seed 1000; results in `docs/explanation/benchmarks.md` have seed 1.

    Examples
    --------
    >>> JointRanking(arms=3, max_delay=2).ask()
    Block(arms=(0, 1, 2), plays=2)
    """

    def __init__(self, arms: int, max_delay: int | None, exploration: float = 1.0) -> None:
        self.max_delay = delay_bound(max_delay)
        self._cells = Cells(arms, self.max_delay)
        self.arms = self._cells.arms
        self.exploration = checks.positive("exploration", exploration)
        self.cycle: tuple[int, ...] = ()

    def _check_progress(self) -> None:
        super()._check_progress()
        self._cells.check(self.arms, self.max_delay + 1)
        if self.cycle:
            restored.distinct("progress.cycle", self.cycle, least=0, most=self.arms - 1)

    def _choose(self) -> Block:
        counts = self._cells.counts
        level = self.exploration * math.log(max(self._cells.rounds, 2))
        bounds = upper_bounds(counts, self._cells.sums, level)
        cycles = [_best_cycle(bounds, arms) for arms in range(len(bounds), 0, -1)]
        if self.cycle:
            cycles.insert(0, self.cycle)  # first, so that it wins ties
        cycle = max(cycles, key=lambda arms: float(_cells_of(bounds, arms).mean()))
        # The first play may pull other cells; those after it double the least count.
        return Block(cycle, 1 + max(int(_cells_of(counts, cycle).min()), 1))

    def _learn(self, block: Block, outcome: Outcome) -> None:
        self._cells.credit(block, outcome)
        self.cycle = block.arms


def _cells_of(table: FloatArray, cycle: tuple[int, ...]) -> FloatArray:
    """Return the cells that a cycle pulls from its second play on."""
    delay = min(len(cycle), table.shape[1])
    return table[list(cycle), delay - 1]


def _best_cycle(bounds: FloatArray, arms: int) -> tuple[int, ...]:
    """Return so many arms with the largest bounds, by number: their order does not matter."""
    delay = min(arms, bounds.shape[1])
    ranked = np.argsort(-bounds[:, delay - 1], kind="stable")
    return tuple(sorted(ranked[:arms].tolist()))
