"""Optimistic planning over cells of arm and delay: the learner whose regret is proved."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from fallow import checks
from fallow.errors import InputError
from fallow.instance import Instance
from fallow.kernels.confidence import upper_bounds
from fallow.learners.cell_learner import CellLearner, tilted
from fallow.learners.online import plan_online
from fallow.planners import HEURISTICS
from fallow.planners.cycle import Plan
from fallow.planners.optimal import optimal, within_reach
from fallow.planners.plan import MAX_STATES
from fallow.protocol import Block

START = 8
"""The bound on delays where none is told, until rounds or evidence ask for a longer one."""


def _check_reach(arms: int, max_delay: int | None) -> None:
    """Check beforehand that the exact planner can take every table of bounds."""
    if max_delay is not None:
        largest = Instance.blocking([1] * arms, [max(max_delay, 1)] * arms)
        if within_reach(largest, MAX_STATES):
            return
    raise InputError(
        "planner 'optimal'",
        f"must come with a max_delay that leaves at most {MAX_STATES:,} delay vectors",
        f"{max_delay} for {arms} arms; use 'auto'",
    )


PLANNERS: Mapping[str, Callable[[Instance], Plan]] = MappingProxyType(
    {"optimal": optimal, **HEURISTICS}
)


class Rotation(CellLearner):
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
        fourth root of the rounds, half of it at worst, and is doubled when pulls of arms that
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
        super().__init__(arms, max_delay, switching_cost, START)
        checks.one_of("planner", planner, ("auto", *PLANNERS))
        if planner == "optimal":
            _check_reach(self.arms, self.max_delay)
        self.planner = planner
        self.exploration = checks.positive("exploration", exploration)

    @property
    def level(self) -> float:
        """The confidence level, exploration x ln t."""
        return self.exploration * math.log(max(self._cells.rounds, 2))

    def _choose(self) -> Block:
        counts, sums = self._folded()
        table = tilted(upper_bounds(counts, sums, self.level), self._cells.rounds)
        return self._until_doubling(table, self._plan(table))

    def _plan(self, table: Instance) -> Plan:
        if self.planner == "auto":
            return plan_online(table, self._cells.rounds)
        return PLANNERS[self.planner](table)
