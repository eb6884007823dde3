"""Bounds from groups of arms: against the optimum, for any group and any price."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from strategies import instances, tiny_instances

from fallow import Instance, catalog, gain, optimal, plan, upper_bound
from fallow.kernels.cycles import FREE, cycle_rewards, fill
from fallow.limits import no_limits
from fallow.planners import groups
from fallow.planners.groups import Group, refinements
from fallow.planners.plan import PROVED
from fallow.planners.problem import Problem, problem_of


def drawn(count: int, seed: int) -> Iterator[tuple[Instance, np.random.Generator]]:
    """Tables that rise, that do not, with single spikes, and with steps; one in five tiny."""
    generator = np.random.default_rng(seed)
    for draw in range(count):
        arms, width = generator.integers(2, 6), generator.integers(2, 6)
        means = generator.random((arms, width))
        if draw % 4 == 0:
            means.sort(axis=1)
        elif draw % 4 == 1:
            means *= np.arange(width) == generator.integers(0, width, (arms, 1))
        elif draw % 4 == 2:
            means = means[:, -1:] * (np.arange(width) >= generator.integers(0, width, (arms, 1)))
        if draw % 5 == 0:
            means = np.ldexp(means, -60)
        yield Instance(means), generator


def dealt_at_random(instance: Instance, generator: np.random.Generator) -> list[list[int]]:
    """Groups without common arms, some arms in none."""
    labels = generator.integers(0, 3, instance.arms)
    return [np.flatnonzero(labels == label).tolist() for label in (1, 2) if label in labels]


def unscaled(instance: Instance) -> Problem:
    arms = np.arange(instance.arms)
    return Problem(instance, arms, instance.means, no_limits(instance.arms))


def bound_at(instance: Instance, dealt: list[list[int]], price: float) -> groups.Tangent:
    problem = unscaled(instance)
    made = [Group(problem, arms, price) for arms in dealt]
    return groups._tangent(problem, made, price)


def test_no_group_and_no_price_give_less_than_the_optimum() -> None:
    for instance, generator in drawn(3000, seed=1):
        scale = instance.means.max()
        price = scale * generator.uniform(-0.5, 1)
        found = bound_at(instance, dealt_at_random(instance, generator), price)
        assert found.bound >= optimal(instance).gain - 1e-14 * found.size


def test_the_bound_is_that_of_each_group_with_an_idle_arm() -> None:
    """Computed again from the optimum of the group's arms and an arm that always pays the price."""
    for instance, generator in drawn(300, seed=2):
        if instance.means.max() < 0.01:
            continue
        dealt = dealt_at_random(instance, generator)
        price = generator.random()
        width = instance.max_delay + 1
        expected = price
        for arms in dealt:
            together = Instance([*instance.means[arms], np.full(width, price)])
            expected += optimal(together).gain - price
        for arm in set(range(instance.arms)).difference(*dealt):
            delays = np.arange(1, width + 1)
            expected += max(0, ((instance.means[arm] - price) / delays).max())
        assert bound_at(instance, dealt, price).bound == pytest.approx(expected, abs=1e-11)


def test_the_slope_is_that_of_the_bound() -> None:
    for instance, generator in drawn(300, seed=3):
        if instance.means.max() < 0.01:
            continue
        dealt = dealt_at_random(instance, generator)
        price = generator.random()
        low, middle, high = (bound_at(instance, dealt, price + by) for by in (-1e-7, 0, 1e-7))
        before, after = (middle.bound - low.bound) / 1e-7, (high.bound - middle.bound) / 1e-7
        assert before - 1e-6 <= middle.slope <= after + 1e-6


def test_the_price_found_is_the_best() -> None:
    for instance, generator in drawn(200, seed=4):
        if instance.means.max() < 0.01:
            continue
        dealt = dealt_at_random(instance, generator)
        start = generator.random()
        problem = unscaled(instance)
        made = [Group(problem, arms, start) for arms in dealt]
        found = groups._least_bound(problem, made, start)
        prices = np.linspace(-1, 1, 41)
        least = min(bound_at(instance, dealt, float(price)).bound for price in prices)
        assert found.bound <= least + 1e-9
        assert found.bound == pytest.approx(bound_at(instance, dealt, found.price).bound, abs=1e-9)


@given(tiny_instances)
def test_no_policy_exceeds_the_bound(instance: Instance) -> None:
    assert upper_bound(instance) >= reference.optimum(instance.means.tolist()) - 1e-15


def test_a_group_of_all_arms_gives_the_optimum() -> None:
    for instance, _ in drawn(500, seed=5):
        best = optimal(instance).gain
        assert best <= upper_bound(instance) <= best * (1 + 1e-9)


