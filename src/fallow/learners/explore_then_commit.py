"""Sample every arm at every delay, then commit to a schedule (Papadigenopoulos et al. 2022)."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fallow import checks
from fallow.learners import restored
from fallow.learners.cell_rewards import Cells, delay_bound
from fallow.learners.checked_learner import CheckedLearner
from fallow.planners.interleaved import interleaved
from fallow.protocol import Block, Outcome, own_generator

MAX_EXPLORATION = 2**24
"""Pulls that it may take to sample every arm at every delay once."""


class ExploreThenCommit(CheckedLearner):
    """Explore, then commit to the rounding of a linear program on the averages.

    The learner of recharging bandits (Papadigenopoulos, Caramanis and Shakkottai 2022), which
    Foussoul, Goyal, Papadigenopoulos and Zeevi (2023) extend to last-switch dependent ones. Every
    arm is sampled at every delay, by cycles that bring arms back after just so many rounds, as
    often as T^(2/3) rounds allow but at least once. Then it plays a cycle in which each arm has a
    random period and offset (`interleaved`), drawn from the linear program's optimum at the
    averages. Where means do not fall with the delay, its regret against 1 - 1/e of the optimum is
    sublinear.

    Parameters
    ----------
    arms
        Number of arms, k.
    max_delay
        A bound on all delays, or None if delays do not matter.
    horizon
        Rounds to play, T.
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
    (Block(arms=(0,), plays=15), None)
    """

    def __init__(self, arms: int, max_delay: int | None, horizon: int, seed: int = 0) -> None:
        self.max_delay = delay_bound(max_delay)
        self._cells = Cells(arms, self.max_delay)
        self.arms = self._cells.arms
        pulls = (self.max_delay + 1) * (self.arms + self.max_delay + 1)
        if pulls > MAX_EXPLORATION:
            raise ValueError(
                f"max_delay must leave at most {MAX_EXPLORATION:,} pulls to sample every arm at "
                f"every delay once, got {self.max_delay:,} for {self.arms:,} arms"
            )
        self.horizon = checks.whole_number("horizon", horizon, minimum=1)
        self.seed = checks.seed("seed", seed)
        self.cycle: tuple[int, ...] | None = None
        self._explored = 0

    def _check_progress(self) -> None:
        super()._check_progress()
        self._cells.check(self.arms, self.max_delay + 1)
        cycles = len(self._explorations.cycles)
        if self.cycle is None:
            restored.whole_number("progress._explored", self._explored, 0, cycles - 1)
            return
        restored.equal("progress._explored", self._explored, cycles)
        restored.block("progress.cycle", Block(self.cycle), self.arms)
        if self._pending is not None:
            restored.equal("progress._pending.arms", self._pending.arms, self.cycle)

    @property
    def _explorations(self) -> "_Explorations":
        return _sampling_cycles(self.arms, self.max_delay + 1)

    def _choose(self) -> Block:
        if self.cycle is None:
            cycles, once = self._explorations
            # The first play of a block meets other delays, so it comes on top.
            plays = 1 + max(1, round(float(self.horizon) ** (2 / 3) / once))
            return Block(cycles[self._explored], plays)
        return Block(self.cycle, 2**52 // len(self.cycle))

    def _learn(self, block: Block, outcome: Outcome) -> None:
        if self.cycle is not None:
            return
        self._cells.credit(block, outcome)
        self._explored += 1
        if self._explored == len(self._explorations.cycles):
            averages = self._cells.sums / np.maximum(self._cells.counts, 1)
            self.cycle = interleaved(averages, own_generator(self.seed))


class _Explorations(NamedTuple):
    """Cycles, and how many pulls they have together."""

    cycles: tuple[tuple[int, ...], ...]
    pulls: int


@lru_cache(maxsize=1)  # asked for at every block
def _sampling_cycles(arms: int, width: int) -> _Explorations:
    """Return cycles that, repeated, pull every arm at every delay up to the width.

    A cycle of as many different arms as the delay samples all of them at once. Where there are too
    few arms, one arm repeats itself to fill the cycle, and is sampled in a second one.
    """
    cycles: list[tuple[int, ...]] = []
    for delay in range(1, width + 1):
        if delay <= arms:
            for first in range(0, arms, delay):
                cycles.append(tuple((first + place) % arms for place in range(delay)))
        elif arms > 1:
            filling = delay - arms + 1
            cycles.append((*range(arms - 1), *[arms - 1] * filling))
            cycles.append((arms - 1, *[0] * (delay - 1)))
    return _Explorations(tuple(cycles), sum(map(len, cycles)))
