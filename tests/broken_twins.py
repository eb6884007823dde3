"""Broken twins of what the claims are about: which of them change a verdict, which pass."""

import math
from collections.abc import Callable
from functools import partial
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
    gain,
    optimal,
    simulate,
)
from fallow.arrays import FloatArray
from fallow.learners import CheckedLearner, Doubling, Follow
from fallow.planners import Guarantee, Plan, ghost, maintenance, ranking_gains

Break = Callable[[pytest.MonkeyPatch], None]


class Stubborn(RankingUCB):
    """Never leaves the first ranking policy."""

    def _choose(self) -> Block:
        return Block(self.order[:1], 2**40)


def _reverse_feedback(patch: pytest.MonkeyPatch) -> None:
    learn = LowSwitch._learn

    def wrong(learner: LowSwitch, block: Block, outcome: Outcome) -> None:
        rest = [block.plays - 1 - reward for reward in outcome.rest]
        learn(learner, block, Outcome(outcome.first, rest))

    patch.setattr(LowSwitch, "_learn", wrong)


def _scale_widths(factor: float) -> Break:
    width = LowSwitch.width

    def scaled(learner: LowSwitch, stage: int) -> float:
        return factor * width(learner, stage)

    return lambda patch: patch.setattr(LowSwitch, "width", scaled)


def _scale_ranker_widths(factor: float) -> Break:
    exact: Any = BanditRanker.width
    width = property(lambda ranker: factor * exact.fget(ranker))
    return lambda patch: patch.setattr(BanditRanker, "width", width)


def _count_calibration(patch: pytest.MonkeyPatch) -> None:
    """Let pi_ucb average both plays of a selection."""

    class Uncalibrated(RankingUCB):
        def _learn(self, block: Block, outcome: Outcome) -> None:
            both = [(a + b) / 2 for a, b in zip(outcome.first, outcome.rest, strict=True)]
            super()._learn(block, Outcome(outcome.first, both))

    patch.setattr("reproduction.claims.studies.RankingUCB", Uncalibrated)


def _delays_off_by_one(patch: pytest.MonkeyPatch) -> None:
    """Let every arm pay at delay tau what equation 1 has for tau + 1."""
    build: Any = Instance.b2dep

    def early(cls: type[Instance], *arguments: Any, **named: Any) -> Instance:
        means = build.__func__(cls, *arguments, **named).means
        return Instance(np.concatenate([means[:, 1:], means[:, -1:]], axis=1))

    patch.setattr(Instance, "b2dep", classmethod(early))


def _last_of_equals(patch: pytest.MonkeyPatch) -> None:
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


def _shift_greedy(patch: pytest.MonkeyPatch) -> None:
    """Let greedy see each arm one round more rested than it is."""

    def early(instance: Instance) -> Callable[[tuple[int, ...]], int]:
        order, means = instance.order.tolist(), instance.means
        last = means.shape[1] - 1
        return lambda delays: max(order, key=lambda arm: means[arm, min(delays[arm], last)])

    patch.setattr("reproduction.claims.ranking.greedy_choice", early)


