"""The paper's algorithms against a literal version, and broken twins that must not pass for them.

A literal version leaves no room: half the width, a calibration play that counts, another rule for
ties or a delay that is off by one all change what is played.
"""

import math
from collections.abc import Callable
from typing import Any

import literal
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import generic_instances

from fallow import BanditRanker, Block, Instance, LowSwitch, Outcome, RankingUCB, catalog
from fallow.learners import (
    AnytimeLowSwitch,
    CheckedLearner,
    Doubling,
    ExploreThenCommit,
    RankingUCB2,
    RankThenCut,
    load,
)

READINGS: dict[str, dict[str, Any]] = {
    "up, race": {},
    "down, race": {"rounding": "down"},
    "up, commit": {"cut_stage": "commit"},
    "down, commit": {"rounding": "down", "cut_stage": "commit"},
    "up, race, active widths": {"widths": "active"},
    "up, commit, active widths": {"cut_stage": "commit", "widths": "active"},
}


low_switch: Any = LowSwitch
rank_then_cut: Any = RankThenCut
"""To be given what a type checker would refuse."""


def by_baseline(instance: Instance) -> Instance:
    return Instance(instance.means[instance.order])


def differing_games(make: Callable[..., LowSwitch], reading: str, games: int = 40) -> int:
    """Return in how many games a learner does not pull what the literal version pulls."""
    options = READINGS[reading]
    differing = 0
    for seed in range(games):
        generator = np.random.default_rng(seed)
        instance = by_baseline(catalog.random_table(int(generator.integers(2, 7)), 4, seed))
        horizon = int(10 ** generator.uniform(1, 4))
        scale = float(generator.choice([1, 0.5, 0.1]))
        learner = make(range(instance.arms), horizon, 0.1, scale, **options)
        expected = literal.low_switch(
            literal.Game(instance, horizon, seed),
            instance.arms,
            0.1,
            scale,
            math.floor if "rounding" in options else math.ceil,
            commits="cut_stage" in options,
            active_widths="widths" in options,
        )
        pulls = literal.follow(learner, literal.Game(instance, horizon, seed))
        differing += pulls != expected
    return differing


@pytest.mark.parametrize("reading", READINGS)
def test_low_switch_is_algorithm_1_in_every_reading(reading: str) -> None:
    assert differing_games(LowSwitch, reading) == 0


class HalfWidths(LowSwitch):
    """Takes half of C_s."""

    def width(self, stage: int) -> float:
        return super().width(stage) / 2


class CountsCalibration(LowSwitch):
    """Averages the first play with the others."""

    def _learn(self, block: Block, outcome: Outcome) -> None:
        total = [a + b for a, b in zip(outcome.first, outcome.rest, strict=True)]
        share = (block.plays - 1) / block.plays
        super()._learn(block, Outcome(outcome.first, [each * share for each in total]))


class OnePlayFewer(LowSwitch):
    """Forgets the play that only calibrates."""

    def _plays(self, arms: int) -> int:
        return max(super()._plays(arms) - 1, 2)


class CommitsToTheLongest(LowSwitch):
    """Takes the last of equally good policies, or just the last."""

    def _end_stage(self) -> None:
        before = self.active
        super()._end_stage()
        if len(self.active) == 1:
            self.active = before[-1:]


class WidthsOfTheNextStage(LowSwitch):
    """Takes one policy fewer than are active for the widths."""

    def width(self, stage: int) -> float:
        return super().width(stage) * math.sqrt(1 - 1 / len(self.active))


@pytest.mark.parametrize("twin", [HalfWidths, CountsCalibration, OnePlayFewer, CommitsToTheLongest])
def test_a_broken_twin_of_low_switch_is_noticed(twin: type[LowSwitch]) -> None:
    assert differing_games(twin, "up, commit") > 0


@pytest.mark.parametrize("twin", [HalfWidths, WidthsOfTheNextStage])
def test_a_broken_twin_of_active_widths_is_noticed(twin: type[LowSwitch]) -> None:
    assert differing_games(twin, "up, commit, active widths") > 0


def test_delays_that_are_off_by_one_are_noticed() -> None:
    """As if a delay of tau paid what tau + 1 pays."""

    class Early(literal.Game):
        def pull(self, arm: int) -> float:
            self.last[arm] -= 1
            return super().pull(arm)

    differing = 0
    for seed in range(20):
        instance = by_baseline(catalog.random_table(4, 4, seed))
        expected = literal.low_switch(literal.Game(instance, 2000, seed), 4, 0.1, 0.1)
        learner = LowSwitch(range(4), 2000, 0.1, 0.1)
        differing += literal.follow(learner, Early(instance, 2000, seed)) != expected
    assert differing > 0


def test_ties_between_averages_go_to_fewer_arms() -> None:
    """All averages equal: the committing reading stays with the first of the best."""
    learner = LowSwitch(range(3), horizon=40, cut_stage="commit")
    while len(learner.active) > 1:
        block = learner.ask()
        rest = [0.5 * (block.plays - 1)] * len(block.arms)
        learner.tell(block, Outcome([0.5] * len(block.arms), rest))
    assert learner.active == (1,)


