"""The rotation learner and what it is made of."""

import json
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learner_contract import Spy

from fallow import (
    Block,
    Instance,
    LowSwitch,
    Outcome,
    RankingUCB,
    Rotation,
    catalog,
    gain,
    optimal,
    replicate,
    simulate,
)
from fallow.kernels.cycles import own_delays
from fallow.kernels.playing import best_start, plays_until_growth, pulls_until_growth
from fallow.learners import JointRanking, RankingUCB2
from fallow.learners.cell_rewards import Cells
from fallow.learners.rotation import PLANNERS
from fallow.planners import ghost
from fallow.planners.plan import optimum_or_bound
from fallow.studies import estimate

cycles = st.lists(st.integers(0, 3), min_size=1, max_size=9)


def test_ties_go_to_more_rest() -> None:
    """With nothing known all cycles promise the same; the one with the longest delays is tried."""
    assert sorted(Rotation(3, max_delay=2, switching_cost=1.0).ask().arms) == [0, 1, 2]


def test_whole_numbers_of_any_kind_are_taken() -> None:
    three: Any = np.int64(3)
    order: Any = np.array([2, 0, 1], np.uint8)
    for learner in (Rotation(three, three), JointRanking(three, three), RankingUCB2(order)):
        json.dumps(learner.state())


@given(cycles)
def test_own_delays_are_those_of_the_repeated_cycle(cycle: list[int]) -> None:
    found = own_delays(np.array(cycle), 4)
    for place, arm in enumerate(cycle):
        back = next(step for step in range(1, len(cycle) + 1) if cycle[place - step] == arm)
        assert found[place] == back


