"""The whole system of the paper, from nothing: first the order, then the cutoff."""

from fallow import checks
from fallow.learners.bandit_ranker import BanditRanker
from fallow.learners.checked_learner import CheckedLearner
from fallow.learners.low_switch import LowSwitch
from fallow.protocol import Block, Outcome


class RankThenCut(CheckedLearner):
    """BanditRanker (Algorithm 2), then LowSwitch (Algorithm 1) on the order that it found.

    Each stage gets half of delta. The ranking stage may use at most `budget` rounds, half of the
    horizon by default, since arms with equal baselines never separate.

    Examples
    --------
    >>> RankThenCut(arms=7, horizon=10**6, max_delay=6).stage
    'ranking'
    """

    def __init__(
        self,
        arms: int,
        horizon: int,
        delta: float = 0.1,
        max_delay: int | None = None,
        budget: int | None = None,
    ) -> None:
        self.horizon = checks.whole_number("horizon", horizon, minimum=1)
        self.delta = checks.chance("delta", delta)
        budget = self.horizon // 2 if budget is None else budget
        self.ranker = BanditRanker(arms, self.delta / 2, max_delay, budget)
        self.arms, self.max_delay = self.ranker.arms, self.ranker.max_delay
        self.budget = self.ranker.budget
        self.cutter: LowSwitch | None = None
        self._enter_second_stage_if_ranked()

    @property
    def stage(self) -> str:
        """What is being learned now: "ranking" or "cutting"."""
        return "ranking" if self.cutter is None else "cutting"

    @property
    def ranking_rounds(self) -> int:
        """Rounds spent on the order so far."""
        return self.ranker.pulls

    def _enter_second_stage_if_ranked(self) -> None:
        if self.cutter is None and self.ranker.done:
            left = max(self.horizon - self.ranker.pulls, 1)
            self.cutter = LowSwitch(self.ranker.order, left, self.delta / 2)

    def _choose(self) -> Block:
        return (self.cutter or self.ranker).ask()

    def _learn(self, block: Block, outcome: Outcome) -> None:
        (self.cutter or self.ranker).tell(block, outcome)
        self._enter_second_stage_if_ranked()