@given(instances, st.integers(0, 5000), st.integers(0, 5000))
def test_more_effort_never_gives_a_larger_bound(instance: Instance, one: int, other: int) -> None:
    less, more = sorted((one, other))
    assert problem_of(instance).bound == upper_bound(instance, effort=0)
    assert upper_bound(instance, more) <= upper_bound(instance, less) <= problem_of(instance).bound


@pytest.mark.parametrize("seed", range(5))
def test_groups_of_a_large_instance_keep_within_the_effort(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = catalog.random_table(arms=20, max_delay=20, seed=seed)
    built = []

    class Counted(Group):
        def solve(self, price: float) -> tuple[float, float]:
            if self not in built:
                built.append(self)
            return super().solve(price)

    monkeypatch.setattr(groups, "Group", Counted)
    bounds = [found.bound for found in refinements(problem_of(instance), 9_000)]
    assert 0 < sum(len(group._scores) for group in built) <= 9_000
    assert min(bounds) < problem_of(instance).bound
    assert plan(instance, effort=0).gain <= min(bounds)


@pytest.mark.parametrize("seed", range(5))
def test_labels_of_arms_change_no_bound(seed: int) -> None:
    instance = catalog.random_table(arms=12, max_delay=12, seed=seed)
    order = np.random.default_rng(seed).permutation(12)
    relabelled = upper_bound(Instance(instance.means[order]), effort=3000)
    assert relabelled == pytest.approx(upper_bound(instance, effort=3000), abs=1e-12)


def test_a_bound_depends_on_its_arguments_alone() -> None:
    instance = catalog.random_table(arms=12, max_delay=12, seed=1)
    first = upper_bound(instance, effort=3000)
    upper_bound(catalog.random_table(arms=12, max_delay=12, seed=2))
    plan(instance)
    assert upper_bound(Instance(instance.means), effort=3000) == first


def test_a_smaller_scale_changes_no_bound() -> None:
    instance = catalog.random_table(arms=12, max_delay=12, seed=1)
    small = Instance(np.ldexp(instance.means, -200))
    assert upper_bound(small, effort=3000) == np.ldexp(upper_bound(instance, effort=3000), -200)


def test_the_cycle_is_that_of_the_group_with_idle_rounds_filled() -> None:
    instance = catalog.random_table(arms=20, max_delay=20, seed=3)
    price = 0.5
    group = Group(unscaled(instance), [0, 4, 7], price)
    bound, _ = group.solve(price)
    cycle = group.cycle
    pays_idle = np.concatenate((instance.means, np.full((1, instance.max_delay + 1), price)))
    earned = cycle_rewards(pays_idle, np.where(cycle == FREE, instance.arms, cycle))
    assert earned.mean() == pytest.approx(bound, abs=1e-12)
    filled = fill(instance.means, no_limits(instance.arms), cycle)
    assert (filled[cycle != FREE] == cycle[cycle != FREE]).all()
    for found in refinements(problem_of(instance), effort=3000):
        assert found.cycle is not None
        assert gain(instance, found.cycle) <= found.bound


def test_effort_proves_a_plan_that_is_optimal() -> None:
    instance = catalog.random_table(arms=10, max_delay=10, seed=1004)
    quick, thorough = (plan(instance, max_states=0, effort=effort) for effort in (0, 200_000))
    assert quick.certificate < 0.99 < PROVED <= thorough.certificate <= 1
    assert thorough.gain >= quick.gain


@pytest.mark.parametrize("seed", range(1001, 1004))
def test_effort_makes_neither_gain_nor_bound_worse(seed: int) -> None:
    instance = catalog.random_table(arms=20, max_delay=20, seed=seed)
    quick, thorough = plan(instance, effort=0), plan(instance, effort=30_000)
    assert quick.gain <= thorough.gain <= thorough.upper_bound < quick.upper_bound
    assert thorough.upper_bound <= upper_bound(instance, 30_000) or thorough.certificate >= PROVED
    assert quick.upper_bound == problem_of(instance).bound
    assert replace(thorough, gain=gain(instance, thorough.cycle)) == thorough


@pytest.mark.parametrize("effort", [-1, 1.5, "much"])
def test_an_effort_must_be_a_whole_number(effort: int) -> None:
    instance = Instance([[0.5, 1.0]])
    with pytest.raises((TypeError, ValueError), match="effort must be"):
        upper_bound(instance, effort=effort)
    with pytest.raises((TypeError, ValueError), match="effort must be"):
        plan(instance, effort=effort)