@given(cycles, st.integers(1, 30), st.integers(0, 10**6))
def test_a_cycle_is_entered_where_so_many_rounds_are_worth_most(
    cycle: list[int], rounds: int, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    values = np.sort(generator.random((4, 5)), axis=1)
    delays = generator.integers(1, 6, 4)

    def worth(start: int) -> float:
        last = {arm: -int(delays[arm]) for arm in range(4)}
        total = 0.0
        for now in range(rounds):
            arm = cycle[(start + now) % len(cycle)]
            total += values[arm, min(now - last[arm], 5) - 1]
            last[arm] = now
        return total

    start = best_start(values, delays, np.array(cycle), own_delays(np.array(cycle), 4), rounds)
    assert worth(start) == pytest.approx(max(map(worth, range(len(cycle)))), abs=1e-9)


@given(cycles, st.integers(0, 10**6))
def test_a_block_ends_when_a_cell_has_doubled(cycle: list[int], seed: int) -> None:
    generator = np.random.default_rng(seed)
    counts = generator.integers(0, 30, (4, 4)).astype(float)
    delays = generator.integers(1, 5, 4)
    used = np.zeros((4, 4))
    for arm, delay in zip(cycle, own_delays(np.array(cycle), 4), strict=True):
        used[arm, min(delay, 4) - 1] += 1
    plays = plays_until_growth(counts, np.array(cycle), own_delays(np.array(cycle), 4), 1.0)
    grown = used > 0
    assert (used * plays >= np.maximum(counts, 1))[grown].any()
    assert not (used * (plays - 1) >= np.maximum(counts, 1))[grown].any()
    pulls = pulls_until_growth(counts, delays, np.array(cycle), 1.0)
    last = {arm: -int(delays[arm]) for arm in range(4)}
    used, doubled = np.zeros((4, 4)), 0
    for now, arm in enumerate(cycle):
        cell = arm, min(now - last[arm], 4) - 1
        used[cell] += 1
        last[arm] = now
        if used[cell] >= max(counts[cell], 1) and not doubled:
            doubled = now + 1
    assert pulls == doubled


def _shares(rounds: list[int], runs: int, seed: int) -> list[float]:
    study = replicate(
        catalog.figure2,
        lambda instance, _: Rotation(instance.arms, max_delay=6),
        rounds[-1],
        runs,
        seed,
        checkpoints=rounds,
        references={"ghost": ghost, "optimum": optimal},
    )
    earned = study.share(study.learners[0])
    return [float(mean) for mean in estimate(earned).mean]


def test_it_reaches_the_optimum_of_figure_2_from_nothing() -> None:
    """Goals for the means; the means of 20 runs lie 10 of their standard errors above."""
    short, middle, long = _shares([10**3, 10**4, 10**5], runs=20, seed=17)
    assert short > 0.93
    assert middle > 0.98
    assert long > 0.99


@pytest.mark.parametrize("cost", [0.0, 1.0, 5.0])
def test_it_beats_both_learners_of_the_paper_at_every_switching_cost(cost: float) -> None:
    """On Figure 3's instance, by hundreds of standard errors."""
    learners = {
        "rotation": lambda *_: Rotation(2, max_delay=2, switching_cost=cost),
        "pi_ucb": lambda *_: RankingUCB([0, 1]),
        "pi_low": lambda *_: LowSwitch([0, 1], 3000),
    }
    study = replicate(catalog.figure3(), learners, 3000, runs=20, seed=3)
    for other in ("pi_ucb", "pi_low"):
        more = study.difference(other, "rotation", switching_cost=cost)
        assert more.mean[-1] - more.half_width[-1] > 100


def test_a_cost_makes_it_switch_less() -> None:
    def switches(cost: float) -> float:
        study = replicate(
            catalog.figure2, lambda *_: Rotation(7, 6, switching_cost=cost), 10**4, 10, seed=5
        )
        return float(study.switches[:, 0, -1].mean())

    free, cheap, dear = map(switches, (0.0, 1.0, 10.0))
    assert free > 1.5 * cheap > 1.5 * dear


@given(st.integers(0, 10**6), st.integers(100, 20_000))
def test_switches_never_exceed_the_proved_bound(seed: int, horizon: int) -> None:
    instance = catalog.random_table(arms=4, max_delay=3, seed=seed)
    for cost in (0.0, 2.0):
        learner = Rotation(4, max_delay=3, switching_cost=cost)
        run = simulate(instance, learner, horizon, seed)
        assert run.switches(horizon) <= 4 * 4 * (math.log2(horizon) + 2)


@pytest.mark.parametrize("cost", [0.0, 2.0])
def test_each_block_doubles_a_cell(cost: float) -> None:
    """The proof of the bound on switches rests on it."""
    spy = Spy(Rotation(5, max_delay=4, switching_cost=cost))
    simulate(catalog.random_geometric(arms=5, max_delay=4, seed=1), spy, 20_000, seed=1)
    cells = Cells(5, max_delay=4)
    assert len(spy.outcomes) > 20
    for block, outcome in zip(spy.blocks, spy.outcomes, strict=False):
        before = cells.counts.copy()
        cells.credit(block, outcome)
        assert (cells.counts >= np.maximum(2 * before, 1)).any()


def _late_share(instance: Instance, learner: Rotation, seed: int) -> float:
    """Return what a learner earns from round 10,000 to 20,000, as a share of the optimum."""
    rounds = [10_000, 20_000]
    run = simulate(instance, learner, rounds[-1], seed, checkpoints=rounds)
    return float(np.diff(run.expected_reward(rounds))[0]) / 10_000 / optimum_or_bound(instance)


def test_without_a_bound_on_delays_evidence_finds_one() -> None:
    """20,000 rounds alone would leave the bound at 8."""
    instance = Instance.blocking([0.9, 0.8, 0.7, 0.6, 0.5], [12] * 5)
    learner = Rotation(5)
    assert _late_share(instance, learner, seed=2) > 0.9
    assert 16 <= learner.bound <= 32


@pytest.mark.parametrize(("arms", "delay"), [(3, 2), (9, 8)])
def test_without_a_bound_it_does_not_lock_in_where_pulls_pay_nothing(arms: int, delay: int) -> None:
    """Of 50 seeds the worst earn 0.86 and 0.69. With a bound of 1 at first, they earned nothing."""
    instance = Instance.blocking([0.05] * arms, [delay] * arms)
    for seed in range(3):
        assert _late_share(instance, Rotation(arms), seed) > 0.6


def test_without_evidence_the_bound_is_about_the_fourth_root_of_the_rounds() -> None:
    """The proof wants it to reach any delay D within 8 D^4 rounds. Rewards of 0 show nothing."""
    for delay in range(9, 25):
        learner = Rotation(2)
        learner._learn(Block((0, 1) * 4, delay**4), Outcome([0.0] * 8, [0.0] * 8))
        assert delay <= learner.bound <= 2 * delay


def test_without_delays_the_bound_stays_short() -> None:
    """Chance may double it, once in a while."""
    for seed in range(5):
        learner = Rotation(3)
        simulate(Instance([[0.9], [0.5], [0.1]]), learner, 10_000, seed)
        assert learner.bound <= 16


@pytest.mark.parametrize("seed", range(3))
def test_without_a_bound_switches_do_not_exceed_the_proved_number(seed: int) -> None:
    learner = Rotation(3)
    run = simulate(catalog.random_table(arms=3, max_delay=9, seed=seed), learner, 70_000, seed)
    cells = 3 * (learner.bound + 1 + math.log2(learner.bound / 8))
    assert run.switches(70_000) <= cells * (math.log2(70_000) + 2)


def test_with_a_cost_the_cycle_is_kept_unless_a_change_pays() -> None:
    learner = Rotation(2, max_delay=1, switching_cost=3.0)
    instance = Instance([[0.4, 0.9], [0.4, 0.9]])
    spy = Spy(learner)
    simulate(instance, spy, 2000, seed=1)
    changes = [later for earlier, later in pairwise(spy.blocks) if earlier.arms != later.arms]
    assert 1 <= len(changes) <= 6
    assert gain(instance, spy.blocks[-1].arms) == pytest.approx(0.9)


@pytest.mark.parametrize("planner", ["auto", *PLANNERS])
def test_every_planner_can_be_its_planner(planner: str) -> None:
    instance = catalog.random_geometric(arms=3, max_delay=2, seed=4)
    run = simulate(instance, Rotation(3, 2, planner=planner), 3000, seed=0)
    assert float(run.expected_reward(3000)) > 0.85 * 3000 * optimal(instance).gain


def test_decisions_are_rare() -> None:
    spy = Spy(Rotation(2, max_delay=2))
    simulate(catalog.figure3(), spy, 10**12, seed=0, checkpoints=[10**12])
    assert len(spy.blocks) < 200


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Rotation(0), "arms must be a whole number >= 1, got 0"),
        (lambda: Rotation(2, -1), "max_delay must be a whole number >= 0, got -1"),
        (lambda: Rotation(2, 1, -1.0), "switching_cost must be finite and >= 0, got -1"),
        (
            lambda: Rotation(10, 20, planner="optimal"),
            "planner 'optimal' must come with a max_delay",
        ),
        (lambda: Rotation(2, planner="optimal"), "leaves at most 200,000 delay vectors, got None"),
        (lambda: Rotation(2, 1, planner="best"), "planner must be one of auto, optimal, ghost"),
        (lambda: Rotation(2, 1, exploration=0), "exploration must be finite and above 0, got 0"),
    ],
)
def test_bad_parameters_are_named(build: type, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def test_a_block_is_played_once_more_than_until_a_cell_has_doubled() -> None:
    """The first play may fall into other cells; with a cost of switches it is not cut short."""
    assert Rotation(2, max_delay=1, switching_cost=1.0).ask().plays == 2


def test_the_exact_planner_takes_many_arms_that_rest_for_a_round() -> None:
    """500 arms have 500 delay vectors with a bound of 1, and 250,000 with 2."""
    for bound in (0, 1):
        assert Rotation(500, max_delay=bound, planner="optimal").max_delay == bound
    with pytest.raises(ValueError, match="planner 'optimal' must come with a max_delay"):
        Rotation(500, max_delay=2, planner="optimal")
