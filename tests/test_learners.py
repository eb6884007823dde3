"""Every learner does what its algorithm says."""

import math
from collections.abc import Callable
from functools import partial
from itertools import cycle, islice
from typing import Any

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from learner_contract import Spy
from strategies import generic_instances

from fallow import (
    BanditRanker,
    Block,
    Instance,
    LowSwitch,
    Outcome,
    RankingUCB,
    catalog,
    checks,
    optimal,
    simulate,
)
from fallow.learners import (
    UCB1,
    AnytimeLowSwitch,
    CheckedLearner,
    EpsilonGreedy,
    Follow,
    RankingUCB2,
    RankThenCut,
    SlidingWindowUCB,
    ThompsonSampling,
)
from fallow.learners.baselines import BlindLearner
from fallow.planners import ghost, ranking_gains
from fallow.trajectory import RunTrajectory


@given(st.integers(0, 10**6))
def test_ranking_ucb_plays_bit_for_bit_what_the_paper_says(seed: int) -> None:
    instance = catalog.random_table(arms=5, max_delay=4, seed=seed)
    instance = Instance(instance.means[instance.order])
    generator = np.random.default_rng(seed)
    oracle = reference.RankingUCB(instance.means.tolist(), generator)
    expected = oracle.run(700)
    run = simulate(instance, RankingUCB(range(5)), 700, seed)
    assert isinstance(run, RunTrajectory)
    pulls: list[int] = []
    for number, count in zip(run.numbers, run.pulls, strict=True):
        pulls += islice(cycle(range(number + 1)), count)
    assert pulls == expected


def test_figure3_without_noise_is_the_printed_one() -> None:
    """Read off the figure: pi_ucb about 298 and -35, pi_low about 10 and -1."""
    instance = catalog.figure3()
    best = ghost(instance)
    ucb = simulate(instance, RankingUCB([0, 1]), 1000, seed=0, rewards="none")
    low = simulate(instance, LowSwitch([0, 1], 1000), 1000, seed=0, rewards="none")
    assert ucb.switches(1000) == 333
    assert float(ucb.regret(best, 1000, switching_cost=1)) == pytest.approx(296.5667, abs=1e-3)
    assert float(ucb.regret(best, 1000)) == pytest.approx(-36.4333, abs=1e-3)
    assert low.switches(1000) == 7
    assert float(low.regret(best, 1000, switching_cost=1)) == pytest.approx(5.8333, abs=1e-3)
    assert float(low.regret(best, 1000)) == pytest.approx(-1.1667, abs=1e-3)


def test_low_switch_has_the_papers_stages_and_widths() -> None:
    learner = LowSwitch(range(7), horizon=1000)
    assert learner.stages == 4
    widths = [2 * learner.width(stage) for stage in (1, 2, 3, 4)]
    assert widths == pytest.approx([1.67, 0.70, 0.46, 0.37], abs=0.006)
    assert learner.stage_rounds(1) == pytest.approx(math.sqrt(1000))


def test_stages_grow_as_the_log_of_the_log_of_the_horizon() -> None:
    stages = [LowSwitch(range(7), horizon=10**power).stages for power in range(3, 16)]
    for power, count in zip(range(3, 16), stages, strict=True):
        assert count <= math.log2(math.log2(10**power)) + 2
    assert stages == sorted(stages)
    assert stages[-1] <= stages[0] + 4


@given(generic_instances(), st.integers(1, 10**5), st.floats(0.01, 1), st.integers(0, 100))
def test_low_switch_never_switches_more_than_its_bound(
    instance: Instance, horizon: int, scale: float, seed: int
) -> None:
    learner = LowSwitch(instance.order, horizon, confidence_scale=scale)
    run = simulate(instance, learner, horizon, seed)
    assert run.switches(horizon) <= instance.arms * learner.stages


def test_low_switch_keeps_what_is_within_two_widths() -> None:
    learner = LowSwitch(range(3), horizon=10**6, confidence_scale=0.5)
    bar = 2 * learner.width(1)
    averages = {1: 0.9, 2: 0.9 - bar + 1e-6, 3: 0.9 - bar - 1e-6}
    for arms, average in averages.items():
        block = learner.ask()
        assert block.arms == tuple(range(arms))
        assert block.plays == math.ceil(1000 / (arms * 3)) + 1
        # A first play of zeros must not matter.
        rest = [average * (block.plays - 1)] * arms
        learner.tell(block, Outcome([0.0] * arms, rest))
    assert learner.active == (1, 2)
    assert learner.stage == 2


