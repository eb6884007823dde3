"""The evaluator and the plan type."""

from typing import Any

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from strategies import instances

import fallow
from fallow import Instance, Plan, gain
from fallow.kernels.cycles import shortest_period


@given(instances, st.data())
def test_gain_is_the_average_of_playing_the_cycle(instance: Instance, data: st.DataObject) -> None:
    arms = st.integers(0, instance.arms - 1)
    cycle = data.draw(st.lists(arms, min_size=1, max_size=12))
    expected = reference.cycle_gain(instance.means.tolist(), cycle)
    assert gain(instance, cycle) == pytest.approx(expected, abs=1e-12)


@given(instances, st.data())
def test_gain_does_not_depend_on_where_the_cycle_starts(
    instance: Instance, data: st.DataObject
) -> None:
    arms = st.integers(0, instance.arms - 1)
    cycle = data.draw(st.lists(arms, min_size=1, max_size=12))
    start = data.draw(st.integers(0, len(cycle)))
    assert gain(instance, cycle[start:] + cycle[:start]) == gain(instance, cycle)


@pytest.mark.parametrize(
    ("cycle", "message"),
    [
        ([], "cycle must hold at least one number, got none"),
        ([0, 2], "cycle must hold arms from 0 to 1, got 2 at position 1"),
        ([0, -1], "cycle must be whole numbers >= 0, got -1 at position 1"),
        ([0.5], "cycle must be whole numbers >= 0, got 0.5 at position 0"),
        ([True], "cycle must be whole numbers >= 0, got True at position 0"),
        (np.array([0, -1]), "cycle must be whole numbers >= 0, got -1 at position 1"),
        (np.array([], int), "cycle must hold at least one number, got none"),
        (np.array([[0], [1]]), "cycle must be a list of whole numbers, got array"),
        ("01", "cycle must be a list of whole numbers, got '01'"),
    ],
)
def test_bad_cycles_are_named(cycle: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gain(Instance.blocking([1, 1], [1, 1]), cycle)


@pytest.mark.parametrize(
    ("cycle", "period"),
    [
        ([0, 1, 0, 1, 0, 1], (0, 1)),
        ([1, 1], (1,)),
        ([0, 1, 0], (0, 1, 0)),
        ([0, 1, 1, 0, 1, 1], (0, 1, 1)),
    ],
)
def test_a_plan_keeps_the_shortest_period(cycle: list[int], period: tuple[int, ...]) -> None:
    assert Plan.of(Instance.blocking([1, 1], [1, 1]), cycle, "by hand").cycle == period


def test_the_certificate_of_nothing_to_earn_is_one() -> None:
    nothing = Instance([[0.0, 0.0], [0.0, 0.0]])
    for plan in (Plan.of(nothing, [0], "by hand"), fallow.plan(nothing), fallow.plan(nothing, 0)):
        assert plan.gain == 0
        assert plan.certificate == 1


@given(st.lists(st.integers(0, 1), min_size=1, max_size=9), st.integers(1, 4))
def test_the_shortest_period_repeats_to_the_cycle(part: list[int], times: int) -> None:
    cycle = part * times
    lengths = [n for n in range(1, len(cycle) + 1) if cycle[:n] * (len(cycle) // n) == cycle]
    assert shortest_period(np.array(cycle)) == lengths[0]
