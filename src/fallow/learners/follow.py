"""A plan as a learner."""

from fallow import checks
from fallow.learners.checked_learner import CheckedLearner
from fallow.planners.cycle import Plan
from fallow.protocol import Block, Outcome


class Follow(CheckedLearner):
    """Plays the cycle of a plan for ever: ghost, greedy or the optimum as a competitor.

    Examples
    --------
    >>> from fallow import catalog
    >>> from fallow.planners import ghost
    >>> Follow(ghost(catalog.figure3())).ask().arms
    (0,)
    """

    def __init__(self, plan: Plan) -> None:
        if not isinstance(plan, Plan):
            raise ValueError(f"plan must be a Plan, as planners return, got {checks.short(plan)}")
        self.plan = plan

    def _choose(self) -> Block:
        return Block(self.plan.cycle, 2**52 // len(self.plan.cycle))

    def _learn(self, block: Block, outcome: Outcome) -> None:
        pass
