"""Sample every arm at every delay, then commit to a schedule (Papadigenopoulos et al. 2022)."""

import math

import numpy as np

from fallow import checks
from fallow.instance import Instance
from fallow.kernels.isotone import isotone
from fallow.learners import restored
from fallow.learners.cell_rewards import Cells, delay_bound
from fallow.learners.checked_learner import CheckedLearner
from fallow.learners.interleaved import interleaved
from fallow.learners.sampling import check_pulls, sampling_cycles
from fallow.planners.cycle import gain
from fallow.protocol import Block, Outcome, own_generator

ROUNDINGS = 100
"""Cycles that are drawn; the best one is played."""


class ExploreThenCommit(CheckedLearner):
    """Explore, then commit to the rounding of a linear program on the averages.

    The learner of recharging bandits (Papadigenopoulos, Caramanis and Shakkottai 2022), which
    Foussoul, Goyal, Papadigenopoulos and Zeevi (2023) extend to last-switch dependent ones. Every
    arm is sampled at every delay, by cycles that bring arms back after just so many rounds, at
    least once and as often as its length allows. The averages are made to not fall with the delay,
    as the means must not. Then it plays a cycle in which each arm has a random period and offset
    (`interleaved`), drawn from the linear program's optimum at the averages: of 100 draws the one
    that is best by the averages. Where rounds may idle, as in the published model, its regret
    against 1 - 1/e of the optimum is sublinear; `interleaved` has an example without idling.

    No text of the papers was at hand for the length, the averages and the number of draws.

    Parameters
    ----------
    arms
        Number of arms, k.
    max_delay
        A bound on all delays, or None if delays do not matter.
    horizon
        Rounds to play, T.
    exploration
        How long it explores, in units of (k (D + 1))^(1/3) T^(2/3) rounds: the order at which k
        (D + 1) averages cost as much to learn as they lose by being wrong.
    seed
        Of the periods and offsets that the cycle is drawn from.

    Attributes
    ----------
    cycle
        What it committed to, or None while it explores.

    Examples
    --------
    >>> learner = ExploreThenCommit(arms=3, max_delay=1, horizon=1000)
    >>> learner.ask(), learner.cycle
    (Block(arms=(0,), plays=7), None)
    """

    def __init__(
        self,
        arms: int,
        max_delay: int | None,
        horizon: int,
        exploration: float = 0.25,
        seed: int = 0,
    ) -> None:
        self.max_delay = delay_bound(max_delay)
        self._cells = Cells(arms, self.max_delay)
        self.arms = self._cells.arms
        check_pulls(self.arms, self.max_delay)
        self.horizon = checks.whole_number("horizon", horizon, minimum=1)
        self.exploration = checks.positive("exploration", exploration)
        self.seed = checks.seed("seed", seed)
        self.cycle: tuple[int, ...] | None = None
        self._explored = 0

    def _check_progress(self) -> None:
        super()._check_progress()
        self._cells.check(self.arms, self.max_delay + 1)
        cycles = len(sampling_cycles(self.arms, self.max_delay))
        if self.cycle is None:
            restored.whole_number("progress._explored", self._explored, 0, cycles - 1)
            return
        restored.equal("progress._explored", self._explored, cycles)
        restored.block("progress.cycle", Block(self.cycle), self.arms)
        if self._pending is not None:
            restored.equal("progress._pending.arms", self._pending.arms, self.cycle)

    def _choose(self) -> Block:
        if self.cycle is None:
            cycles = sampling_cycles(self.arms, self.max_delay)
            once = sum(map(len, cycles))
            # The first play of a block meets other delays, so it comes on top.
            return Block(cycles[self._explored], 1 + max(1, round(self._length() / once)))
        return Block(self.cycle, 2**52 // len(self.cycle))

    def _length(self) -> float:
        """Return for how many rounds to explore."""
        cells = self._cells.counts.size
        wanted = self.exploration * math.cbrt(cells * float(self.horizon) ** 2)
        return min(wanted, float(self.horizon))

    def _learn(self, block: Block, outcome: Outcome) -> None:
        if self.cycle is not None:
            return
        self._cells.credit(block, outcome)
        self._explored += 1
        if self._explored == len(sampling_cycles(self.arms, self.max_delay)):
            self.cycle = self._best_rounding()

    def _best_rounding(self) -> tuple[int, ...]:
        """Return the best of some cycles that are drawn for the averages."""
        counts = np.maximum(self._cells.counts, 1)
        table = Instance(isotone(np.clip(self._cells.sums / counts, 0, 1), counts))
        generator = own_generator(self.seed)
        cycles = [interleaved(table.means, generator) for _ in range(ROUNDINGS)]
        return max(cycles, key=lambda cycle: gain(table, cycle))
