"""Switches counted on the pulls alone."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from helpers import Scripted

from fallow import Block, Instance, catalog, simulate
from fallow.planners import ghost
from fallow.studies.read import load_spec
from fallow.studies.spec import Spec
from reproduction.tournament.replay import (
    Listener,
    count_switches,
    phrase_starts,
    pulls_of,
    seconds,
    switches,
)

SPEC = """\
horizon = 400
runs = 3
seed = 3
{more}

[learners.low-switch]

[learners.ucb1]

[learners.ghost]

[instance]
catalog = "{family}"
"""


def slow_starts(pulls: list[int]) -> list[int]:
    """Parse by the definition: the longest run of pulls that also begins at an earlier round."""
    starts, start = [], 0
    while start < len(pulls):
        starts.append(start)
        lengths = [1]
        for earlier in range(start):
            for length in range(1, len(pulls) - start + 1):
                if pulls[earlier : earlier + length] == pulls[start : start + length]:
                    lengths.append(length)
        start += max(lengths)
    return starts


def test_the_parse_is_that_of_the_definition() -> None:
    for length in range(8):
        for pulls in product(range(3), repeat=length):
            assert phrase_starts(pulls) == slow_starts(list(pulls))
    generator = np.random.default_rng(0)
    for arms in (2, 3, 60_000):
        for _ in range(20):
            pulls = generator.integers(0, arms, 40).tolist() * 2
            assert phrase_starts(pulls) == slow_starts(pulls)


@pytest.mark.parametrize("length", [1, 2, 7])
def test_a_cycle_that_is_repeated_for_ever_costs_its_arms_alone(length: int) -> None:
    """One phrase for each arm when it is new, and one for all that follows."""
    starts = phrase_starts(list(range(length)) * 1000)
    assert starts == list(range(length + 1))
    assert switches(starts, 1000 * length) == length


def test_who_returns_to_an_old_cycle_switches_once() -> None:
    one, other = [0, 1] * 50, [2, 3] * 50
    assert switches(phrase_starts(one + other), 200) == 5
    assert switches(phrase_starts(one + other + one), 300) == 6
    assert switches(phrase_starts(one + other + one), 100) == 2  # within the first cycle


def test_it_does_not_matter_how_pulls_are_cut_into_blocks() -> None:
    instance = catalog.figure3()
    blocks = [Block((0, 1), 3), Block((0,)), Block((1,)), Block((0, 1, 1), 2), Block((0,), 9)]
    singles = [Block((arm,)) for block in blocks for arm in block.arms * block.plays]
    whole, single = Listener(Scripted(blocks)), Listener(Scripted(singles))
    for learner in (whole, single):
        simulate(instance, learner, 20, seed=0)
    assert whole.pulls(20) == single.pulls(20) == [0, 1] * 4 + [0, 1, 1] * 2 + [0] * 6


def load(folder: Path, family: str, more: str = "") -> Spec:
    path = folder / "family.toml"
    path.write_text(SPEC.format(family=family, more=more), encoding="utf-8")
    return load_spec(path)


@pytest.mark.parametrize(
    ("family", "more"),
    [("figure2", ""), ("drifting", "drift = 7"), ("figure3", 'rewards = "beta"')],
)
def test_pulls_are_those_of_the_runs_of_the_study(tmp_path: Path, family: str, more: str) -> None:
    """The expected reward of the pulls is that of the study, which plays compiled loops."""
    spec = load(tmp_path, family, more)
    result = spec.study().play(2)
    source = spec.instance()
    seed = np.random.SeedSequence(3, spawn_key=(2,)).spawn(3)[0].generate_state(1)[0]
    drawn = source(int(seed)) if callable(source) else source
    phases = [drawn] if isinstance(drawn, Instance) else drawn
    for place, label in enumerate(spec.learners):
        pulls = pulls_of(spec, label, 2)
        assert len(pulls) == 400
        earned = 0.0
        for number, phase in enumerate(phases):
            start, end = (400 * each // len(phases) for each in (number, number + 1))
            blocks = [Block((arm,)) for arm in pulls[start:end]]
            again = simulate(phase, Scripted(blocks), end - start, seed=0)
            earned += float(again.expected_reward(end - start))
        assert earned == pytest.approx(result.rewards[0, place, -1])


def test_switches_are_counted_at_each_round_of_comparison(tmp_path: Path) -> None:
    spec = replace(load(tmp_path, "figure3"), sweep=("epsilon", (-0.1, 0.1)))
    for number in (0, 1):
        pulls = pulls_of(spec.at(spec.points[number]), "ucb1", number)
        found = count_switches(spec, "ucb1", number, [50, 400])
        assert found == [len(phrase_starts(pulls[:50])) - 1, len(phrase_starts(pulls)) - 1]
    both = ghost(catalog.figure3(0.1)).cycle
    assert count_switches(spec, "ghost", 1, [400]) == [len(both)] == [2]


def test_a_run_takes_time(tmp_path: Path) -> None:
    assert seconds(load(tmp_path, "figure3"), "low-switch") > 0