def test_a_policy_left_alone_is_played_to_the_horizon() -> None:
    learner = LowSwitch(range(2), horizon=10_000, confidence_scale=1e-6)
    for value in (0.0, 1.0):
        block = learner.ask()
        learner.tell(block, Outcome([value] * len(block.arms), [0.9 * value] * len(block.arms)))
    played = math.ceil(100 / 2) + 1 + 2 * (math.ceil(100 / 4) + 1)
    assert learner.ask() == Block((0, 1), math.ceil((10_000 - played) / 2))


def test_theorem3_holds_with_the_constants_of_its_proof() -> None:
    """In 1,000 runs the regret stays under the bound; it may fail in a share delta of them."""
    horizon, delta, arms = 10**9, 0.1, 4
    failures = could_fail = 0
    for seed in range(1000):
        instance = catalog.random_geometric(arms=arms, max_delay=3, seed=seed % 50)
        learner = LowSwitch(instance.order, horizon, delta)
        run = simulate(instance, learner, horizon, seed, checkpoints=[horizon])
        stages = learner.stages
        widths = sum(
            4 * learner.stage_rounds(stage) * learner.width(stage - 1)
            for stage in range(2, stages + 1)
        )
        bound = arms**2 * stages + learner.stage_rounds(1) + widths
        failures += float(run.regret(ghost(instance), horizon)) > bound
        lost = horizon * (ghost(instance).gain - ranking_gains(instance).min())
        could_fail += lost > bound
    assert failures <= delta * 1000
    assert could_fail > 900  # the worst ranking policy would break the bound


def test_a_learner_beyond_its_horizon_stays_with_the_best() -> None:
    learner = LowSwitch(range(3), 100)
    run = simulate(Instance([[0.5]] * 3), learner, 10**5, seed=0)
    assert run.switches(10**5) <= 3 * learner.stages


def test_theorem4_order_is_right_in_enough_runs() -> None:
    """Of 1,000 runs at most a share delta may end in a wrong order."""
    delta = 0.1
    instance = Instance.b2dep([0.1, 0.9, 0.5], [2, 1, 2], [0.9, 0.5])
    wrong = 0
    for seed in range(1000):
        ranker = BanditRanker(3, delta, max_delay=2)
        simulate(instance, ranker, 20_000, seed, checkpoints=[20_000])
        assert ranker.unresolved == ()
        wrong += ranker.order != (1, 2, 0)
    assert wrong <= delta * 1000


@settings(max_examples=30)
@given(st.integers(4, 9), st.integers(1, 6), st.booleans())
def test_calibrated_samples_find_every_arm_rested(arms: int, delay: int, frugal: bool) -> None:
    """Without noise, each sample is the baseline, though every earlier delay pays nothing.

    Two arms leave early, so that the active set shrinks, also below d_0.
    """
    baselines = np.array([1.0, 0.0, *np.linspace(0.55, 0.45, arms - 2)])
    instance = Instance.blocking(baselines, [delay] * arms)
    ranker = BanditRanker(arms, 0.1, max_delay=delay, frugal=frugal)
    horizon = 30_000
    simulate(instance, ranker, horizon, seed=0, rewards="none", checkpoints=[horizon])
    assert len(ranker.active) <= arms - 2
    averages = np.array(ranker.sums) / ranker.samples
    np.testing.assert_allclose(averages, baselines, atol=1e-12)


def test_calibration_costs_at_most_twice_the_pulls_when_groups_are_full() -> None:
    for arms, delay in [(4, 3), (8, 3), (12, 5)]:
        plain = BanditRanker(arms, 0.1)
        calibrated = BanditRanker(arms, 0.1, max_delay=delay)
        blocks = []
        while calibrated.rounds < 1:
            block = calibrated.ask()
            blocks.append(block)
            calibrated.tell(block, Outcome([0.5] * len(block.arms), [0.5] * len(block.arms)))
        assert sum(block.pulls for block in blocks) == 2 * plain.ask().pulls


