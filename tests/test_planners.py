"""What holds for every planner, and what each heuristic adds."""

from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import product
from unittest.mock import Mock

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import coarse_tables, generic_instances, instances

import fallow
from fallow import Instance, Plan, Rules, gain, optimal, plan
from fallow.kernels.bounds import clearing_price
from fallow.kernels.cycles import after_move, fill, move_gains
from fallow.kernels.indices import whittle_indices
from fallow.kernels.knapsack import best_choices
from fallow.kernels.paths import beam_path, best_repeat
from fallow.limits import no_limits, rested_past
from fallow.planners import (
    HEURISTICS,
    beam,
    ghost,
    greedy,
    harmonic,
    improve,
    index_policies,
    problem,
)
from fallow.planners.problem import problem_of

HARMONIC, BEAM, PLAN = (
    import_module(f"fallow.planners.{name}") for name in ("harmonic", "beam", "plan")
)
"""The modules; in the package, functions of the same name stand before them."""

Planner = Callable[[Instance], Plan]


def rotations(cycle: tuple[int, ...]) -> set[tuple[int, ...]]:
    return {cycle[start:] + cycle[:start] for start in range(len(cycle))}


@pytest.mark.parametrize("planner", [*HEURISTICS.values(), plan])
@given(instance=instances)
def test_a_plan_says_the_truth_about_its_cycle(planner: Planner, instance: Instance) -> None:
    found = planner(instance)
    assert found.gain == gain(instance, found.cycle)
    assert found.gain <= found.upper_bound
    assert found.gain <= optimal(instance).upper_bound


@pytest.mark.parametrize("planner", HEURISTICS.values())
@given(instance=instances)
def test_local_search_never_loses(planner: Planner, instance: Instance) -> None:
    found = planner(instance)
    assert improve(instance, found).gain >= found.gain


@pytest.mark.parametrize("planner", HEURISTICS.values())
@given(instance=generic_instances(), data=st.data())
def test_relabelling_arms_relabels_the_plan(
    planner: Planner, instance: Instance, data: st.DataObject
) -> None:
    new_to_old = data.draw(st.permutations(range(instance.arms)))
    relabelled = planner(Instance(instance.means[new_to_old]))
    original = planner(instance)
    assert tuple(new_to_old[arm] for arm in relabelled.cycle) in rotations(original.cycle)


@given(instance=generic_instances(), data=st.data())
def test_relabelling_arms_relabels_the_optimum(instance: Instance, data: st.DataObject) -> None:
    """Several cycles can be optimal, so the relabelled one need only earn the same."""
    new_to_old = data.draw(st.permutations(range(instance.arms)))
    relabelled = plan(Instance(instance.means[new_to_old]))
    cycle = [new_to_old[arm] for arm in relabelled.cycle]
    assert gain(instance, cycle) == pytest.approx(plan(instance).gain, abs=1e-12)


@given(st.one_of(generic_instances(), coarse_tables()))
def test_greedy_is_the_papers(instance: Instance) -> None:
    expected = tuple(reference.greedy_cycle(instance.means.tolist()))
    assert greedy(instance).cycle in rotations(expected)


@given(instances)
def test_the_index_is_the_price_at_which_later_is_no_better(instance: Instance) -> None:
    table = instance.means.tolist()
    indices = whittle_indices(instance.means)
    for arm, row in enumerate(table):
        for tau in range(1, len(row) + 1):
            expected = reference.whittle_index(table, arm, tau)
            assert indices[arm, tau - 1] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("shape", ["drawn", "concave", "straight", "blocking"])
def test_indices_of_long_delays_are_the_smallest_price_over_all_later_delays(shape: str) -> None:
    delays = np.arange(1, 301)
    rows = {
        "drawn": np.random.default_rng(0).random(300),
        "concave": 1 - 0.99**delays,
        "straight": delays / 300,
        "blocking": (delays == 300) * 1.0,
    }
    row = rows[shape]
    expected = row.copy()
    for now in delays[:-1]:
        later = delays[now:]
        prices = (later * row[now - 1] - now * row[later - 1]) / (later - now)
        expected[now - 1] = min(row[now - 1], prices.min())
    assert whittle_indices(row[np.newaxis])[0] == pytest.approx(expected, abs=1e-12)


@given(instances)
def test_harmonic_is_never_below_ghost(instance: Instance) -> None:
    assert harmonic(instance).gain >= ghost(instance).gain - 1e-12