@given(generic_instances(), st.integers(1, 10**5), st.integers(0, 100), st.booleans())
def test_committing_plays_no_stage_that_is_cut(
    instance: Instance, horizon: int, seed: int, down: bool
) -> None:
    """Once a stage after the first is begun, its blocks end before the horizon."""
    reading = READINGS["down, commit" if down else "up, commit"]
    learner = LowSwitch(instance.order, horizon, **reading)
    generator = np.random.default_rng(seed)
    played = 0
    while played < horizon:
        block = learner.ask()
        played += block.pulls
        if learner.stage > 1 and len(learner.active) > 1:
            assert played <= horizon
        rest = generator.binomial(block.plays - 1, 0.5, len(block.arms)).tolist()
        learner.tell(block, Outcome([0.0] * len(block.arms), [float(each) for each in rest]))


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 6))
def test_bandit_ranker_is_algorithm_2(seed: int, arms: int) -> None:
    generator = np.random.default_rng(seed)
    baselines = generator.permutation(np.linspace(0.05, 0.95, arms))
    instance = Instance(baselines[:, np.newaxis])
    games = [literal.Game(instance, 30_000, seed) for _ in range(2)]
    expected = literal.bandit_ranker(games[0], arms, 0.1)
    ranker = BanditRanker(arms, 0.1)
    while not ranker.done:
        block = ranker.ask()
        rewards = [games[1].pull(arm) for arm in block.arms]
        ranker.tell(block, Outcome(rewards, [0.0] * len(rewards)))
    assert list(ranker.order) == expected
    # It stops once every arm has its place; the paper samples on until every arm has left.
    assert games[1].pulls == games[0].pulls[: len(games[1].pulls)]
    assert len(games[1].pulls) > 0


@pytest.mark.parametrize("then", [LowSwitch, RankingUCB, RankingUCB2, AnytimeLowSwitch])
def test_rank_then_cut_hands_the_order_on(then: type[CheckedLearner]) -> None:
    """From the moment of ranking it plays what the second learner plays alone."""
    instance = Instance.b2dep([0.2, 1, 0.6], [1, 1, 1], [0.9])
    whole = RankThenCut(3, 20_000, 0.2, max_delay=1, then=then)
    game = literal.Game(instance, 20_000, seed=4)
    pulls = literal.follow(whole, game)
    ranked = whole.ranking_rounds
    assert whole.stage == "cutting"
    assert 0 < ranked < 20_000
    second = literal.Game(instance, 20_000, seed=4)
    for arm in pulls[:ranked]:
        second.pull(arm)
    alone: Any = {
        LowSwitch: lambda: LowSwitch([1, 2, 0], 20_000 - ranked, 0.1),
        RankingUCB: lambda: RankingUCB([1, 2, 0]),
        RankingUCB2: lambda: RankingUCB2([1, 2, 0]),
        AnytimeLowSwitch: lambda: AnytimeLowSwitch([1, 2, 0], 0.1),
    }[then]
    assert literal.follow(alone(), second) == pulls


def test_options_of_the_second_learner_are_handed_on() -> None:
    learner = RankThenCut(1, 100, cut_stage="commit", confidence_scale=0.5)
    assert isinstance(learner.cutter, LowSwitch)
    assert learner.cutter.cut_stage == "commit"
    assert learner.cutter.confidence_scale == 0.5
    assert load(learner.state()).state() == learner.state()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: low_switch([0], 9, rounding="off"), "rounding must be one of up, down, got 'off'"),
        (
            lambda: low_switch([0], 9, cut_stage="x"),
            "cut_stage must be one of race, commit, got 'x'",
        ),
        (
            lambda: rank_then_cut(3, 10, then=len),
            "then must be a class of learners that extends Checked",
        ),
        (
            lambda: RankThenCut(3, 10, then=BanditRanker),
            "then must be a learner with an argument order, got BanditRanker",
        ),
        (
            lambda: RankThenCut(3, 10, alpha=1),
            "a parameter of LowSwitch must be one of confidence_scale, rounding, cut_stage, widths",
        ),
        (
            lambda: Doubling(RankingUCB, order=[0]),
            "of must be a learner with an argument horizon, got RankingUCB",
        ),
        (lambda: Doubling(LowSwitch), "LowSwitch must be given its parameter 'order', got nothing"),
        (
            lambda: Doubling(LowSwitch, order=[0], first_horizon=0),
            "first_horizon must be a whole number >= 1, got 0",
        ),
    ],
)
def test_bad_parameters_are_named(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("first_horizon", [1, 7, 100])
def test_doubling_plays_fresh_learners_one_after_the_other(first_horizon: int) -> None:
    """Each life is a game of its own length, in which the delays go on."""
    instance = by_baseline(catalog.random_table(3, 4, seed=2))
    total = first_horizon * (2**5 - 1)
    doubling = Doubling(LowSwitch, first_horizon, order=range(3), confidence_scale=0.1)
    pulls = literal.follow(doubling, literal.Game(instance, total, seed=9))
    game = literal.Game(instance, total, seed=9)
    luck = game.luck
    for life in range(5):
        horizon = first_horizon * 2**life
        game.luck = luck[: len(game.pulls) + horizon]
        literal.follow(LowSwitch(range(3), horizon, confidence_scale=0.1), game)
    assert pulls == game.pulls
    assert doubling.horizon == first_horizon * 2**5


def test_doubling_takes_any_learner_that_needs_a_horizon() -> None:
    instance = catalog.random_geometric(4, 3, seed=0)
    classes: list[type[CheckedLearner]] = [RankThenCut, ExploreThenCommit]
    for cls in classes:
        learner = Doubling(cls, arms=4, max_delay=3)
        literal.follow(learner, literal.Game(instance, 1000, seed=1))
        assert isinstance(learner.learner, cls)
        assert learner.horizon == 1024
