"""A plan as a learner."""

from collections.abc import Mapping
from typing import Any, Self

from fallow.planners.cycle import Plan
from fallow.protocol import Block, CheckedLearner, Outcome


class Follow(CheckedLearner):
    """Plays the cycle of a plan for ever: ghost, greedy or the optimum as a competitor.

    Examples
    --------
    >>> from fallow import catalog, ghost
    >>> Follow(ghost(catalog.figure3())).ask().arms
    (0,)
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def _choose(self) -> Block:
        return Block(self.plan.cycle, 2**52 // len(self.plan.cycle))

    def _learn(self, block: Block, outcome: Outcome) -> None:
        pass

    def _parameters(self) -> dict[str, Any]:
        return {"plan": {**vars(self.plan), "cycle": list(self.plan.cycle)}}

    def _progress(self) -> dict[str, Any]:
        return {}

    def _restore(self, progress: Mapping[str, Any]) -> None:
        pass

    @classmethod
    def _built(cls, parameters: Mapping[str, Any]) -> Self:
        plan = parameters["plan"]
        return cls(Plan(**{**plan, "cycle": tuple(plan["cycle"])}))
