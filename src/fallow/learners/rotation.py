"""The flagship: optimistic planning over cells of arm and delay."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray
from fallow.instance import Instance
from fallow.kernels.confidence import rises, upper_bounds
from fallow.kernels.cycles import own_delays
from fallow.kernels.playing import best_start, plays_until_doubling, pulls_until_doubling
from fallow.learners import restored
from fallow.learners.cell_rewards import Cells
from fallow.learners.checked_learner import FixedLearner
from fallow.planners import HEURISTICS
from fallow.planners.cycle import Plan, gain
from fallow.planners.online import plan_online
from fallow.planners.optimal import optimal, within_reach
from fallow.planners.plan import MAX_STATES
from fallow.protocol import Block, Outcome

START = 8
"""The bound on delays where none is told, until rounds or evidence ask for a longer one."""
TILT = 1e-3
"""Over t, taken off a bound for each round of rest that it lacks, so that ties go to more rest."""


def _check_reach(arms: int, max_delay: int | None) -> None:
    """Check beforehand that the exact planner can take every table of bounds."""
    if max_delay is not None:
        largest = Instance.blocking([1] * arms, [max(max_delay, 1)] * arms)
        if within_reach(largest, MAX_STATES):
            return
    raise ValueError(
        f"planner 'optimal' must come with a max_delay that leaves at most {MAX_STATES:,} delay "
        f"vectors, got {max_delay} for {arms} arms; use 'auto'"
    )


PLANNERS: Mapping[str, Callable[[Instance], Plan]] = MappingProxyType(
    {"optimal": optimal, **HEURISTICS}
)


def _least_bound(rounds: int) -> int:
    """Return a power of two within a factor of two of the fourth root of the rounds."""
    return 1 << rounds.bit_length() // 4


class Rotation(FixedLearner):
    """Plans as if every cell paid its upper confidence bound, and plans anew as cells double.

    A cell is an arm at a delay. Each pull is a sample of its own cell, so that the order of the
    arms need not be known and nothing is discarded. The bounds are those of KL-UCB, at level
    `exploration` ln t; as means do not fall with the delay, samples at longer delays bound shorter
    ones too. The cycle that is best under the bounds is played until some cell that it uses has
    twice as many samples. It has no horizon.

    Parameters
    ----------
    arms
        Number of arms, k.
    max_delay
        A bound on all delays. Without one it starts from 8 and grows: it is at least about the
        fourth root of the rounds, half of it at worst, and is doubled when pulls of an arm that
        should have been rested pay significantly less than those after longer rest.
    switching_cost
        What a change of the cycle costs. The cycle is then kept unless the better one is expected
        to earn the cost back within as many rounds as were played before; without a cost, a play
        is also cut short when a cell has doubled in it.
    planner
        "auto", "optimal" (for few arms and short delays), or a heuristic of `fallow.plan`; regret
        is against what it attains.
    exploration
        Scale of the confidence level. The proofs want 3, a half learns faster.

    Examples
    --------
    >>> from fallow import catalog, optimal, simulate
    >>> instance = catalog.figure2(seed=3)
    >>> run = simulate(instance, Rotation(7, max_delay=6), 10**5, seed=0)
    >>> share = float(run.expected_reward(10**5)) / 10**5 / optimal(instance).gain
    >>> share > 0.98
    True
    """

    def __init__(
        self,
        arms: int,
        max_delay: int | None = None,
        switching_cost: float = 0.0,
        planner: str = "auto",
        exploration: float = 0.5,
    ) -> None:
        self.arms = checks.arms(arms)
        if max_delay is not None:
            max_delay = checks.whole_number("max_delay", max_delay, minimum=0)
        self.max_delay = max_delay
        self.switching_cost = checks.not_negative("switching_cost", switching_cost)
        checks.one_of("planner", planner, ("auto", *PLANNERS))
        if planner == "optimal":
            _check_reach(self.arms, max_delay)
        self.planner = planner
        self.exploration = checks.positive("exploration", exploration)
        self._bound = START if max_delay is None else max_delay
        self._cells = Cells(arms, self._columns() - 1)
        self._cycle: tuple[int, ...] = ()  # played last

    def _check_progress(self) -> None:
        super()._check_progress()
        if self.max_delay is None:
            restored.whole_number("progress._bound", self._bound, least=START)
        else:
            restored.equal("progress._bound", self._bound, self.max_delay)
        self._cells.check(self.arms, self._columns())
        arms, length = self.arms, len(self._cycle)
        restored.whole_numbers("progress._cycle", self._cycle, length, least=0, most=arms - 1)

    @property
    def bound(self) -> int:
        """The longest delay that is told apart from all longer ones so far."""
        return self._bound

    @property
    def level(self) -> float:
        """The confidence level, exploration x ln t."""
        return self.exploration * math.log(max(self._cells.rounds, 2))

    def _columns(self) -> int:
        """Return how many delays are told apart: beyond a bound in doubt, twice as many."""
        return self._bound + 1 if self.max_delay is not None else 2 * (self._bound + 1)

    def _choose(self) -> Block:
        counts, sums = self._fold(self._cells.counts), self._fold(self._cells.sums)
        bounds = upper_bounds(counts, sums, self.level)
        lacking = np.arange(self._bound, -1, -1) / (self._cells.rounds + 1)
        table = Instance(np.maximum(bounds - TILT * lacking, 0))
        delays = np.minimum(self._cells.delays(), self._bound + 1)
        plan = self._plan(table)
        if not self._keeps_cycle(table, plan):
            cycle = np.array(plan.cycle)
            own = own_delays(cycle, self.arms)
            start = best_start(table.means, delays, cycle, own, len(cycle))
            self._cycle = plan.cycle[start:] + plan.cycle[:start]
        cycle = np.array(self._cycle)
        plays = plays_until_doubling(counts, cycle, own_delays(cycle, self.arms))
        if plays == 1 and self.switching_cost == 0:
            pulls = pulls_until_doubling(counts, delays, cycle)
            if pulls > 0:
                return Block(self._cycle[:pulls])
        # In the first play an arm's first pull may fall into another cell than planned.
        return Block(self._cycle, plays + 1)

    def _plan(self, table: Instance) -> Plan:
        if self.planner == "auto":
            return plan_online(table, self._cells.rounds)
        return PLANNERS[self.planner](table)

    def _keeps_cycle(self, table: Instance, plan: Plan) -> bool:
        """Tell whether the cycle stays because a change would not pay for itself."""
        if not self._cycle or self.switching_cost == 0:
            return False
        better = plan.gain - gain(table, self._cycle)
        return better * self._cells.rounds <= self.switching_cost

    def _fold(self, table: FloatArray) -> FloatArray:
        """Return a table of cells with all delays beyond the bound in one column."""
        rested = table[:, self._bound :].sum(axis=1, keepdims=True)
        return np.hstack([table[:, : self._bound], rested])

    def _learn(self, block: Block, outcome: Outcome) -> None:
        self._cells.credit(block, outcome)
        if self.max_delay is None:
            self._extend_bound()

    def _extend_bound(self) -> None:
        """Extend the bound on delays where evidence or the rounds played ask for it."""
        beyond = slice(self._bound, None)
        short = rises(self._cells.counts[:, beyond], self._cells.sums[:, beyond], self.level)
        # Arms that never rest longer show nothing, so the bound grows without evidence too.
        bound = max(2 * self._bound if short else self._bound, _least_bound(self._cells.rounds))
        if bound > self._bound:
            self._bound = bound
            self._cells.widen(self._columns() - 1)
