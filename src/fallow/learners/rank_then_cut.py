"""The whole system of the paper, from nothing: first the order, then the cutoff."""

from collections.abc import Sequence
from inspect import signature
from typing import Any

from fallow import checks
from fallow.learners import restored
from fallow.learners.bandit_ranker import BanditRanker
from fallow.learners.checked_learner import (
    CheckedLearner,
    accepted,
    check_learner_class,
    own_copy,
)
from fallow.learners.low_switch import LowSwitch
from fallow.protocol import Block, Outcome


class RankThenCut(CheckedLearner):
    """BanditRanker (Algorithm 2), then a learner over ranking policies on the order that it found.

    The second learner is told the rounds that are left if it takes a horizon, and the number of
    arms and the bound on delays if it asks for them. Each stage gets half of delta; ranking gets
    all of it if the second learner takes none. Ranking may use at most `budget` rounds, half of
    the horizon by default, since arms with equal baselines never separate.

    Parameters
    ----------
    arms
        Number of arms, k.
    horizon
        T, the number of rounds that will be played.
    delta
        Allowed probability that either stage fails.
    max_delay, budget
        As in BanditRanker.
    then
        The class of the second learner, which must take an `order`; by default Algorithm 1.
    options
        All its other arguments, such as `cut_stage` of LowSwitch or `alpha` of RankingUCB2.

    Examples
    --------
    >>> RankThenCut(arms=7, horizon=10**6, max_delay=6).stage
    'ranking'
    >>> from fallow.learners import RankingUCB2
    >>> RankThenCut(arms=7, horizon=10**6, max_delay=6, then=RankingUCB2, alpha=0.5).then.__name__
    'RankingUCB2'
    """

    def __init__(
        self,
        arms: int,
        horizon: int,
        delta: float = 0.1,
        max_delay: int | None = None,
        budget: int | None = None,
        then: type[CheckedLearner] = LowSwitch,
        **options: Any,
    ) -> None:
        self.horizon = checks.whole_number("horizon", horizon, minimum=1)
        self.delta = checks.chance("delta", delta)
        offers = ("horizon", "delta", "arms", "max_delay")
        check_learner_class("then", then, options, needs="order", offers=offers)
        self.then, self.options = then, own_copy(options)
        budget = self.horizon // 2 if budget is None else budget
        self.ranker = BanditRanker(arms, self._share, max_delay, budget)
        self.arms, self.max_delay = self.ranker.arms, self.ranker.max_delay
        self.budget = self.ranker.budget
        self.cutter: CheckedLearner | None = None
        self._second(range(self.arms), self.horizon)  # so that a wrong option shows at once
        self._enter_second_stage_if_ranked()

    def _check_progress(self) -> None:
        super()._check_progress()
        fresh = type(self)(**self.parameters())
        restored.equal("progress.ranker", repr(self.ranker), repr(fresh.ranker))
        if not self.ranker.done:
            restored.equal("progress.cutter", self.cutter, None)
        else:
            left = max(self.horizon - self.ranker.pulls, 1)
            expected = self._second(self.ranker.order, left)
            restored.equal("progress.cutter", type(self.cutter), self.then)
            restored.equal("progress.cutter", repr(self.cutter), repr(expected))
        restored.equal("progress._pending", self._pending, self._playing.pending)

    @property
    def stage(self) -> str:
        """What is being learned now: "ranking" or "cutting"."""
        return "ranking" if self.cutter is None else "cutting"

    @property
    def ranking_rounds(self) -> int:
        """Rounds spent on the order so far."""
        return self.ranker.pulls

    @property
    def _share(self) -> float:
        """What each stage gets of delta."""
        return self.delta / 2 if "delta" in signature(self.then).parameters else self.delta

    def _enter_second_stage_if_ranked(self) -> None:
        if self.cutter is None and self.ranker.done:
            left = max(self.horizon - self.ranker.pulls, 1)
            self.cutter = self._second(self.ranker.order, left)

    def _second(self, order: Sequence[int], horizon: int) -> CheckedLearner:
        found = {
            "order": order,
            "horizon": horizon,
            "delta": self._share,
            "arms": self.arms,
            "max_delay": self.max_delay,
        }
        return self.then(**accepted(self.then, found), **self.options)

    @property
    def _playing(self) -> CheckedLearner:
        return self.ranker if self.cutter is None else self.cutter

    def _choose(self) -> Block:
        return self._playing.ask()

    def _learn(self, block: Block, outcome: Outcome) -> None:
        self._playing.tell(block, outcome)
        self._enter_second_stage_if_ranked()
