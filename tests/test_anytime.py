"""The learners of ranking policies that need no horizon."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learner_contract import Spy
from strategies import generic_instances

from fallow import (
    Block,
    Instance,
    LowSwitch,
    Outcome,
    RankingUCB,
    catalog,
    gain,
    replicate,
    simulate,
)
from fallow.learners import AnytimeLowSwitch, JointRanking, RankingUCB2
from fallow.learners.policy_rewards import PolicyRewards
from fallow.learners.registry import learner_factory
from fallow.planners import ghost
from fallow.trajectory import RunTrajectory

SEEDS = st.integers(0, 100)
HORIZONS = st.integers(1, 10**7)


def divergence(first: float, second: float) -> float:
    terms = ((first, second), (1 - first, 1 - second))
    return sum(p * math.log(p / q) for p, q in terms if p > 0)


def largest_mean(count: int, average: float, level: float) -> float:
    """The largest q with count * divergence(average, q) <= level, by bisection."""
    low, high = average, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        if middle < 1 and count * divergence(average, middle) <= level:
            low = middle
        else:
            high = middle
    return low


def fill(block: Block, first: float, others: float) -> Outcome:
    """Every pull of the first play earns `first`, every other one `others`."""
    arms = len(block.arms)
    return Outcome([first] * arms, [others * (block.plays - 1)] * arms)


def test_the_first_play_is_left_out_only_after_a_change() -> None:
    rewards = PolicyRewards((2, 0, 1))
    rewards.credit(Block((2, 0), 3), Outcome([1.0, 1.0], [1.0, 0.0]))
    assert (rewards.counts, rewards.sums) == ([0, 4, 0], [0, 1, 0])
    rewards.credit(Block((2, 0), 2), Outcome([1.0, 1.0], [1.0, 0.0]))
    assert (rewards.counts, rewards.sums) == ([0, 8, 0], [0, 4, 0])
    rewards.credit(Block((2,), 1), Outcome([1.0], [0.0]))
    assert (rewards.counts, rewards.sums) == ([0, 8, 0], [0, 4, 0])
    rewards.credit(Block((2, 0), 2), Outcome([1.0, 1.0], [1.0, 0.0]))
    assert (rewards.counts, rewards.sums) == ([0, 10, 0], [0, 5, 0])


def test_ranking_ucb2_goes_on_with_a_good_policy_and_counts_all_its_plays() -> None:
    learner = RankingUCB2(range(2), alpha=0.5, first_epoch=10)
    first = learner.ask()
    assert first == Block((0,), 11)
    learner.tell(first, fill(first, 1.0, 0.1))
    second = learner.ask()
    assert second == Block((0, 1), 6)
    learner.tell(second, fill(second, 0.0, 1.0))
    assert learner.rewards.counts == [10, 10]
    assert learner.rewards.sums == pytest.approx([1, 10])
    # pi_2 goes on: 5 more pulls are 3 plays, and all of them count.
    third = learner.ask()
    assert third == Block((0, 1), 3)
    learner.tell(third, fill(third, 0.5, 1.0))
    assert learner.rewards.counts == [10, 16]
    assert learner.rewards.sums == pytest.approx([1, 15])


@given(st.integers(0, 10**6))
def test_ranking_ucb2_plays_what_its_definition_says(seed: int) -> None:
    instance = catalog.random_table(arms=4, max_delay=3, seed=seed)
    alpha, first_epoch = 0.6, 5
    spy = Spy(RankingUCB2(range(4), alpha, first_epoch))
    simulate(instance, spy, 5000, seed)
    pulls, rewards, last = [0] * 5, [0.0] * 5, 0
    for block, outcome in zip(spy.blocks[: len(spy.outcomes)], spy.outcomes, strict=True):
        arms = len(block.arms)
        if 0 in pulls[1:]:
            assert arms == pulls.index(0, 1)
            epoch = first_epoch
        else:
            levels = [(1 + alpha) * (1 + math.log(sum(pulls) / n)) for n in pulls[1:]]
            bounds = [
                largest_mean(n, min(total / n, 1), level)
                for n, total, level in zip(pulls[1:], rewards[1:], levels, strict=True)
            ]
            assert bounds[arms - 1] >= max(bounds) - 1e-6
            epoch = math.ceil(alpha * pulls[arms])
        assert block.plays == math.ceil(epoch / arms) + (arms != last)
        pulls[arms] += arms * (block.plays - (arms != last))
        rewards[arms] += sum(outcome.rest) + (sum(outcome.first) if arms == last else 0)
        last = arms


@given(generic_instances(), HORIZONS, st.floats(0.05, 0.99), st.integers(1, 50), SEEDS)
def test_ranking_ucb2_switches_at_most_k_log_t_times(
    instance: Instance, horizon: int, alpha: float, first_epoch: int, seed: int
) -> None:
    """A policy with j full epochs has first_epoch (1 + alpha)^(j - 1) <= T pulls that count."""
    run = simulate(instance, RankingUCB2(instance.order, alpha, first_epoch), horizon, seed)
    growths = max(math.log(horizon / first_epoch) / math.log(1 + alpha), 0)
    assert run.switches(horizon) <= instance.arms * (1 + growths)


@given(generic_instances(), HORIZONS, st.integers(1, 50), SEEDS)
def test_anytime_low_switch_switches_at_most_k_log_t_times(
    instance: Instance, horizon: int, first_stage: int, seed: int
) -> None:
    learner = AnytimeLowSwitch(instance.order, first_stage=first_stage)
    run = simulate(instance, learner, horizon, seed)
    doublings = max(math.log2(horizon / first_stage), 0)
    assert run.switches(horizon) <= (instance.arms - 1) * (2 + doublings)


def test_equal_policies_need_one_switch_a_stage() -> None:
    """Stages go to and fro, and no policy leaves: with two of them, one switch a stage."""
    learner = AnytimeLowSwitch(range(2))
    run = simulate(catalog.figure3(), learner, 10**9, seed=0, rewards="none")
    assert learner.active == (1, 2)
    assert run.switches(10**9) in (learner.stage - 1, learner.stage)


def test_stages_double_and_keep_earlier_pulls() -> None:
    learner = AnytimeLowSwitch(range(3), first_stage=6)
    asked = []
    for _ in range(7):
        block = learner.ask()
        asked.append(block)
        learner.tell(block, fill(block, 0.5, 0.5))
    cycles = [(0,), (0, 1), (0, 1, 2), (0, 1, 2), (0, 1), (0,), (0,)]
    # A play more than is needed after each change, and none where a stage begins.
    plays = [6 + 1, 3 + 1, 2 + 1, 2, 3 + 1, 6 + 1, 12]
    assert asked == [Block(arms, number) for arms, number in zip(cycles, plays, strict=True)]
    assert learner.rewards.counts == [24, 12, 12]


def test_thresholds_share_delta_among_rivals_and_stages() -> None:
    learner = AnytimeLowSwitch(range(4), delta=0.2)
    shares = [
        3 * (1 + learner.threshold(stage)) * math.exp(-learner.threshold(stage))
        for stage in range(1, 100)
    ]
    assert shares == pytest.approx([0.2 / (stage * (stage + 1)) for stage in range(1, 100)])
    assert sum(shares) < 0.2


def test_evidence_is_the_least_over_a_common_gain() -> None:
    learner = AnytimeLowSwitch(range(2))
    learner.rewards.counts, learner.rewards.sums = [40, 60], [30.0, 30.0]
    common = np.linspace(0.001, 0.999, 99_801)
    by_gain = [40 * divergence(0.75, q) + 60 * divergence(0.5, q) for q in common]
    assert learner.evidence(1, 2) == pytest.approx(min(by_gain), abs=1e-6)


def test_elimination_drops_what_is_beyond_the_threshold() -> None:
    high = low = 0.7
    learner = AnytimeLowSwitch(range(2), first_stage=1000)
    while evidence_of_equal_counts(high, low, 1000) < learner.threshold(1):
        low -= 1e-4
    for average, kept in ((low + 1e-3, (1, 2)), (low - 1e-3, (1,))):
        learner = AnytimeLowSwitch(range(2), first_stage=1000)
        for told in (high, average):
            block = learner.ask()
            # A first play of zeros must not matter.
            learner.tell(block, fill(block, 0.0, told))
        assert learner.active == kept


def evidence_of_equal_counts(high: float, low: float, count: int) -> float:
    middle = (high + low) / 2
    return count * (divergence(high, middle) + divergence(low, middle))


class Reckless(AnytimeLowSwitch):
    """Asks for a quarter of the evidence."""

    def threshold(self, stage: int) -> float:
        return super().threshold(stage) / 4


def runs_that_lose_the_best_policy(learner: type[AnytimeLowSwitch]) -> int:
    """Of 1,000 seeded runs with delta = 0.1 and a gap of 0.0075; all of them decide."""
    wrong = 0
    for seed in range(1000):
        race = learner([0, 1], delta=0.1)
        simulate(catalog.figure3(0.02), race, 10**7, seed, checkpoints=[10**7])
        assert len(race.active) == 1
        wrong += race.active == (1,)
    return wrong


def test_the_best_policy_is_kept_with_the_stated_probability() -> None:
    """It may leave in 100 runs; it left in 4 when this was written, and in 120 of the reckless."""
    assert runs_that_lose_the_best_policy(AnytimeLowSwitch) <= 100
    assert runs_that_lose_the_best_policy(Reckless) > 100


def best_cycle(instance: Instance) -> set[int]:
    """The best set of arms to take in turn, by trying them all."""
    sets: list[tuple[int, ...]] = [
        arms
        for size in range(1, instance.arms + 1)
        for arms in combinations(range(instance.arms), size)
    ]
    best = max(sets, key=lambda arms: gain(instance, arms))
    return set(best)


@pytest.mark.parametrize("seed", range(12))
def test_joint_ranking_finds_order_and_cutoff(seed: int) -> None:
    """Within a million rounds; seeded. The best cycle leads by 0.008 to 0.15 on these instances."""
    instance = catalog.random_geometric(arms=5, max_delay=4, seed=seed)
    spy = Spy(JointRanking(5, max_delay=4))
    simulate(instance, spy, 10**6, seed)
    pulls: Counter[tuple[int, ...]] = Counter()
    for block in spy.blocks[: len(spy.outcomes)]:
        pulls[block.arms] += block.pulls
    (most_played, _), *_ = pulls.most_common(1)
    assert set(most_played) == best_cycle(instance)


@pytest.mark.parametrize("cutoff", [1, 2, 3, 4])
def test_joint_ranking_finds_ghost_where_delays_are_equal(cutoff: int) -> None:
    """The best m arms by baseline are then the best m at every delay."""
    baselines = np.array([0.9, 0.85, 0.8, 0.75])
    baselines[cutoff:] = [0.3, 0.2, 0.1][: 4 - cutoff]
    shuffled = np.random.default_rng(cutoff).permutation(baselines)
    decay = [0.1] * (cutoff == 1) or [0.8] * (cutoff - 1)
    instance = Instance.b2dep(shuffled, [len(decay)] * 4, decay)
    assert len(ghost(instance).cycle) == cutoff
    run = simulate(instance, JointRanking(4, max_delay=3), 10**6, seed=cutoff)
    assert isinstance(run, RunTrajectory)
    pulls = np.bincount(run.record.numbers, run.record.pulls)
    start, end = run.record.cycles.starts[pulls.argmax() : pulls.argmax() + 2]
    assert set(run.record.cycles.arms[start:end]) == set(ghost(instance).cycle)
    assert pulls.max() > 0.9 * 10**6


@given(generic_instances(), HORIZONS, SEEDS)
def test_joint_ranking_switches_only_when_a_cell_doubled(
    instance: Instance, horizon: int, seed: int
) -> None:
    bound = int(instance.delays.max())
    run = simulate(instance, JointRanking(instance.arms, bound), horizon, seed)
    cells = instance.arms * (bound + 1)
    assert run.switches(horizon) <= cells * (1 + math.log2(horizon))


def test_joint_ranking_keeps_its_cycle_while_none_is_better() -> None:
    learner = JointRanking(3, max_delay=2)
    for _ in range(20):
        block = learner.ask()
        assert block.arms == (0, 1, 2)
        learner.tell(block, fill(block, 1.0, 1.0))
    # All pulls find their arm rested: two plays, then in each block one more than there were, which
    # makes 3 * 2^(j - 1) - 1 of them after block j.
    assert block.plays == 1 + (3 * 2**18 - 1)


@pytest.mark.parametrize("name", ["ranking-ucb2", "anytime-low-switch", "joint-ranking"])
def test_a_trillion_rounds_take_few_blocks(name: str) -> None:
    """At most a hundred for each policy, so that time does not grow with the horizon."""
    for instance in (catalog.figure2(seed=3), catalog.figure3(), catalog.random_geometric(seed=1)):
        spy = Spy(learner_factory(name, 10**12)(instance, 0))
        simulate(instance, spy, 10**12, seed=0, checkpoints=[10**12])
        assert len(spy.blocks) <= 100 * instance.arms


@pytest.mark.parametrize("name", ["ranking-ucb2", "anytime-low-switch", "joint-ranking"])
def test_a_single_arm_is_played_for_ever(name: str) -> None:
    instance = Instance([[0.5]])
    run = simulate(instance, learner_factory(name, 10**9)(instance, 0), 10**9, seed=0)
    assert run.switches(10**9) == 0


def test_wrong_parameters_are_named() -> None:
    with pytest.raises(ValueError, match="alpha must lie strictly between 0 and 1, got 1"):
        RankingUCB2(range(2), alpha=1)
    with pytest.raises(ValueError, match="first_epoch must be"):
        RankingUCB2(range(2), first_epoch=0)
    with pytest.raises(ValueError, match="delta must lie strictly between 0 and 1, got 0"):
        AnytimeLowSwitch(range(2), delta=0)
    with pytest.raises(ValueError, match="max_delay must be"):
        JointRanking(2, max_delay=-1)


@pytest.mark.parametrize("epsilon", [-0.4, -0.02, 0.0, 0.1, None])
def test_ranking_ucb2_comes_close_to_the_better_of_both(epsilon: float | None) -> None:
    """A part of the goal: regret at most 1.25 times the better one's, plus 10; seeded.

    Over the whole sweep the worst ratio is below 1; see docs/explanation/benchmarks.md.
    """
    instance = catalog.figure2 if epsilon is None else catalog.figure3(epsilon)
    horizon = 10**4
    study = replicate(
        instance,
        {
            "ucb": lambda drawn, _: RankingUCB(drawn.order),
            "low": lambda drawn, _: LowSwitch(drawn.order, horizon),
            "ucb2": lambda drawn, _: RankingUCB2(drawn.order),
        },
        horizon,
        runs=50,
        seed=2,
        checkpoints=[horizon],
    )
    regret = {name: study.regret(name, switching_cost=1).mean() for name in study.learners}
    assert regret["ucb2"] <= 1.25 * min(regret["ucb"], regret["low"]) + 10
