"""Broken twins of what the claims are about: which of them change a verdict, which pass."""

import math
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import pytest

from fallow import (
    BanditRanker,
    Block,
    Instance,
    LowSwitch,
    Outcome,
    RankingUCB,
    catalog,
    decay,
    simulate,
)
from fallow.arrays import FloatArray
from fallow.learners import CheckedLearner, Doubling, Follow, RankingUCB2
from fallow.planners import Guarantee, Plan, ghost, ranking_gains

Break = Callable[[pytest.MonkeyPatch], None]


class Stubborn(RankingUCB):
    """Never leaves the first ranking policy."""

    def _choose(self) -> Block:
        return Block(self.order[:1], 2**40)


def reverse_feedback(patch: pytest.MonkeyPatch) -> None:
    learn = LowSwitch._learn

    def wrong(learner: LowSwitch, block: Block, outcome: Outcome) -> None:
        rest = [block.plays - 1 - reward for reward in outcome.rest]
        learn(learner, block, Outcome(outcome.first, rest))

    patch.setattr(LowSwitch, "_learn", wrong)


def scale_widths(factor: float) -> Break:
    width = LowSwitch.width

    def scaled(learner: LowSwitch, stage: int) -> float:
        return factor * width(learner, stage)

    return lambda patch: patch.setattr(LowSwitch, "width", scaled)


def print_widths(patch: pytest.MonkeyPatch) -> None:
    """Let the learner take k for |A_s|, whatever it is asked to take."""

    def printed(learner: LowSwitch, stage: int) -> float:
        log = math.log(2 * learner.arms * learner.stages / learner.delta)
        return math.sqrt(learner.arms / (2 * learner.stage_rounds(stage)) * log)

    patch.setattr(LowSwitch, "width", printed)


def scale_ranker_widths(factor: float) -> Break:
    exact: Any = BanditRanker.width
    width = property(lambda ranker: factor * exact.fget(ranker))
    return lambda patch: patch.setattr(BanditRanker, "width", width)


def count_calibration(patch: pytest.MonkeyPatch) -> None:
    """Let pi_ucb average both plays of a selection."""

    class Uncalibrated(RankingUCB):
        def _learn(self, block: Block, outcome: Outcome) -> None:
            both = [(a + b) / 2 for a, b in zip(outcome.first, outcome.rest, strict=True)]
            super()._learn(block, Outcome(outcome.first, both))

    patch.setattr("reproduction.claims.studies.RankingUCB", Uncalibrated)


def delays_off_by_one(patch: pytest.MonkeyPatch) -> None:
    """Let every arm pay at delay tau what equation 1 has for tau + 1."""
    build: Any = Instance.b2dep

    def early(cls: type[Instance], *arguments: Any, **named: Any) -> Instance:
        means = build.__func__(cls, *arguments, **named).means
        return Instance(np.concatenate([means[:, 1:], means[:, -1:]], axis=1))

    patch.setattr(Instance, "b2dep", classmethod(early))


def last_of_equals(patch: pytest.MonkeyPatch) -> None:
    """Let greedy take the arm with the smallest baseline among equals."""
    patch.setattr(
        "reproduction.claims.ranking.greedy_choice",
        lambda instance: (
            lambda delays: max(
                reversed(instance.order.tolist()),
                key=lambda arm: instance.means[arm, delays[arm] - 1],
            )
        ),
    )


def shift_greedy(patch: pytest.MonkeyPatch) -> None:
    """Let greedy see each arm one round more rested than it is."""

    def early(instance: Instance) -> Callable[[tuple[int, ...]], int]:
        order, means = instance.order.tolist(), instance.means
        last = means.shape[1] - 1
        return lambda delays: max(order, key=lambda arm: means[arm, min(delays[arm], last)])

    patch.setattr("reproduction.claims.ranking.greedy_choice", early)