def test_harmonic_finds_periods_that_divide_each_other() -> None:
    instance = Instance.blocking([1, 1, 1, 1], delays=[1, 3, 7, 7])
    assert harmonic(instance).gain == pytest.approx(1)


@pytest.mark.parametrize("seed", range(4))
def test_harmonic_loses_nothing_by_its_limit(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = fallow.catalog.random_table(arms=60, max_delay=100, seed=seed)
    limited = harmonic(instance)
    monkeypatch.setattr(HARMONIC, "MAX_SCHEDULES", 1)
    assert harmonic(instance).gain >= 0.99 * limited.gain
    monkeypatch.setattr(HARMONIC, "MAX_SCHEDULES", 60)
    assert harmonic(instance).gain == limited.gain


def test_harmonic_builds_no_more_schedules_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    build = Mock(wraps=best_choices)
    monkeypatch.setattr(HARMONIC, "best_choices", build)
    harmonic(fallow.catalog.random_table(arms=60, max_delay=100))
    assert build.call_count == 16


def test_work_is_cut_short_by_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the table were very large: fewer schedules, fewer rounds, a narrower beam."""
    instance = fallow.catalog.random_table(arms=20, max_delay=100, seed=2)
    cells = instance.means.size
    schedules, search = Mock(wraps=best_choices), Mock(wraps=beam_path)
    monkeypatch.setattr(HARMONIC, "best_choices", schedules)
    monkeypatch.setattr(BEAM, "beam_path", search)
    for module in (HARMONIC, BEAM, index_policies):
        monkeypatch.setattr(module, "MAX_WORK", 40 * cells)
    assert len(fallow.planners.whittle(instance).cycle) * instance.arms <= 40 * cells
    assert harmonic(instance).gain >= ghost(instance).gain
    assert schedules.call_count == 2
    beam(instance)
    means, *_, rounds, width, _ = search.call_args.args
    assert rounds >= 4 * means.shape[1]
    assert rounds * width * len(means) <= 40 * cells


@pytest.mark.parametrize("rules", [Rules(), Rules(cooldowns=2)])
@pytest.mark.parametrize("max_states", [0, 10**6])
def test_a_plan_makes_its_problem_once(
    rules: Rules, max_states: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = fallow.catalog.random_geometric(6, 4, 1).with_rules(rules)
    made = Mock(wraps=problem._scaled_means)
    monkeypatch.setattr(problem, "_scaled_means", made)
    plan(instance, max_states)
    assert made.call_count == 1


def test_plan_asks_every_heuristic() -> None:
    ten = problem_of(fallow.catalog.random_table(seed=0))
    assert [heuristic(ten).method for heuristic in PLAN.HEURISTIC_PLANS] == list(HEURISTICS)


def test_plan_solves_the_relaxed_problem_once(monkeypatch: pytest.MonkeyPatch) -> None:
    bisect = Mock(wraps=clearing_price)
    monkeypatch.setattr(problem, "clearing_price", bisect)
    plan(fallow.catalog.random_table(seed=987_655), max_states=0)
    assert bisect.call_count == 1


def test_a_cycle_too_long_to_see_repeat_is_cut() -> None:
    """Whittle's cycle here is longer than the 256 (D + 1) rounds that are looked at."""
    instance = fallow.catalog.random_table(arms=20, max_delay=100, seed=2)
    found = fallow.planners.whittle(instance)
    assert 128 * (instance.max_delay + 1) <= len(found.cycle) <= 256 * (instance.max_delay + 1)
    assert found.gain == gain(instance, found.cycle)
    assert found.certificate > 0.95


@given(instances, st.data())
def test_the_gain_after_each_move_is_that_of_the_changed_cycle(
    instance: Instance, data: st.DataObject
) -> None:
    arms = instance.arms
    cycle = data.draw(st.lists(st.integers(0, arms - 1), min_size=1, max_size=9))
    position = data.draw(st.integers(0, len(cycle) - 1))
    gains = move_gains(instance.means, np.array(cycle), position)
    assert len(gains) == 2 * arms + len(cycle) - position
    for move, found in enumerate(gains):
        changed = after_move(np.array(cycle), position, move, arms).tolist()
        assert found == pytest.approx(gain(instance, changed) if changed else -np.inf, abs=1e-12)


@given(generic_instances(max_arms=4, max_delay=4), st.data())
def test_improve_finds_a_cycle_that_no_single_change_improves(
    instance: Instance, data: st.DataObject
) -> None:
    arms = st.integers(0, instance.arms - 1)
    start = data.draw(st.lists(arms, min_size=1, max_size=6))
    found = improve(instance, Plan.of(instance, start, "drawn"))
    cycle = list(found.cycle)
    for position in range(len(cycle)):
        changes = [cycle[:position] + cycle[position + 1 :]] if len(cycle) > 1 else []
        for arm in range(instance.arms):
            changes.append([*cycle[:position], arm, *cycle[position + 1 :]])
            changes.append([*cycle[:position], arm, *cycle[position:]])
        for other in range(position):
            swapped = cycle.copy()
            swapped[position], swapped[other] = swapped[other], swapped[position]
            changes.append(swapped)
        assert all(gain(instance, change) <= found.gain + 1e-11 for change in changes)


@given(st.data())
def test_the_knapsack_is_the_best_of_all_choices(data: st.DataObject) -> None:
    groups = data.draw(st.integers(1, 4))
    weights = [4, 2, 1]
    row = st.lists(st.floats(0, 1), min_size=3, max_size=3)
    values = data.draw(st.lists(row, min_size=groups, max_size=groups))
    capacity = data.draw(st.integers(1, 9))
    picks = best_choices(np.array(values), np.array(weights), capacity)

    def worth(choices: Sequence[int]) -> float:
        chosen = [(group, choice) for group, choice in enumerate(choices) if choice >= 0]
        if sum(weights[choice] for _, choice in chosen) > capacity:
            return -1.0
        return sum(values[group][choice] for group, choice in chosen)

    best = max(worth(choices) for choices in product(range(-1, 3), repeat=groups))
    assert worth(picks.tolist()) == pytest.approx(best, abs=1e-12)


@given(instances, st.data())
def test_a_free_position_goes_to_the_arm_that_adds_most(
    instance: Instance, data: st.DataObject
) -> None:
    arms = st.integers(0, instance.arms - 1)
    cycle = data.draw(st.lists(arms, min_size=1, max_size=7))
    free = data.draw(st.integers(0, len(cycle) - 1))
    with_gap = np.array([*cycle[:free], -1, *cycle[free + 1 :]])
    filled = fill(instance.means, no_limits(instance.arms), with_gap)
    best = max(
        gain(instance, [*cycle[:free], arm, *cycle[free + 1 :]]) for arm in range(instance.arms)
    )
    assert gain(instance, filled) == pytest.approx(best, abs=1e-12)


def test_beam_reaches_optima_that_a_single_path_misses() -> None:
    """Without its merit, its values or its look for equal delay vectors it misses some of these."""
    draws = [fallow.catalog.random_geometric(arms=6, max_delay=6, seed=seed) for seed in range(40)]
    optima = [optimal(draw).gain for draw in draws]
    assert [beam(draw).gain for draw in draws] == pytest.approx(optima, abs=1e-12)
    shares = [beam(draw, width=1).gain / best for draw, best in zip(draws, optima, strict=True)]
    assert sum(share < 0.999 for share in shares) >= 10


@given(generic_instances())
def test_beam_repeats_the_best_part_of_its_path(instance: Instance) -> None:
    """Against all parts of a random path that start and end with the same delay vector."""
    path = np.random.default_rng(0).integers(0, instance.arms, 60)
    width = instance.max_delay + 1
    limits = no_limits(instance.arms)
    start, end = best_repeat(instance.means, limits, rested_past(limits, width), path)
    vectors = [(width,) * instance.arms]
    for arm in path:
        aged = [min(tau + 1, width) for tau in vectors[-1]]
        aged[arm] = 1
        vectors.append(tuple(aged))
    parts = [
        (first, last)
        for first in range(61)
        for last in range(first + 1, 61)
        if vectors[first] == vectors[last]
    ]
    if parts:
        best = max(gain(instance, path[first:last]) for first, last in parts)
        assert vectors[start] == vectors[end]
        assert gain(instance, path[start:end]) == pytest.approx(best, abs=1e-12)
    else:
        assert (start, end) == (0, 0)


@given(instances)
def test_improve_keeps_what_is_proved(instance: Instance) -> None:
    best = optimal(instance)
    poor = Plan.of(instance, [0], "poor", best.upper_bound)
    assert improve(instance, poor).upper_bound == best.upper_bound
    assert improve(instance, poor).method in ("poor", "poor, improved")


def test_improve_returns_the_optimum_as_it_is() -> None:
    instance = fallow.catalog.figure2()
    assert improve(instance, optimal(instance)) == optimal(instance)


def test_improve_takes_no_plan_for_another_instance() -> None:
    other = ghost(Instance.blocking([0.5], delays=[1]))
    with pytest.raises(ValueError, match=r"plan must be for this instance, got a gain of 0\.0 "):
        improve(Instance.b2dep([1, 0.5], delays=[1, 1], decay=[0.5]), other)


def test_improve_gets_far_on_a_long_cycle() -> None:
    instance = fallow.catalog.random_table(arms=1000, max_delay=100, seed=2)
    cycle = np.random.default_rng(0).integers(0, 1000, 500)
    found = improve(instance, Plan.of(instance, cycle, "drawn"))
    assert found.certificate > 0.99


def test_improve_stops_at_its_limit() -> None:
    instance = fallow.catalog.random_geometric(arms=6, max_delay=6, seed=1)
    poor = Plan.of(instance, [5] * 3 + [4], "poor")
    assert improve(instance, poor, max_moves=1).gain < improve(instance, poor).gain


@settings(max_examples=50)
@given(generic_instances(max_arms=6))
def test_without_the_exact_planner_plans_are_close_to_the_optimum(instance: Instance) -> None:
    assert plan(instance, max_states=0, effort=0).gain >= 0.97 * optimal(instance).gain


@pytest.mark.parametrize(("seed", "winner"), [(0, "beam"), (2, "whittle"), (18, "greedy")])
def test_plan_is_the_best_of_all_heuristics_improved(seed: int, winner: str) -> None:
    instance = fallow.catalog.blocking_large(seed)
    gains = {name: improve(instance, find(instance)).gain for name, find in HEURISTICS.items()}
    assert max(gains, key=gains.__getitem__) == winner
    assert plan(instance, max_states=0, effort=0).gain == gains[winner]


def test_plan_is_exact_within_its_limit_and_not_beyond() -> None:
    instance = fallow.catalog.figure2(seed=1)
    assert plan(instance).method == "optimal"
    assert plan(instance).residual < 1e-11
    heuristic = plan(instance, max_states=0, effort=0)
    assert heuristic.method != "optimal"
    assert heuristic.upper_bound == fallow.upper_bound(instance, effort=0)


def test_plan_works_far_beyond_the_exact_planner() -> None:
    instance = fallow.catalog.random_geometric(arms=300, max_delay=40, seed=2)
    assert plan(instance).certificate > 0.98


@settings(max_examples=200)
@given(st.integers(0, 2**32), st.integers(2, 4))
def test_switching_between_equal_ranking_policies_does_not_lose(seed: int, n: int) -> None:
    """Fact 1, on instances whose n-th baseline is chosen so that pi_m and pi_n earn the same."""
    generator = np.random.default_rng(seed)
    m = int(generator.integers(1, n))
    baselines = np.sort(generator.random(n))[::-1].copy()
    delays = generator.integers(1, 5, n)
    f = np.sort(generator.random(4))[::-1].tolist()
    table = Instance.b2dep(baselines, delays, f).means.tolist()
    others = sum(reference.mean_at(table, arm, n) for arm in range(n - 1))
    kept = reference.mean_at(table, n - 1, n) / baselines[-1]
    missing = (n * reference.ranking_gain(table, m) - others) / kept
    if 0 <= missing <= baselines[-2]:
        baselines[-1] = missing
        instance = Instance.b2dep(baselines, delays, f)
        gains = fallow.planners.ranking_gains(instance)
        assert gains[m - 1] == pytest.approx(gains[n - 1])
        alternating = [*range(m), *range(n)]
        assert gain(instance, alternating) >= gains[n - 1] - 1e-12


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shortest", [1, 2, 3])
def test_every_arm_that_the_knapsack_chose_comes_at_its_period(seed: int, shortest: int) -> None:
    six = problem_of(fallow.catalog.random_table(arms=6, max_delay=5, seed=seed))
    means = six.means
    periods = HARMONIC._periods(shortest, means.shape[1])
    length = int(periods[-1])
    worth = means[:, np.minimum(periods, means.shape[1]) - 1] / periods
    choices = best_choices(worth, length // periods, length)
    cycle = HARMONIC._best_schedule(six, shortest)
    assert len(cycle) == length
    for arm in np.flatnonzero(choices >= 0):
        period = periods[choices[arm]]
        assert any((cycle[start::period] == arm).all() for start in range(period))


def test_the_narrowest_beam_keeps_one_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    search = Mock(wraps=beam_path)
    monkeypatch.setattr(BEAM, "MAX_WORK", 1)
    monkeypatch.setattr(BEAM, "beam_path", search)
    beam(fallow.catalog.random_table(arms=4, max_delay=3, seed=0))
    assert search.call_args.args[6] == 1