def test_the_width_is_infinite_until_all_arms_were_sampled() -> None:
    ranker = BanditRanker(2, delta=0.1)
    assert ranker.width == math.inf
    ranker.tell(ranker.ask(), Outcome([1.0, 0.0], [0.0, 0.0]))
    assert ranker.width == pytest.approx(math.sqrt(math.log(2 * 2 * 1 * 2 / 0.1) / 2))


def test_frugal_calibration_wastes_no_pull_while_enough_arms_are_active() -> None:
    ranker = BanditRanker(6, 0.1, max_delay=4, frugal=True)
    assert ranker.ask() == Block((0, 1, 2, 3, 4, 5), 1)


def test_equal_arms_are_reported_when_the_budget_ends() -> None:
    instance = Instance.blocking([0.5, 0.9, 0.5], [1, 1, 1])
    ranker = BanditRanker(3, 0.1, max_delay=1, budget=20_000)
    simulate(instance, ranker, 30_000, seed=1)
    assert ranker.done
    assert ranker.pulls <= 20_000
    assert ranker.order[0] == 1
    assert ranker.unresolved == (0, 2)
    assert ranker.groups == [[1], [0, 2]] or ranker.groups == [[1], [2, 0]]
    assert ranker.ask() == Block((1,), 2**52)


def test_a_wrong_tree_would_show_in_the_order() -> None:
    """Arms leave in the order best, worst, middle; the walk puts them in their places."""
    instance = Instance([[0.5], [0.98], [0.02], [0.6]])
    ranker = BanditRanker(4, 0.1)
    simulate(instance, ranker, 100_000, seed=2)
    assert ranker.order == (1, 3, 0, 2)
    assert ranker.groups[0] == [1]


def test_rank_then_cut_finds_order_and_cutoff_from_nothing() -> None:
    instance = Instance.b2dep([0.2, 1, 0.6], [1, 1, 1], [0.9])
    learner = RankThenCut(3, 10**7, max_delay=1)
    assert learner.stage == "ranking"
    run = simulate(instance, learner, 10**7, seed=4)
    assert learner.stage == "cutting"
    assert learner.ranker.order == (1, 2, 0)
    assert isinstance(learner.cutter, LowSwitch)
    best = int(ranking_gains(instance).argmax()) + 1
    assert best in learner.cutter.active
    assert float(run.expected_reward(10**7)) / 10**7 > 0.97 * ghost(instance).gain


def test_following_the_optimum_earns_it() -> None:
    instance = catalog.figure2(seed=1)
    plan = optimal(instance)
    run = simulate(instance, Follow(plan), 10**15, seed=0)
    assert float(run.expected_reward(10**15)) / 10**15 == pytest.approx(plan.gain, abs=1e-12)
    assert run.switches(10**15) == 0


@pytest.mark.parametrize(
    "learner", [UCB1(3), ThompsonSampling(3), EpsilonGreedy(3, 0.01), SlidingWindowUCB(3, 500)]
)
def test_blind_learners_find_the_best_arm_where_delays_do_not_matter(
    learner: CheckedLearner,
) -> None:
    instance = Instance([[0.2], [0.8], [0.4]])
    run = simulate(instance, learner, 20_000, seed=0)
    assert float(run.regret(0.8, 20_000)) < 0.1 * 20_000 * 0.4


def test_a_window_forgets_what_is_older() -> None:
    learner = SlidingWindowUCB(2, window=10)
    for pull in range(25):
        block = learner.ask()
        learner.tell(block, Outcome([1.0 if pull < 12 else 0.0], [0.0]))
    assert learner._statistics.counts.sum() == 10
    assert learner._statistics.sums.tolist() == [0, 0]


def test_without_chance_epsilon_greedy_tries_all_arms_then_keeps_to_the_first_best() -> None:
    learner = EpsilonGreedy(3, epsilon=0)
    pulled: list[int] = []
    for reward in (0.5, 1.0, 1.0, 1.0, 0.0, 1.0):
        block = learner.ask()
        pulled += block.arms
        learner.tell(block, Outcome([reward], [0.0]))
    assert pulled == [0, 1, 2, 1, 1, 2]


