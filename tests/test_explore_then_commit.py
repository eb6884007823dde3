"""ExploreThenCommit, and the roundings that it plays."""

import math

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import generic_instances

from fallow import Instance, catalog, gain, simulate
from fallow.kernels.cycles import fill
from fallow.kernels.isotone import isotone
from fallow.learners import ExploreThenCommit
from fallow.learners.interleaved import drawn_periods, due, interleaved
from fallow.limits import no_limits
from fallow.protocol import own_generator


@pytest.mark.parametrize("family", ["small", "large", "fixed"])
def test_explore_then_commit_earns_what_its_rounding_guarantees(family: str) -> None:
    """Without noise the averages are the means, and idle rounds are filled, so it earns more.

    Over roundings the gain has a standard deviation below 0.05, so the mean of 30 is 0.05 too low
    with a chance below 1e-7.
    """
    slack = 0.05
    for seed in range(3):
        instance = catalog.build(f"blocking_{family}", {"seed": seed})
        relaxed = reference.idling_bound(instance.means.tolist())
        gains = []
        for draw in range(30):
            learner = ExploreThenCommit(20, instance.max_delay, 2000, seed=draw)
            simulate(instance, learner, 2000, seed=0, rewards="none", checkpoints=[2000])
            assert learner.cycle is not None
            gains.append(gain(instance, learner.cycle))
        assert np.std(gains) < 0.05
        assert np.mean(gains) >= (1 - 1 / math.e) * relaxed - slack


def test_drawn_periods_are_worth_the_relaxed_optimum_on_average() -> None:
    """A draw's worth lies within 0.5 of its mean, so 2,000 draws are 0.05 off with chance 1e-8."""
    for seed in range(3):
        means = catalog.blocking_large(seed).means
        generator = np.random.default_rng(seed)
        worth, pulls = 0.0, 0.0
        for _ in range(2000):
            periods = drawn_periods(means, generator)
            arms = np.flatnonzero(periods)
            worth += (means[arms, periods[arms] - 1] / periods[arms]).sum() / 2000
            pulls += (1 / periods[arms]).sum() / 2000
        assert worth == pytest.approx(reference.idling_bound(means.tolist()), abs=0.05)
        assert pulls == pytest.approx(1, abs=0.05)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_of_arms_due_at_once_the_best_is_pulled(seed: int, arms: int) -> None:
    generator = np.random.default_rng(seed)
    means = generator.random((arms, 6))
    periods = generator.integers(0, 7, arms)
    offsets = (generator.random(arms) * periods).astype(np.int64)
    for place, pulled in enumerate(due(means, periods, offsets)):
        best, best_value = -1, -1.0
        for arm in range(arms):
            is_due = periods[arm] > 0 and (place - offsets[arm]) % periods[arm] == 0
            if is_due and means[arm, periods[arm] - 1] > best_value:
                best, best_value = arm, means[arm, periods[arm] - 1]
        assert pulled == best


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 12), st.integers(1, 6))
def test_free_rounds_go_to_the_arm_that_adds_most(
    seed: int, arms: int, length: int, width: int
) -> None:
    generator = np.random.default_rng(seed)
    means = generator.random((arms, width))
    cycle = generator.integers(-1, arms, length)
    expected = cycle.tolist()
    for place in np.flatnonzero(cycle < 0).tolist():
        totals = []
        for arm in range(arms):
            expected[place] = arm
            totals.append(reference.cycle_total(means.tolist(), expected))
        expected[place] = int(np.argmax(totals))
    assert fill(means, no_limits(len(means)), cycle).tolist() == expected


@settings(max_examples=40, deadline=None)
@given(generic_instances(), st.integers(0, 10**6))
def test_roundings_are_cycles_of_the_arms(instance: Instance, seed: int) -> None:
    cycle = interleaved(instance.means, np.random.default_rng(seed))
    assert set(cycle) <= set(range(instance.arms))


@pytest.mark.parametrize(("arms", "max_delay"), [(1, 3), (2, 5), (4, 3), (5, 9), (20, 20)])
def test_exploration_samples_every_arm_at_every_delay(arms: int, max_delay: int) -> None:
    """All but the delays of a single arm, which has only one."""
    means = np.random.default_rng(0).random((arms, max_delay + 1))
    learner = ExploreThenCommit(arms, max_delay, 100)
    simulate(Instance(means), learner, 5000, seed=0, rewards="none")
    assert learner.cycle is not None
    reached = slice(0, 1 if arms == 1 else None)
    counts, sums = learner._cells.counts[:, reached], learner._cells.sums[:, reached]
    assert (counts >= 1).all()
    np.testing.assert_allclose(sums / counts, means[:, reached], atol=1e-12)


def test_explore_then_commit_draws_its_cycle_from_the_averages() -> None:
    """With a short horizon most cells have one sample, which must count for what it is."""
    for seed in range(20):
        instance = catalog.random_geometric(arms=3, max_delay=2, seed=seed)
        learner = ExploreThenCommit(3, 2, horizon=1, seed=seed)
        simulate(instance, learner, 500, seed=0, rewards="none")
        counts, sums = learner._cells.counts, learner._cells.sums
        assert (counts == 1).any()
        averages = isotone(sums / np.maximum(counts, 1), np.maximum(counts, 1))
        generator = own_generator(seed)
        drawn = [interleaved(averages, generator) for _ in range(100)]
        assert learner.cycle in drawn
        best = max(gain(Instance(averages), cycle) for cycle in drawn)
        assert gain(Instance(averages), learner.cycle) == best


def test_explore_then_commit_says_how_far_it_explores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two arms at two delays take 4 pulls at most for each delay."""
    monkeypatch.setattr("fallow.learners.sampling.MAX_PULLS", 8)
    ExploreThenCommit(2, 1, horizon=10)
    monkeypatch.setattr("fallow.learners.sampling.MAX_PULLS", 7)
    with pytest.raises(ValueError, match="max_delay must leave at most 7 pulls"):
        ExploreThenCommit(2, 1, horizon=10)


def test_it_explores_longer_where_there_is_more_to_learn() -> None:
    """(cells x T^2)^(1/3), times the scale, and never longer than the horizon."""
    few = ExploreThenCommit(2, 3, horizon=1000, exploration=1.0)
    many = ExploreThenCommit(16, 3, horizon=1000, exploration=1.0)
    assert few._length() == pytest.approx(200)
    assert many._length() == pytest.approx(400)
    assert ExploreThenCommit(2, 3, horizon=1000, exploration=0.5)._length() == pytest.approx(100)
    assert ExploreThenCommit(2, 3, horizon=1000, exploration=1e300)._length() == 1000


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 7))
def test_isotone_rows_are_nearest_by_weighted_squares(seed: int, rows: int, width: int) -> None:
    """The largest over u <= t of the smallest over v >= t of the average of columns u to v."""
    generator = np.random.default_rng(seed)
    values = generator.integers(0, 5, (rows, width)) / 4
    weights = generator.uniform(0.5, 3, (rows, width))
    found = isotone(values, weights)
    for row in range(rows):
        for t in range(width):
            pools = [
                [
                    np.average(values[row, u : v + 1], weights=weights[row, u : v + 1])
                    for v in range(t, width)
                ]
                for u in range(t + 1)
            ]
            assert found[row, t] == pytest.approx(max(map(min, pools)), abs=1e-12)
