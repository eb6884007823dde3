"""What learners share that plan over cells of arm and delay."""

import math

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray, IntArray
from fallow.instance import Instance
from fallow.kernels.confidence import rises
from fallow.kernels.cycles import own_delays
from fallow.kernels.playing import best_start, plays_until_growth, pulls_until_growth
from fallow.learners import restored
from fallow.learners.cell_rewards import Cells
from fallow.learners.checked_learner import FixedLearner
from fallow.planners.cycle import Plan, gain
from fallow.protocol import Block, Outcome

TILT = 1e-3
"""Over t, taken off an index for each round of rest that it lacks, so that ties go to more rest."""


def _least_bound(rounds: int) -> int:
    """Return a power of two within a factor of two of the fourth root of the rounds."""
    return 1 << rounds.bit_length() // 4


class CellLearner(FixedLearner):
    """Keeps rewards by arm and delay, a bound on delays that may grow, and the cycle it plays.

    Parameters
    ----------
    arms
        Number of arms, k.
    max_delay
        A bound on all delays, or None: then it begins at `start` and grows.
    switching_cost
        What a change of the cycle costs.
    start
        The first bound on delays where none is told.
    memory
        Rounds after which rewards count 1/e, or None if they count for ever.
    """

    _most_cells = checks.MAX_VALUES // 2
    """Arms x delays up to which a bound on delays grows."""

    def __init__(
        self,
        arms: int,
        max_delay: int | None,
        switching_cost: float,
        start: int,
        memory: float | None = None,
    ) -> None:
        self.arms = checks.arms(arms)
        if max_delay is not None:
            max_delay = checks.whole_number("max_delay", max_delay, minimum=0)
        self.max_delay = max_delay
        self.switching_cost = checks.not_negative("switching_cost", switching_cost)
        self._bound = start if max_delay is None else max_delay
        self._cells = Cells(arms, self._columns() - 1, memory)
        self._cycle: tuple[int, ...] = ()  # played last

    def _check_progress(self) -> None:
        super()._check_progress()
        fresh = type(self)(**self.parameters())
        if self.max_delay is None:
            restored.whole_number("progress._bound", self._bound, least=fresh._bound)
        else:
            restored.equal("progress._bound", self._bound, self.max_delay)
        self._cells.check(self.arms, self._columns(), fresh._cells.memory)
        arms, length = self.arms, len(self._cycle)
        restored.whole_numbers("progress._cycle", self._cycle, length, least=0, most=arms - 1)

    @property
    def bound(self) -> int:
        """The longest delay that is told apart from all longer ones so far."""
        return self._bound

    def _columns(self) -> int:
        """Return how many delays are told apart: beyond a bound in doubt, twice as many."""
        return self._bound + 1 if self.max_delay is not None else 2 * (self._bound + 1)

    def _delays(self) -> IntArray:
        """Return the delay of each arm as of now, at most one beyond the bound."""
        return np.minimum(self._cells.delays(), self._bound + 1)

    def _folded(self) -> tuple[FloatArray, FloatArray]:
        """Return counts and sums of rewards, with all delays beyond the bound in one column."""
        return self._fold(self._cells.counts), self._fold(self._cells.sums)

    def _fold(self, table: FloatArray) -> FloatArray:
        rested = table[:, self._bound :].sum(axis=1, keepdims=True)
        return np.hstack([table[:, : self._bound], rested])

    def _tilted(self, indices: FloatArray) -> Instance:
        """Return what to plan for: the indices of all cells, a little less for less rest."""
        lacking = np.arange(self._bound, -1, -1) / (self._cells.rounds + 1)
        return Instance(np.maximum(indices - TILT * lacking, 0))

    def _play(self, table: Instance, plan: Plan, counts: FloatArray, growth: float) -> Block:
        """Return a block of the plan's cycle, or of the one before if a change would not pay.

        It has one play more than it takes for some cell to grow by such a share, as in the first
        one pulls come after other delays than planned.
        """
        if not self._keeps_cycle(table, plan):
            cycle = np.array(plan.cycle)
            own = own_delays(cycle, self.arms)
            start = best_start(table.means, self._delays(), cycle, own, len(cycle))
            self._cycle = plan.cycle[start:] + plan.cycle[:start]
        cycle = np.array(self._cycle)
        plays = plays_until_growth(counts, cycle, own_delays(cycle, self.arms), growth)
        return Block(self._cycle, plays + 1)

    def _until_doubling(self, table: Instance, plan: Plan) -> Block:
        """Return a block after which some cell has twice as many samples, cut short if it may."""
        counts, _ = self._folded()
        block = self._play(table, plan, counts, growth=1.0)
        if block.plays == 2 and self.switching_cost == 0:
            cycle = np.array(block.arms)
            pulls = pulls_until_growth(counts, self._delays(), cycle, growth=1.0)
            if pulls > 0:
                return Block(block.arms[:pulls])
        return block

    def _keeps_cycle(self, table: Instance, plan: Plan) -> bool:
        """Tell whether the cycle stays because a change would not pay for itself."""
        if not self._cycle or self.switching_cost == 0:
            return False
        better = plan.gain - gain(table, self._cycle)
        return better * self._cells.remembered <= self.switching_cost

    def _learn(self, block: Block, outcome: Outcome) -> None:
        """Enter what a block earned, and extend a bound on delays that is in doubt.

        It is doubled where arms past it pay significantly less than after longer rest. Arms that
        never rest longer show nothing, so it grows without evidence too.
        """
        self._cells.credit(block, outcome)
        if self.max_delay is not None:
            return
        counts = self._beyond(self._cells.counts, self._cells.first_counts)
        sums = self._beyond(self._cells.sums, self._cells.first_sums)
        short = rises(counts, sums, math.log(max(self._cells.rounds, 2)))
        bound = max(2 * self._bound if short else self._bound, _least_bound(self._cells.rounds))
        bound = min(bound, self._most_cells // self.arms - 1)
        if bound > self._bound:
            self._bound = bound
            self._cells.widen(self._columns() - 1)

    def _beyond(self, table: FloatArray, firsts: FloatArray) -> FloatArray:
        """Return the columns beyond the bound, and first pulls in one of their own at the end."""
        beyond = np.column_stack([table[:, self._bound :], firsts])
        beyond[:, -2] -= firsts
        return beyond
