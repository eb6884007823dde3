"""A plan as a learner."""

from dataclasses import replace

from fallow import checks
from fallow.errors import InputError
from fallow.learners import restored
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
            raise InputError("plan", "must be a Plan, as planners return", checks.short(plan))
        cycle = tuple(checks.whole_numbers("plan.cycle", plan.cycle, minimum=0))
        if type(plan.names) is not tuple or len(plan.names) != len(cycle):
            raise InputError("plan.names", "must be one a pull", checks.short(plan.names))
        for name in plan.names:
            checks.text("plan.names", name, longest=checks.MAX_NAME)
        checks.not_negative("plan.gain", plan.gain)
        checks.not_negative("plan.upper_bound", plan.upper_bound)
        checks.text("plan.method", plan.method)
        self.plan = replace(plan, cycle=cycle)

    def _check_progress(self) -> None:
        super()._check_progress()
        if self._pending is not None:
            restored.equal("progress._pending", self._pending, self._choose())

    def _choose(self) -> Block:
        return Block(self.plan.cycle, 2**52 // len(self.plan.cycle))

    def _learn(self, block: Block, outcome: Outcome) -> None:
        pass
