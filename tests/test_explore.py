"""What `fallow explore` makes of the sliders: the instance, and what the library says of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import fsum
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace
from strategies import b2dep_instances, shares, tables

import fallow
from fallow import Instance, Rules, catalog
from fallow.explore.answer import QUICK_STATES, answer
from fallow.explore.messages import MOST_DELAY, SliderSettings
from fallow.explore.model import EXAMPLE, MOST_ARMS, Explored, model_of
from fallow.planners import ghost, greedy, optimal, reachable_states

FAMILIES = ("geometric", "constant", "power")


@st.composite
def explorations(draw: st.DrawFn) -> tuple[Explored, SliderSettings]:
    """An instance, with sliders and switches anywhere."""
    explored = Explored(draw(st.one_of(b2dep_instances(), tables())))
    arms, start = explored.instance.arms, explored.settings
    moved = replace(
        start,
        levels=draw(st.lists(shares, min_size=arms, max_size=arms)),
        rules=draw(st.lists(st.booleans(), min_size=2, max_size=2)),
        thorough=draw(st.booleans()),
    )
    if start.delays is not None:
        delays = st.lists(st.integers(1, 4), min_size=arms, max_size=arms)
        decay = {draw(st.sampled_from(FAMILIES)): draw(shares)}
        moved = replace(moved, delays=draw(delays), decay=decay)
    return explored, moved


def built(code: str) -> Instance:
    """Run Python that builds an instance."""
    scope: dict[str, Any] = {}
    exec(code.partition("best =")[0], scope)
    instance = scope["instance"]
    assert isinstance(instance, Instance)
    return instance


def rotations(cycle: Sequence[int]) -> list[list[int]]:
    return [[*cycle[start:], *cycle[:start]] for start in range(len(cycle))]


@given(explorations())
def test_answers_are_what_the_library_says_of_the_exported_instance(
    exploration: tuple[Explored, SliderSettings],
) -> None:
    explored, settings = exploration
    found = answer(explored, settings)
    instance = Instance.from_toml(found.toml)
    assert built(found.python) == instance == explored.at(settings).instance
    assert found.means == instance.means.tolist()
    if found.conflict is not None:
        with pytest.raises(ValueError, match="^" + re.escape(found.conflict) + "$"):
            fallow.plan(instance)
        assert found.cycles == []
        return
    best = fallow.plan(instance)
    assert found.certificate == best.certificate
    plans = {"best": best}
    for planner in (greedy, ghost):
        try:
            plans[planner.__name__] = planner(instance)
        except ValueError:
            continue
    assert [planned.planner for planned in found.cycles] == list(plans)
    for planned, plan in zip(found.cycles, plans.values(), strict=True):
        assert planned.gain == plan.gain
        assert planned.length == len(plan.cycle)
        assert planned.cycle == min(rotations(plan.cycle))
        assert planned.share == pytest.approx(plan.gain / best.upper_bound if best.gain else 1.0)
        # Delays and rewards, counted anew over two turns of the cycle.
        rounds = [*planned.cycle, *planned.cycle]
        for turn, arm in enumerate(planned.cycle, len(planned.cycle)):
            last = max(before for before in range(turn) if rounds[before] == arm)
            delay = turn - last
            assert planned.delays[turn - len(planned.cycle)] == delay
            mean = instance.means[arm, min(delay, instance.max_delay + 1) - 1]
            assert planned.rewards[turn - len(planned.cycle)] == mean
        assert fsum(planned.rewards) / planned.length == pytest.approx(planned.gain)
    played = zip(found.cycles[0].cycle, found.cycles[0].delays, strict=True)
    assert {(arm, rest) for arm, rests in enumerate(found.rests) for rest in rests} == set(played)


@given(b2dep_instances(), st.sampled_from(FAMILIES), st.floats(0.01, 0.99))
def test_the_sliders_start_where_the_instance_is(
    instance: Instance, family: str, parameter: float
) -> None:
    delays = np.maximum(instance.delays, 1).tolist()
    made = Instance.b2dep(
        instance.baselines, delays, getattr(fallow.decay, family)(parameter), instance.names
    )
    explored = Explored(made)
    assert explored.model is not None
    start = explored.at(explored.settings).instance
    assert start.max_delay <= made.max_delay
    padded = np.pad(start.means, ((0, 0), (0, made.max_delay - start.max_delay)), mode="edge")
    assert padded == pytest.approx(made.means, abs=1e-9)
    assume(made.baselines[int(made.delays.argmax())] > 0.01 and made.delays.max() > 2)
    assert list(explored.model.decay) == [family]
    assert explored.model.decay[family] == pytest.approx(parameter, abs=1e-9)


def test_any_other_table_is_only_scaled() -> None:
    table = Instance([[0.1, 0.8, 0.2], [0.0, 0.0, 0.0], [0.3, 0.2, 0.1]])
    explored = Explored(table)
    assert explored.model is None
    assert explored.at(explored.settings).instance == table
    moved = explored.at(replace(explored.settings, levels=[0.4, 0.7, 0.6])).instance
    expected = [[0.05, 0.4, 0.1], [0, 0, 0], [0.6, 0.4, 0.2]]
    assert moved.means == pytest.approx(np.array(expected))


@pytest.mark.parametrize("values", [[0.7, 0.5, 0.1], [1.0, 0.5, 0.5], [0.6, 0.6, 0.5]])
def test_a_decay_of_no_family_is_not_taken_for_one(values: list[float]) -> None:
    assert model_of(Instance.b2dep([0.9, 0.5], [3, 2], values)) is None


def test_rules_are_switched_one_by_one() -> None:
    rules = Rules(groups={"dances": ["waltz", "polka"]}, at_least_once={"news": 10})
    assert EXAMPLE.rules == rules
    explored = Explored(EXAMPLE)
    assert [switch.text for switch in explored.switches] == [
        "dances (waltz and polka): never two in a row",
        "news: at least once in any 10 rounds",
        "nothing twice in a row",
    ]
    assert explored.settings.rules == [True, True, False]
    for kept in ([False, True, False], [True, False, True], [False, False, False]):
        found = explored.at(replace(explored.settings, rules=kept)).instance.rules
        kinds = {rule.kind for rule in found}
        wanted = ("groups", "at_least_once", "cooldowns")
        assert kinds == {kind for kind, is_on in zip(wanted, kept, strict=True) if is_on}
    apart = explored.at(replace(explored.settings, rules=[False, False, True])).instance.rules
    assert apart == Rules(cooldowns=dict.fromkeys(EXAMPLE.names, 2))


def test_an_arm_that_is_excluded_is_not_asked_for() -> None:
    instance = Instance([[0.5, 0.9], [0.4, 0.8], [0.1, 0.1]]).with_rules(Rules(exclude=[1]))
    explored = Explored(instance)
    all_on = replace(explored.settings, rules=[True, True, True])
    found = answer(explored, all_on)
    assert found.conflict is None
    assert set(found.cycles[0].cycle) == {0, 2}


def test_rules_that_cannot_be_kept_are_named_and_the_curves_stay() -> None:
    explored = Explored(Instance([[0.5, 0.9], [0.4, 0.8]]).with_rules(Rules(cooldowns=3)))
    found = answer(explored, explored.settings)
    assert found.means == [[0.5, 0.9], [0.4, 0.8]]
    assert (found.cycles, found.rests) == ([], [])
    assert found.conflict is not None
    assert "0: 3 rounds from pull to pull" in found.conflict
    without = answer(explored, replace(explored.settings, rules=[False, True, False]))
    assert without.conflict is None


def test_what_is_too_large_for_a_moving_slider_is_planned_when_it_rests() -> None:
    instance = catalog.mixed(seed=1).with_rules(Rules(cooldowns=2))
    assert reachable_states(instance) > QUICK_STATES
    explored = Explored(instance)
    quick = answer(explored, explored.settings)
    thorough = answer(explored, replace(explored.settings, thorough=True))
    best = optimal(instance)
    assert thorough.cycles[0].gain == best.gain
    assert thorough.certificate == best.certificate
    assert quick.certificate <= quick.cycles[0].gain / best.gain < 1 + 1e-9
    assert quick.cycles[0].gain == max(planned.gain for planned in quick.cycles)
    assert quick.certificate < thorough.certificate


def test_long_cycles_are_cut_but_counted_whole() -> None:
    explored = Explored(catalog.published_recovering())
    best, *_ = answer(explored, explored.settings).cycles
    assert best.length > len(best.cycle) == len(best.delays) == len(best.rewards) == 240


def test_what_is_too_large_is_refused() -> None:
    with pytest.raises(ValueError, match="arms to explore must be at most 20, got 21"):
        Explored(Instance(np.ones((MOST_ARMS + 1, 1))))
    with pytest.raises(ValueError, match="delays to explore must be at most 30, got 31"):
        Explored(Instance(np.ones((1, MOST_DELAY + 2))))
