"""KLUCB, PSRL, ImedKD and LookaheadThompson do what they say."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from learner_contract import Spy

from fallow import Instance, Outcome, catalog, optimal, simulate
from fallow.arrays import FloatArray
from fallow.kernels.confidence import upper_bounds
from fallow.kernels.imed import least_index
from fallow.kernels.lookahead import draw
from fallow.learners import KLUCB, PSRL, UCB1, ImedKD, Lookahead, LookaheadThompson, RankingUCB
from fallow.learners.registry import learner_factory
from fallow.learners.sampling import sampling_cycles
from fallow.protocol import Learner


def share(instance: Instance, learner: Learner, horizon: int) -> float:
    run = simulate(instance, learner, horizon, seed=0, checkpoints=[horizon])
    return float(run.expected_reward(horizon)) / horizon / optimal(instance).gain


# KLUCB


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 4))
def test_kl_ucb_pulls_the_arm_of_largest_index(seed: int, arms: int, max_delay: int) -> None:
    """By the definition of each index; ties within rounding go to any."""
    generator = np.random.default_rng(seed)
    for index in ("whittle", "greedy"):
        learner = KLUCB(arms, max_delay, index, exploration=0.7)
        last = [-max_delay - 1] * arms
        for now in range(40):
            cells = learner._cells
            bounds = upper_bounds(cells.counts, cells.sums, 0.7 * math.log(max(now, 2)))
            bounds = bounds - 1e-3 * np.arange(max_delay, -1, -1) / (now + 1)
            delays = [min(now - each, max_delay + 1) for each in last]
            values = [
                reference.whittle_index(bounds.tolist(), arm, delays[arm])
                if index == "whittle"
                else bounds[arm, delays[arm] - 1]
                for arm in range(arms)
            ]
            block = learner.ask()
            (pulled,) = block.arms
            assert block.plays == 1
            assert values[pulled] == pytest.approx(max(values), abs=1e-9)
            last[pulled] = now
            learner.tell(block, Outcome([float(generator.random() < 0.4)], [0.0]))


def test_each_index_has_its_name_on_the_command_line() -> None:
    for index in ("whittle", "greedy"):
        make = learner_factory(f"kl-ucb-{index}", 100, {"exploration": 0.25})
        learner = make(catalog.figure3(), 0)
        assert isinstance(learner, KLUCB)
        assert learner.parameters() == {
            "arms": 2,
            "max_delay": 2,
            "index": index,
            "exploration": 0.25,
        }
    with pytest.raises(ValueError, match="index must be one of whittle, greedy, got 'best'"):
        KLUCB(2, 2, "best")


def test_whittles_index_waits_where_greedy_does_not() -> None:
    """Greedy earns .06 of .5 on trickOG, by any estimate that is right."""
    instance = catalog.trick_og()
    assert share(instance, KLUCB(2, 1, "whittle"), 5000) > 0.95
    assert share(instance, KLUCB(2, 1, "greedy"), 5000) < 0.5


# PSRL


def test_psrl_draws_from_beta_distributions() -> None:
    """Without delays nothing is made isotone. 20,000 draws miss by 5 sd with a chance of 1e-6."""
    learner = PSRL(2, None, seed=1)
    learner._cells.counts[:] = [[8.0], [2.0]]
    learner._cells.sums[:] = [[6.5], [0.0]]
    draws = np.array([learner._draw().means[:, 0] for _ in range(20_000)])
    for arm, (a, b) in enumerate([(7.5, 2.5), (1, 3)]):
        variance = a * b / (a + b) ** 2 / (a + b + 1)
        assert draws[:, arm].mean() == pytest.approx(a / (a + b), abs=5 * (variance / 2e4) ** 0.5)
        assert draws[:, arm].var() == pytest.approx(variance, rel=0.08)


def test_psrl_draws_also_where_one_more_sample_is_lost_in_rounding() -> None:
    learner = PSRL(2, None)
    learner._cells.counts[:] = learner._cells.sums[:] = 2.0**54
    assert (learner._draw().means > 1 - 1e-12).all()


def test_psrl_plans_for_means_that_do_not_fall_with_the_delay() -> None:
    learner = PSRL(5, 6, seed=2)
    tables = [learner._draw().means for _ in range(20)]
    assert all((np.diff(table, axis=1) >= 0).all() for table in tables)
    assert len({table.tobytes() for table in tables}) == 20


def test_psrl_plans_anew_only_as_cells_double() -> None:
    """So at most k (D + 1)(log2 T + 2) times, as Rotation."""
    instance = catalog.random_geometric(arms=4, max_delay=3, seed=8)
    learner = PSRL(4, 3, seed=0)
    blocks, rounds = 0, 0
    generator = np.random.default_rng(0)
    while rounds < 10**6:
        block = learner.ask()
        blocks, rounds = blocks + 1, rounds + block.pulls
        first = generator.random(len(block.arms)).round()
        rest = generator.binomial(block.plays - 1, 0.5, len(block.arms)).astype(float)
        learner.tell(block, Outcome(first.tolist(), rest.tolist()))
    assert blocks <= 4 * 4 * (math.log2(rounds) + 2)
    assert share(instance, PSRL(4, 3, seed=0), 10**5) > 0.97


# ImedKD


def neighbours(cycle: list[int], arms: int) -> list[list[int]]:
    found = [cycle]
    for place in range(len(cycle)):
        before, after = cycle[:place], cycle[place + 1 :]
        found += [[*before, arm, *after] for arm in range(arms)]
        found += [[*before, arm, cycle[place], *after] for arm in range(arms)]
        if before or after:
            found.append(before + after)
    return found


def divergence_index(
    averages: FloatArray, counts: FloatArray, cycle: list[int], best: float
) -> float:
    """2 N (g* - g)^2 + ln N, with N the least count of a cell of the cycle."""
    length, width = len(cycle), averages.shape[1]
    cells = []
    for place, arm in enumerate(cycle):
        gap = 1
        while cycle[(place - gap) % length] != arm:
            gap += 1
        cells.append((arm, min(gap, width) - 1))
    gain = sum(averages[cell] for cell in cells) / length
    least = min(counts[cell] for cell in cells)
    return float(2 * least * max(best - gain, 0) ** 2 + math.log(least))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4), st.integers(1, 6))
def test_the_cycle_of_least_index_is_found(seed: int, arms: int, width: int, length: int) -> None:
    generator = np.random.default_rng(seed)
    averages = generator.random((arms, width))
    counts = generator.integers(1, 60, (arms, width)).astype(float)
    cycle = generator.integers(0, arms, length)
    best = reference.cycle_gain(averages.tolist(), cycle.tolist())
    indices = [
        divergence_index(averages, counts, each, best) for each in neighbours(cycle.tolist(), arms)
    ]
    found = least_index(averages, counts, cycle).tolist()
    index = divergence_index(averages, counts, found, best)
    assert index == pytest.approx(min(indices), abs=1e-9)


def test_a_pull_may_be_left_out() -> None:
    """Delays 2 and 3 pay, 1 and 4 do not; delay 2 is known least, and two arms in turn have it."""
    averages = np.tile([0.0, 1.0, 1.0, 0.0], (3, 1))
    counts = np.tile([100.0, 5.0, 100.0, 100.0], (3, 1))
    assert least_index(averages, counts, np.array([0, 1, 2])).tolist() == [1, 2]


@pytest.mark.parametrize(("arms", "max_delay"), [(1, 2), (3, 2), (2, 4)])
def test_imed_kd_first_samples_every_cell_twice(arms: int, max_delay: int) -> None:
    instance = Instance(np.random.default_rng(0).random((arms, max_delay + 1)))
    learner = ImedKD(arms, max_delay)
    cycles = sampling_cycles(arms, max_delay)
    assert share(instance, learner, sum(3 * len(cycle) for cycle in cycles)) <= 1
    reached = learner._cells.counts[:, : 1 if arms == 1 else None]
    assert (reached >= 2).all()
    assert learner._explored == len(cycles)
    assert learner.ask().plays == 2


def test_imed_kd_comes_near_the_optimum() -> None:
    instance = catalog.theorem2_counterexample()
    early, late = (share(instance, ImedKD(3, 2), horizon) for horizon in (300, 30_000))
    assert early < late
    assert late > 0.98


# LookaheadThompson


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 5), st.integers(1, 6))
def test_draws_have_the_covariances_that_they_should(
    seed: int, arms: int, width: int, count: int
) -> None:
    """What unit normals do to the cells is a factor of their covariances, also of low rank."""
    generator = np.random.default_rng(seed)
    means = generator.normal(size=(arms, width))
    factors = generator.normal(size=(arms, width, int(generator.integers(1, 4))))
    covariances = factors @ factors.transpose(0, 2, 1)
    cells = generator.integers(0, width, (arms, count))
    columns = []
    for unit in np.eye(count):
        moved = draw(means, covariances, cells, np.tile(unit, (arms, 1))) - means
        columns.append(np.take_along_axis(moved, cells, axis=1))
    found = np.stack(columns, axis=-1)
    rows = np.arange(arms)[:, None, None]
    expected = covariances[rows, cells[:, :, None], cells[:, None, :]]
    np.testing.assert_allclose(found @ found.transpose(0, 2, 1), expected, atol=1e-5)
    untouched = np.ones((arms, width), bool)
    untouched[np.arange(arms)[:, None], cells] = False
    drawn = draw(means, covariances, cells, generator.normal(size=cells.shape))
    assert (drawn[untouched] == means[untouched]).all()


def test_lookahead_thompson_plays_the_best_sequence_of_its_draw() -> None:
    """Once nothing is uncertain the draw is the posterior mean, and no bonus is added."""
    generator = np.random.default_rng(3)
    learner = LookaheadThompson(4, 3, depth=3, seed=0)
    learner.tell(learner.ask(), Outcome([0.5] * 4, [0.0] * 4))
    learner._means[:] = generator.random((4, 4))
    learner._covariances[:] = 0.0
    table = learner._means.tolist(), learner._covariances.tolist(), 0.25, [4, 3, 2, 1]
    value = reference.sequence_value(*table, list(learner.ask().arms), scale=0.0)
    assert value == pytest.approx(reference.best_sequence_value(*table, depth=3, scale=0.0))


def test_lookahead_thompson_tries_what_it_is_unsure_of() -> None:
    """Equal means: a sure arm and an unsure one are each best in about half of 400 draws."""
    learner = LookaheadThompson(2, 1, depth=1, seed=0)
    learner.tell(learner.ask(), Outcome([0.5, 0.5], [0.0, 0.0]))
    learner._means[:] = 0.5
    learner._covariances[0] = 0.0
    chosen = [int(learner._best_sequence(np.array([2, 1]))[0]) for _ in range(400)]
    assert 150 < sum(chosen) < 250  # 5 standard deviations of 10


def test_lookahead_looks_less_far_with_many_arms() -> None:
    assert [Lookahead(arms, 2).depth for arms in (1, 21, 22, 1000)] == [3, 3, 1, 1]
    assert Lookahead(100, 2, depth=2).depth == 2


# Scales of bonuses


@pytest.mark.parametrize(
    "name", ["ucb1", "ranking-ucb", "joint-ranking", "ucb-greedy", "kl-ucb-whittle"]
)
def test_a_larger_scale_explores_more(name: str) -> None:
    """The worst arm is hardly pulled where a bonus is next to nothing, and often where it is huge.

    The first two arms in turn are best here, by any of the measures.
    """
    instance = Instance([[0.2, 0.9], [0.3, 0.6], [0.5, 0.55]])
    pulls = []
    for exploration in (1e-9, 1e3):
        spy = Spy(learner_factory(name, 2000, {"exploration": exploration})(instance, 0))
        simulate(instance, spy, 2000, seed=0, rewards="none")
        pulls.append(sum(block.arms.count(2) * block.plays for block in spy.blocks))
    if name == "ucb1":  # takes payoffs for constant, and finds those of the worst arm best
        pulls = [2000 - each for each in pulls]
    assert pulls[0] < 50
    assert pulls[1] > 300


@pytest.mark.parametrize("exploration", [1e-6, 0.1, 1e12])
@pytest.mark.parametrize("make", [partial(UCB1, 3), partial(RankingUCB, [0, 1, 2])])
def test_a_compiled_loop_has_the_scale_too(
    make: Callable[[float], UCB1 | RankingUCB], exploration: float
) -> None:
    """Rounding must not decide, also where bonuses are huge."""
    instance = Instance([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    looped, asked = make(exploration), make(exploration)
    simulate(instance, looped, 3000, seed=0)
    simulate(instance, Spy(asked), 3000, seed=0)
    assert looped._statistics.counts.tolist() == asked._statistics.counts.tolist()
