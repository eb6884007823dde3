"""Rewards by arm and delay, and the bounds that follow from them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallow import (
    Block,
    Outcome,
)
from fallow.kernels.confidence import (
    divergence,
    rises,
    upper_bound,
    upper_bounds,
)
from fallow.learners import JointRanking
from fallow.learners.cell_rewards import Cells, delay_bound

cycles = st.lists(st.integers(0, 3), min_size=1, max_size=9)


@given(st.floats(0, 1), st.floats(0.5, 1e6), st.floats(0.01, 40))
def test_bounds_are_where_the_divergence_reaches_the_level(
    average: float, count: float, level: float
) -> None:
    bound = upper_bound(count, average, level)
    assert average <= bound <= 1
    if bound < 1 - 1e-9 and average > 1e-9:
        assert count * divergence(average, bound) == pytest.approx(level, rel=1e-3, abs=1e-6)


def test_bounds_hold_as_often_as_they_should() -> None:
    """By Chernoff each fails with a chance of at most exp(-level); 6 standard errors on top."""
    generator = np.random.default_rng(0)
    runs, level = 20_000, 2.0
    for mean, count in ((0.3, 30), (0.5, 20), (0.9, 50)):
        samples = generator.binomial(count, mean, runs)
        bounds = np.array([upper_bound(count, hits / count, level) for hits in range(count + 1)])
        failed = float((bounds[samples] < mean).mean())
        chance = math.exp(-level)
        assert 0.001 < failed < chance + 6 * math.sqrt(chance / runs)


def test_longer_delays_bound_shorter_ones() -> None:
    counts = np.array([[0.0, 5.0, 10.0], [3.0, 0.0, 0.0]])
    sums = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]])
    bounds = upper_bounds(counts, sums, 2.0)
    pooled = upper_bound(15, 0.2, 2.0)
    assert bounds[0] == pytest.approx([pooled, pooled, upper_bound(10, 0.2, 2.0)])
    assert bounds[1].tolist() == [1.0, 1.0, 1.0]


def test_delays_without_samples_cost_nothing() -> None:
    """Of 200,000 delays four were sampled; all pools of delays would be 2 x 10^10."""
    sampled = [10, 5000, 70_000, 199_999]
    few_counts, few_sums = np.array([[9.0, 20.0, 5.0, 30.0]]), np.array([[1.0, 4.0, 3.0, 15.0]])
    counts, sums = np.zeros((1, 200_000)), np.zeros((1, 200_000))
    counts[:, sampled], sums[:, sampled] = few_counts, few_sums
    expected = np.repeat(upper_bounds(few_counts, few_sums, 2.0), np.diff([-1, *sampled]))
    assert upper_bounds(counts, sums, 2.0)[0].tolist() == expected.tolist()


@given(st.integers(0, 10**6))
def test_table_of_bounds_is_the_smallest_over_all_pools(seed: int) -> None:
    generator = np.random.default_rng(seed)
    counts = generator.integers(0, 9, (3, 5)).astype(float)
    sums = generator.binomial(counts.astype(int), generator.random((3, 5))).astype(float)
    bounds = upper_bounds(counts, sums, 1.5)
    for arm, column in np.ndindex(3, 5):
        pools = [
            (counts[arm, start:end].sum(), sums[arm, start:end].sum())
            for start in range(column, 5)
            for end in range(start + 1, 6)
        ]
        each = [upper_bound(count, total / count, 1.5) for count, total in pools if count]
        assert bounds[arm, column] == pytest.approx(min([1.0, *each]), abs=1e-9)


def test_a_rise_is_found_where_arms_together_show_it() -> None:
    """Ten arms paid at their first pull and never sooner; one such arm alone proves little."""
    counts = np.tile([[30.0, 0.0, 1.0]], (10, 1))
    sums = np.tile([[0.0, 0.0, 1.0]], (10, 1))
    assert rises(counts, sums, 5.0)
    assert not rises(counts[:1], sums[:1], 5.0)
    assert not rises(counts[:, ::-1].copy(), sums[:, ::-1].copy(), 0.1)  # they fall


def test_unlike_arms_are_no_rise() -> None:
    """The good arm is pulled late and the bad one soon: pooled, pulls look better with rest."""
    counts = np.array([[90.0, 10.0], [10.0, 90.0]])
    assert not rises(counts, counts * [[0.1], [0.9]], 0.1)


def test_a_rise_by_chance_is_rare() -> None:
    """By Bennett each of 3 splits shows one with a chance of at most exp(-3); 6 errors on top."""
    generator = np.random.default_rng(0)
    runs, found = 4000, 0
    for _ in range(runs):
        counts = generator.integers(0, 20, (5, 4)).astype(float)
        sums = generator.binomial(counts.astype(int), generator.random((5, 1))).astype(float)
        found += rises(counts, sums, 3.0)
    allowed = 3 * math.exp(-3)
    assert 0 < found / runs < allowed + 6 * math.sqrt(allowed / runs)


def test_arms_picked_by_what_they_paid_at_first_are_no_rise() -> None:
    """Of a hundred arms alike, those that paid are pulled again: their first pulls look better."""
    generator = np.random.default_rng(0)
    for _ in range(100):
        first = generator.binomial(1, 0.6, 100).astype(float)
        again = generator.binomial(3, 0.6, 100) * first
        counts = np.column_stack([3 * first, np.ones(100)])
        assert not rises(counts, np.column_stack([again, first]), level=1.0)


@given(st.lists(st.tuples(cycles, st.integers(1, 5)), min_size=1, max_size=5))
def test_cells_are_credited_as_if_pull_by_pull(blocks: list[tuple[list[int], int]]) -> None:
    cells, width = Cells(4, max_delay=2), 3
    last = dict.fromkeys(range(4), -100)
    counts = np.zeros((4, width))
    now = 0
    for arms, plays in blocks:
        cells.credit(
            Block(tuple(arms), plays), Outcome([1.0] * len(arms), [plays - 1.0] * len(arms))
        )
        for arm in arms * plays:
            counts[arm, min(now - last[arm], width) - 1] += 1
            last[arm] = now
            now += 1
    np.testing.assert_array_equal(cells.counts, counts)
    np.testing.assert_array_equal(cells.sums, counts)
    assert cells.rounds == now
    assert cells.delays() == [min(now - last[arm], width) for arm in range(4)]


def test_in_wider_cells_a_first_pull_is_still_one_after_the_longest_rest() -> None:
    cells = Cells(2, max_delay=1)
    cells.credit(Block((0, 0)), Outcome([1.0, 0.0], [0.0, 0.0]))
    cells.widen(5)
    assert cells.counts.tolist() == [[1, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0]]
    assert cells.sums.tolist() == [[0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0]]
    assert cells.delays() == [1, 6]  # an arm never pulled is rested
    with pytest.raises(ValueError, match="means must hold at most"):
        cells.widen(10**9)


def test_wider_cells_take_pulls_so_far_for_the_shortest_delays_they_may_have_had() -> None:
    """A mean that may be too large for its cell bounds shorter delays; too small, it does not."""
    cells = Cells(1, max_delay=2)
    cells.counts[:], cells.sums[:] = [[1, 2, 3]], [[0.1, 0.2, 0.3]]
    cells.widen(4)
    assert cells.counts.tolist() == [[1, 2, 3, 0, 0]]
    assert cells.sums.tolist() == [[0.1, 0.2, 0.3, 0, 0]]


def test_in_wider_cells_an_arm_is_as_rested_as_it_was() -> None:
    cells = Cells(3, max_delay=1)
    cells.credit(Block((0, 1)), Outcome([1.0, 0.0], [0.0, 0.0]))
    cells.widen(5)
    assert cells.delays() == [2, 1, 6]


def test_cells_are_not_widened_beyond_what_a_table_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = Cells(arms=2, max_delay=3)
    monkeypatch.setattr("fallow.checks.MAX_VALUES", 11)
    with pytest.raises(ValueError, match=r"at most 11 values, got 12 \(2 arms x 6 delays\)"):
        cells.widen(max_delay=5)
    assert cells.counts.shape == (2, 4)


def test_where_delays_do_not_matter_their_bound_is_0() -> None:
    assert delay_bound(None) == 0
    assert JointRanking(2, max_delay=None)._cells.counts.shape == (2, 1)