def constant_example(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(catalog, "non_monotone", catalog.non_monotone_constant)


def follow_ghost(patch: pytest.MonkeyPatch) -> None:
    """Tell every learner which instance it plays."""

    def told(*_: object) -> Callable[[Instance, int], CheckedLearner]:
        return lambda instance, _: Follow(ghost(instance))

    patch.setattr("reproduction.claims.learning.low_of", told)


def play_low(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        "reproduction.claims.open_questions.AlternatingUCB",
        lambda order, _: LowSwitch(order, 10**4),
    )


def ignore_alternations(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        "reproduction.claims.open_questions.AlternatingUCB", lambda order, _: RankingUCB2(order)
    )


def stay_with_first(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        "reproduction.claims.open_questions.JointRanking", lambda arms, _: Stubborn(range(arms))
    )


def grow_lives_by_a_tenth(patch: pytest.MonkeyPatch) -> None:
    start = Doubling._start

    def slow(learner: Doubling, horizon: int) -> None:
        start(learner, max(math.ceil(0.55 * horizon), 128))

    patch.setattr(Doubling, "_start", slow)


def sample_all_arms(patch: pytest.MonkeyPatch) -> None:
    """Keep sampling arms that have left."""
    end = BanditRanker._end_round

    def wasteful(ranker: BanditRanker) -> None:
        gone = ranker.arms - len(ranker.active)
        end(ranker)
        ranker.pulls += gone

    patch.setattr(BanditRanker, "_end_round", wasteful)


def swap_learners(patch: pytest.MonkeyPatch) -> None:
    def low(instance: Instance, _: int) -> CheckedLearner:
        return RankingUCB(instance.order)

    def ucb(instance: Instance) -> CheckedLearner:
        return LowSwitch(instance.order, 1000)

    patch.setattr("reproduction.claims.studies.pi_low", low)
    patch.setattr("reproduction.claims.studies.pi_ucb", ucb)
    patch.setattr("reproduction.claims.figure_2.pi_low", low)
    patch.setattr("reproduction.claims.figure_2.pi_ucb", ucb)


class AllArms(RankingUCB):
    """Never leaves the last ranking policy."""

    def _choose(self) -> Block:
        return Block(self.order, 2**40)


def make_low_play_all(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("reproduction.claims.studies.pi_low", lambda instance, _: AllArms(instance.order))


def make_ucb_stubborn(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("reproduction.claims.studies.RankingUCB", Stubborn)


def promise(factor: float) -> Break:
    promised = Guarantee(1, factor)
    return lambda patch: patch.setattr("reproduction.claims.ranking.guarantee", lambda _: promised)


def repeat_best_arm(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        "reproduction.claims.related.optimal",
        lambda instance: Plan((int(instance.order[0]),), ("best",), 0.5, 1.0, "one arm"),
    )


def sample_tired_arms(patch: pytest.MonkeyPatch) -> None:
    """Count every pull, as if no arm had to rest."""
    patch.setattr(BanditRanker, "_counts_every_pull", property(lambda _: True))


def forget_the_second_delay(patch: pytest.MonkeyPatch) -> None:
    """Take n for n + m, as if the play of pi_m before had not been."""

    def wrong(instance: Instance) -> FloatArray:
        counts = np.arange(1, instance.arms + 1)
        ranked = instance.means[instance.order]
        delays = np.minimum(counts, ranked.shape[1]) - 1
        return np.array([[ranked[:m, delay].sum() for m in counts] for delay in delays])

    patch.setattr("reproduction.claims.alternating.transition_totals", wrong)


def index_of_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("reproduction.claims.ranking.theorem2_index", lambda _: 1)


def index_of_all(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("reproduction.claims.ranking.theorem2_index", lambda instance: instance.arms)


def worst_ranking_policy(patch: pytest.MonkeyPatch) -> None:
    def worst(instance: Instance) -> FloatArray:
        return 1 - ranking_gains(instance)

    patch.setattr("reproduction.claims.ranking.ranking_gains", worst)


def with_noise(patch: pytest.MonkeyPatch) -> None:
    """Draw Bernoulli rewards, whichever rewards are asked for."""

    def noisy(*arguments: Any, **named: Any) -> Any:
        return simulate(*arguments[:4], **named)

    patch.setattr("reproduction.claims.learning.simulate", noisy)


def reverse_order(patch: pytest.MonkeyPatch) -> None:
    reversed_order = property(lambda ranker: tuple(chain(*reversed(ranker.groups))))
    patch.setattr(BanditRanker, "order", reversed_order)


def forget_decay(patch: pytest.MonkeyPatch) -> None:
    """Let no arm of Figure 2 lose anything by being pulled again."""
    patch.setattr("reproduction.claims.figure_2.decay.geometric", lambda _: decay.constant(0))


def replace(target: str, value: object) -> Break:
    return lambda patch: patch.setattr(target, value)