def _constant_example(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(catalog, "non_monotone", catalog.non_monotone_constant)


def _follow_ghost(patch: pytest.MonkeyPatch) -> None:
    """Tell every learner which instance it plays."""

    def told(*_: object) -> Callable[[Instance, int], CheckedLearner]:
        return lambda instance, _: Follow(ghost(instance))

    patch.setattr("reproduction.claims.learning.low_of", told)


def _play_low(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        "reproduction.claims.open_questions.RankingUCB2", lambda order: LowSwitch(order, 10**4)
    )


def _stay_with_first(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        "reproduction.claims.open_questions.JointRanking", lambda arms, _: Stubborn(range(arms))
    )


def _grow_lives_by_a_tenth(patch: pytest.MonkeyPatch) -> None:
    start = Doubling._start

    def slow(learner: Doubling, horizon: int) -> None:
        start(learner, max(math.ceil(0.55 * horizon), 128))

    patch.setattr(Doubling, "_start", slow)


def _sample_all_arms(patch: pytest.MonkeyPatch) -> None:
    """Keep sampling arms that have left."""
    end = BanditRanker._end_round

    def wasteful(ranker: BanditRanker) -> None:
        gone = ranker.arms - len(ranker.active)
        end(ranker)
        ranker.pulls += gone

    patch.setattr(BanditRanker, "_end_round", wasteful)


def _swap_learners(patch: pytest.MonkeyPatch) -> None:
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


def _make_low_play_all(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("reproduction.claims.studies.pi_low", lambda instance, _: AllArms(instance.order))


def _make_ucb_stubborn(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("reproduction.claims.studies.RankingUCB", Stubborn)


def _promise_everything(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("reproduction.claims.ranking.guarantee", lambda _: Guarantee(1, 1.0))


def _forget_the_second_delay(patch: pytest.MonkeyPatch) -> None:
    """Take n for n + m, as if the play of pi_m before had not been."""

    def wrong(instance: Instance) -> FloatArray:
        counts = np.arange(1, instance.arms + 1)
        ranked = instance.means[instance.order]
        delays = np.minimum(counts, ranked.shape[1]) - 1
        return np.array([[ranked[:m, delay].sum() for m in counts] for delay in delays])

    patch.setattr("reproduction.claims.alternating.transition_totals", wrong)


def _index_of_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("reproduction.claims.ranking.theorem2_index", lambda _: 1)


def _index_of_all(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("reproduction.claims.ranking.theorem2_index", lambda instance: instance.arms)


def _worst_ranking_policy(patch: pytest.MonkeyPatch) -> None:
    def worst(instance: Instance) -> FloatArray:
        return 1 - ranking_gains(instance)

    patch.setattr("reproduction.claims.ranking.ranking_gains", worst)


def _without_noise(patch: pytest.MonkeyPatch) -> None:
    exact = partial(simulate, rewards="none")
    patch.setattr("reproduction.claims.learning.simulate", exact)


def _reverse_order(patch: pytest.MonkeyPatch) -> None:
    reversed_order = property(lambda ranker: tuple(chain(*reversed(ranker.tree.groups()))))
    patch.setattr(BanditRanker, "order", reversed_order)


def _double_gaps(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        "reproduction.claims.figure_2.ranking_gains", lambda draw: 2 * ranking_gains(draw)
    )


def _replace(target: str, value: object) -> Break:
    return lambda patch: patch.setattr(target, value)


BREAKS: list[tuple[str, str, Break]] = [
    (
        "constant-factor",
        "ghost is the optimum",
        _replace("reproduction.claims.ranking.ghost", optimal),
    ),
    (
        "ucb-gap-free",
        "no exploration",
        _replace("reproduction.claims.learning.RankingUCB", Stubborn),
    ),
    ("incomparable-with-recharging", "delays off by one", _delays_off_by_one),
    (
        "blocking-special-case",
        "f = 0.9",
        _replace("fallow.decay.constant", lambda _: decay.table([0.9] * 10)),
    ),
    (
        "ordinary-bandit",
        "decay of 1e-12",
        _replace("reproduction.claims.planning.decay.constant", lambda _: decay.table([1e-12] * 4)),
    ),
    ("periodic", "greedy plans ahead", _replace("reproduction.claims.planning.greedy", optimal)),
    ("greedy", "greedy plans ahead", _replace("reproduction.claims.planning.greedy", optimal)),
    ("greedy-total", "delays off by one", _delays_off_by_one),
    (
        "greedy-ratio",
        "greedy earns less",
        _replace("reproduction.claims.planning.greedy", lambda _: Plan((1,), 0.1, 1.0, "bad")),
    ),
    (
        "theorem-1",
        "no schedules",
        lambda patch: patch.setattr(maintenance, "schedule", lambda _: None),
    ),
    (
        "theorem-1-display",
        "delays off by one",
        _replace(
            "reproduction.claims.planning.gain",
            lambda instance, cycle: gain(Instance(instance.means[:, 1:]), cycle),
        ),
    ),
    ("theorem-2", "r_0 = 1", _index_of_one),
    ("theorem-2-equal-delays", "r_0 = k", _index_of_all),
    ("theorem-2-repaired", "factor 1", _promise_everything),
    ("greedy-round", "r_0 = k", _index_of_all),
    ("greedy-round", "delays off by one", _shift_greedy),
    ("theorem-2-r0", "r_0 = k", _index_of_all),
    ("not-monotone-example", "constant f", _constant_example),
    ("not-monotone", "worst policy", _worst_ranking_policy),
    ("theorem-3", "reversed feedback", _reverse_feedback),
    ("theorem-3", "widths x 0.9", _scale_widths(0.9)),
    ("theorem-3", "widths x 0.5", _scale_widths(0.5)),
    ("theorem-3", "widths x 0.03", _scale_widths(0.03)),
    ("theorem-3", "widths x 1.5", _scale_widths(1.5)),
    ("theorem-3-rate", "widths x 0.1", _scale_widths(0.1)),
    ("sqrt-rate", "told the instance", _follow_ghost),
    (
        "few-switches",
        "stages grow geometrically",
        lambda patch: patch.setattr(
            LowSwitch, "stage_rounds", lambda learner, stage: learner.horizon ** (stage / 10)
        ),
    ),
    ("switches-by-gap", "no noise", _without_noise),
    ("theorem-4", "no widths", _scale_ranker_widths(0)),
    ("theorem-4", "reversed order", _reverse_order),
    ("theorem-4-pulls", "widths x 0.5", _scale_ranker_widths(0.5)),
    ("theorem-4-pulls", "all arms sampled to the end", _sample_all_arms),
    ("theorem-4-tight", "no widths", _scale_ranker_widths(0)),
    (
        "calibration",
        "groups of d_0 + 1",
        lambda patch: patch.setattr(
            BanditRanker,
            "_rest",
            property(lambda ranker: 0 if ranker.max_delay is None else ranker.max_delay + 2),
        ),
    ),
    ("figure-1", "second delay forgotten", _forget_the_second_delay),
    ("average-gap", "gaps doubled", _double_gaps),
    ("figure-2", "pi_ucb stays", _make_ucb_stubborn),
    ("figure-2-printed", "widths x 0.5", _scale_widths(0.5)),
    ("figure-2-oversampling", "learners swapped", _swap_learners),
    ("figure-2-low-stops", "no widths", _scale_widths(1e-9)),
    (
        "figure-2-low-stops",
        "widths of 1",
        lambda patch: patch.setattr(LowSwitch, "width", lambda *_: 1.0),
    ),
    ("figure-2-ucb-explores", "pi_ucb stays", _make_ucb_stubborn),
    ("figure-3-cost", "learners swapped", _swap_learners),
    ("figure-3-free", "learners swapped", _swap_learners),
    ("figure-3-printed", "pi_ucb stays", _make_ucb_stubborn),
    ("figure-3-printed", "calibration counted", _count_calibration),
    (
        "fact-1",
        "gain too low",
        _replace("reproduction.claims.alternating.gain", lambda *pair: gain(*pair) - 1e-6),
    ),
    ("summary", "pi_low plays all arms", _make_low_play_all),
    ("doubling", "lives grow by a tenth", _grow_lives_by_a_tenth),
    ("best-of-both", "pi_low in its place", _play_low),
    ("joint-learning", "one cycle for ever", _stay_with_first),
]
PASSES: list[tuple[str, str, Break]] = [
    ("theorem-3", "widths x 1.05", _scale_widths(1.05)),
    ("theorem-3-rate", "widths x 0.5", _scale_widths(0.5)),
    ("theorem-4", "widths x 0.5", _scale_ranker_widths(0.5)),
    ("theorem-4-pulls", "widths x 0.9", _scale_ranker_widths(0.9)),
    ("theorem-2-r0", "r_0 = 1", _index_of_one),
    ("figure-2-low-stops", "widths x 0.5", _scale_widths(0.5)),
    ("greedy-round", "last of equals", _last_of_equals),
]
"""Damage that the slack of a claim lets pass; tests/test_literal.py finds all of it."""
