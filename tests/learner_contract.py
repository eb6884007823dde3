"""The learners that keep the contract, those of the registry and some variants, and a spy."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from fallow import BanditRanker, BayesRotation, Block, LowSwitch, Outcome, Rotation, catalog
from fallow.learners import (
    AlternatingUCB,
    RankingUCB2,
    RankThenCut,
    SlidingWindowUCB,
    UCBGreedy,
)
from fallow.learners.registry import LEARNERS, learner_factory

INSTANCE = catalog.random_geometric(arms=4, max_delay=3, seed=8)
HORIZON = 3000

VARIANTS: dict[str, Callable[[], Any]] = {
    "decisive low-switch": lambda: LowSwitch([2, 0, 1, 3], HORIZON, confidence_scale=0.1),
    "committing low-switch": lambda: LowSwitch([2, 0, 1, 3], HORIZON, 0.1, 0.5, "down", "commit"),
    "low-switch with active widths": lambda: LowSwitch([2, 0, 1, 3], HORIZON, widths="active"),
    "rank-then-cut with ranking-ucb2": lambda: RankThenCut(
        4, HORIZON, max_delay=3, budget=500, then=RankingUCB2, alpha=0.5
    ),
    "alternating-ucb with costs": lambda: AlternatingUCB([2, 0, 1, 3], switching_cost=0.2),
    "plain bandit-ranker": lambda: BanditRanker(4),
    "calibrated bandit-ranker": lambda: BanditRanker(4, max_delay=3, budget=2000),
    "frugal bandit-ranker": lambda: BanditRanker(4, max_delay=3, frugal=True),
    "rotation with costs": lambda: Rotation(4, switching_cost=1.0, planner="whittle"),
    "bayes-rotation with costs": lambda: BayesRotation(4, switching_cost=1.0),
    "forgetful bayes-rotation": lambda: BayesRotation(4, max_delay=3, memory=100),
    "forgetful sliding-window-ucb": lambda: SlidingWindowUCB(4, window=50),
    "blocked ucb-greedy": lambda: UCBGreedy(4, delays=[9, 7, 6, 8]),
}
MAKERS: dict[str, Callable[[], Any]] = VARIANTS | {
    name: partial(learner_factory(name, HORIZON), INSTANCE, 3) for name in LEARNERS
}
"""How a fresh learner is made, for 4 arms, delays up to 3 and HORIZON rounds."""


class Spy:
    """Passes everything on, so that the learner is played through `ask` and `tell`."""

    def __init__(self, learner: Any, stop: int = 10**9) -> None:
        self.learner, self.stop = learner, stop
        self.blocks: list[Block] = []
        self.outcomes: list[Outcome] = []

    def ask(self) -> Block:
        if len(self.blocks) == self.stop:
            self.learner = type(self.learner).from_state(through_json(self.learner.state()))
        self.blocks.append(self.learner.ask())
        return self.blocks[-1]

    def tell(self, block: Block, outcome: Outcome) -> None:
        self.learner.tell(block, outcome)
        self.outcomes.append(outcome)


def through_json(state: dict[str, object]) -> dict[str, object]:
    written: dict[str, object] = json.loads(json.dumps(state))
    return written