@pytest.mark.parametrize("build", [ThompsonSampling, partial(EpsilonGreedy, epsilon=0.9)])
def test_equal_seeds_of_learner_and_simulator_are_not_the_same_stream(
    build: Callable[..., BlindLearner],
) -> None:
    """Of 4,000 first pulls of each kind, about 0.5 pay; 6 standard errors, a chance below 1e-8."""
    instance = Instance([[0.5], [0.5]])
    rewards: dict[int, list[float]] = {0: [], 1: []}
    for seed in range(4000):
        learner = build(2, seed=seed)
        run = simulate(instance, learner, 1, seed)
        assert isinstance(run, RunTrajectory)
        arm = int(run.numbers[0])
        rewards[arm].append(float(learner._statistics.sums[arm]))
    for sample in rewards.values():
        assert abs(np.mean(sample) - 0.5) < 6 * 0.5 / math.sqrt(len(sample))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: LowSwitch([], 10), "order must hold at least one number, got none"),
        (lambda: LowSwitch([0, 1], 0), "horizon must be a whole number >= 1, got 0"),
        (lambda: LowSwitch([0, 1], 10, delta=0), "delta must lie strictly between 0 and 1, got 0"),
        (lambda: LowSwitch([0, 0], 10), "order must hold each arm from 0 to 1 once"),
        (
            lambda: LowSwitch([0, 1], 10, confidence_scale=0),
            "confidence_scale must be finite and above 0",
        ),
        (lambda: RankingUCB([1]), r"order must hold each arm from 0 to 0 once, got \(1,\)"),
        (lambda: BanditRanker(0, max_delay=2), "arms must be a whole number >= 1, got 0"),
        (lambda: BanditRanker(2, max_delay=0), "max_delay must be a whole number >= 1, got 0"),
        (lambda: BanditRanker(2, budget=-1), "budget must be a whole number >= 0, got -1"),
        (lambda: EpsilonGreedy(2, epsilon=2), r"epsilon must be a number in \[0, 1\], got 2"),
        (lambda: SlidingWindowUCB(2, window=0), "window must be a whole number >= 1, got 0"),
        (lambda: ThompsonSampling(2, seed=-1), "seed must be a whole number >= 0, got -1"),
        (lambda: RankThenCut(3, 10, delta=1), "delta must lie strictly between 0 and 1, got 1"),
    ],
)
def test_bad_parameters_are_named(build: type, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("max_delay", [None, 3])
def test_a_single_arm_is_ranked_at_once(max_delay: int | None) -> None:
    """Algorithm 2 ends when at most one arm is active; here that is before the first pull."""
    ranker = BanditRanker(1, max_delay=max_delay)
    assert (ranker.done, ranker.order, ranker.pulls) == (True, (0,), 0)
    both = RankThenCut(1, 100, max_delay=max_delay)
    assert (both.stage, both.ranking_rounds) == ("cutting", 0)
    second = LowSwitch([0], 100, delta=0.05)
    for learner, same in ((ranker, BanditRanker(1)), (both, second)):
        restored, expected = Spy(learner, stop=0), Spy(same)
        for spy in (restored, expected):
            run = simulate(Instance([[0.1, 0.5, 0.9]]), spy, 100, seed=0)
            assert run.counts().tolist() == [100]
        assert restored.blocks == expected.blocks


@pytest.mark.parametrize("build", [LowSwitch, RankingUCB, RankingUCB2, AnytimeLowSwitch])
def test_the_order_is_never_guessed(build: Callable[..., CheckedLearner]) -> None:
    more = [100] if build is LowSwitch else []
    for wrong in (7, np.int64(7), None, "210"):
        with pytest.raises(
            ValueError,
            match="order must list the arms from the largest baseline to the smallest, such as "
            f"instance.order, got {checks.short(wrong)}$",
        ):
            build(wrong, *more)
    for order in ([2, 0, 1], (2, 0, 1), range(3), np.array([2, 0, 1], np.int32)):
        learner: Any = build(order, *more)
        assert learner.order == tuple(order)
        assert learner.arms == 3
        assert learner.ask().arms == (order[0],)
