"""Theorem 1: a maintenance schedule exists if and only if the optimum is sum 1 / l_i."""

from fractions import Fraction
from itertools import combinations_with_replacement

import pytest
import reference

from fallow import optimal
from fallow.planners import maintenance

EVERY_PROBLEM = [
    intervals
    for machines in range(1, 5)
    for intervals in combinations_with_replacement(range(1, 7), machines)
    if sum(Fraction(1, length) for length in intervals) <= 1
]


@pytest.mark.parametrize("intervals", EVERY_PROBLEM, ids=str)
def test_theorem1_on_every_small_problem(intervals: tuple[int, ...]) -> None:
    feasible = reference.maintenance_feasible(list(intervals))
    target = sum(1 / length for length in intervals)
    optimum = optimal(maintenance.instance(intervals)).gain
    assert (optimum >= target - 1e-9) == feasible
    services = maintenance.schedule(intervals)
    assert (services is not None) == feasible
    if services is not None:
        assert maintenance.is_schedule(intervals, services)


def test_both_answers_occur_among_the_small_problems() -> None:
    answers = [reference.maintenance_feasible(list(intervals)) for intervals in EVERY_PROBLEM]
    assert len(answers) > 50
    assert 0 < sum(answers) < len(answers)


@pytest.mark.parametrize(
    "services",
    [[1, 2, 1, 2], [1, 2, 1, 0], [1, 2, 0, 3], [1, 2, 1, 3, 0], [0], [1, 1, 2, 3], [2, 3]],
)
def test_a_wrong_schedule_is_found_out(services: list[int]) -> None:
    assert not maintenance.is_schedule([2, 4, 4], services)


def test_a_schedule_may_start_anywhere_and_repeat() -> None:
    assert maintenance.is_schedule([2, 4, 4], [3, 1, 2, 1])
    assert maintenance.is_schedule([2, 4, 4], [1, 2, 1, 3, 1, 2, 1, 3])
    assert maintenance.is_schedule([3], [0, 1, 0])


def test_bad_problems_are_named() -> None:
    with pytest.raises(ValueError, match=r"sum of 1 / interval <= 1, got 7/6 for \[2, 2, 6\]"):
        maintenance.instance([2, 2, 6])
    with pytest.raises(ValueError, match="intervals must be whole numbers >= 1, got 0"):
        maintenance.schedule([0])
    with pytest.raises(ValueError, match="services must be from 0 to 1, got 2"):
        maintenance.is_schedule([2], [2])
