"""Periodic schedules: instances whose optimum is a schedule that is known to exist."""

from importlib import import_module
from itertools import product
from unittest.mock import Mock

import numpy as np
import pytest

from fallow import Instance, plan
from fallow.arrays import FloatArray, IntArray
from fallow.kernels.periodic import FREE, _best_rounds, place, promises
from fallow.planners import maintenance, periodic

PERIODIC = import_module("fallow.planners.periodic")
"""The module; in the package, the function of the same name stands before it."""


def random_intervals(seed: int) -> list[int]:
    """Draw arms one by one into the free rounds of a cycle, so that a schedule exists."""
    generator = np.random.default_rng(seed)
    length = int(generator.choice([24, 30, 36, 48, 60]))
    divisors = [period for period in range(3, 21) if length % period == 0]
    free = np.ones(length, bool)
    intervals = []
    for period in generator.choice(divisors, 30).tolist():
        starts = [start for start in range(period) if free[start::period].all()]
        if starts:
            free[generator.choice(starts) :: period] = False
            intervals.append(period)
    return intervals


def exact_payoffs(intervals: list[int], payoffs: FloatArray) -> Instance:
    """Arms that pay only at exactly their interval, and an idle arm."""
    means = np.zeros((len(intervals) + 1, max(intervals) + 1))
    means[np.arange(len(intervals)), np.array(intervals) - 1] = payoffs
    return Instance(means)


HARDEST_EXACT = [9, 9, 18, 9, 12, 18, 12, 18, 18, 18]
HARDEST_RISING = [15, 15, 5, 15, 15, 10, 10, 15, 10]


def test_plan_is_optimal_where_all_other_heuristics_earn_at_most_93_percent() -> None:
    """The schedule with first rounds 1, 0, 6, 4, 5, 15, 11, 14, 7, 3 has no collision."""
    found = plan(exact_payoffs(HARDEST_EXACT, np.ones(10)), max_states=0)
    assert found.gain == pytest.approx(sum(1 / interval for interval in HARDEST_EXACT), abs=1e-12)


def test_plan_is_optimal_where_all_other_heuristics_earn_at_most_96_percent() -> None:
    found = plan(maintenance.instance(HARDEST_RISING), max_states=0)
    assert found.gain == pytest.approx(sum(1 / interval for interval in HARDEST_RISING), abs=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_arms_with_a_common_schedule_all_earn_their_most(seed: int) -> None:
    """No arm can earn more than its payoff once an interval, so the schedule is optimal."""
    intervals = random_intervals(seed)
    payoffs = np.random.default_rng(seed).uniform(0.3, 1, len(intervals))
    most = float((payoffs / intervals).sum())
    assert periodic(exact_payoffs(intervals, payoffs)).gain == pytest.approx(most, abs=1e-12)
    rising = maintenance.instance(intervals).means * np.append(payoffs, 0)[:, np.newaxis]
    assert periodic(Instance(rising)).gain == pytest.approx(most, abs=1e-12)


def test_the_schedule_keeps_every_interval() -> None:
    cycle = periodic(maintenance.instance([4, 6, 6, 12])).cycle
    assert maintenance.is_schedule([4, 6, 6, 12], [(arm + 1) % 5 for arm in cycle])


def drawn_values(seed: int, arms: int, longest: int) -> FloatArray:
    generator = np.random.default_rng(seed)
    return generator.uniform(-0.2, 1, (arms, longest)) / np.arange(1, longest + 1)


def test_a_length_promises_the_best_periods_that_divide_it() -> None:
    values = drawn_values(0, arms=3, longest=12)
    for length, promised in enumerate(promises(values), start=1):
        periods = [period for period in range(1, length + 1) if length % period == 0]
        best = [max(0, *(row[period - 1] for period in periods)) for row in values]
        assert promised == pytest.approx(sum(best))


def placements(length: int, arms: int) -> list[tuple[tuple[int, int], ...]]:
    """Return all (start, period) of all arms, collisions included; (0, 0) for an arm left out."""
    periods = [period for period in range(1, length + 1) if length % period == 0]
    rounds = [(start, period) for period in periods for start in range(period)]
    return list(product([(0, 0), *rounds], repeat=arms))


def brute_force(values: FloatArray, length: int) -> float:
    best = 0.0
    for placement in placements(length, len(values)):
        used = np.zeros(length, np.int64)
        total = 0.0
        for arm, (start, period) in enumerate(placement):
            if period:
                used[start::period] += 1
                total += values[arm, period - 1]
        if used.max() <= 1:
            best = max(best, total)
    return best


def periods_in(cycle: IntArray, arms: int) -> list[int]:
    """Return the period of each arm in a cycle, 0 where it has none, after checking it is one."""
    found = []
    for arm in range(arms):
        rounds = np.flatnonzero(cycle == arm)
        gaps = np.diff(rounds, append=rounds[:1] + len(cycle))
        assert len(set(gaps.tolist())) <= 1
        found.append(int(gaps[0]) if gaps.size else 0)
    return found


def test_most_small_cycles_are_the_best_of_all() -> None:
    best = 0
    for seed, length in product(range(30), [4, 6]):
        values = drawn_values(seed, arms=3, longest=length)
        cycle, total = place(values, length, 10_000)
        periods = periods_in(cycle, 3)
        earned = sum(values[arm, period - 1] for arm, period in enumerate(periods) if period)
        assert total == pytest.approx(earned)
        most = brute_force(values, length)
        assert total <= most + 1e-12
        best += total >= most - 1e-12
    assert best >= 56


def test_an_arm_with_several_rounds_is_displaced_once() -> None:
    """All rounds are worth .8 - .5, more than the free ones, though two are another's."""
    values, owned = np.array([0.8, 0.2]), np.array([0, FREE, 0, FREE])
    start, period, *_ = _best_rounds(values, np.array([1, 2]), 0.0, owned, np.array([0.5]), 1)
    assert (start, period) == (0, 1)


def test_the_search_ends_when_every_arm_has_its_best_period() -> None:
    """Two arms that never meet: one look more would never end."""
    values = np.array([[-1.0, 0.5, 0.1, 0.1], [-1.0, 0.0, 0.0, 0.2]])
    cycle, total = place(values, 4, 10**15)
    assert periods_in(cycle, 2) == [2, 4]
    assert (cycle == FREE).sum() == 1
    assert total == 0.5 + 0.2


def test_shorter_cycles_where_arms_are_very_many(monkeypatch: pytest.MonkeyPatch) -> None:
    search = Mock(wraps=place)
    monkeypatch.setattr(PERIODIC, "place", search)
    monkeypatch.setattr(PERIODIC, "MAX_SIZE", 180)
    periodic(maintenance.instance(HARDEST_RISING))
    lengths = [call.args[1] for call in search.call_args_list]
    assert 1 <= len(lengths) <= 4
    assert max(lengths) <= 180 // 9  # the schedule that exists has 30 rounds


def test_arms_that_pay_nothing_are_planned() -> None:
    assert periodic(Instance(np.zeros((3, 4)))).gain == 0
