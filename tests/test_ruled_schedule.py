"""Schedules within rules, against all sequences of a few rounds."""

from collections.abc import Iterator
from importlib import import_module
from weakref import ref

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_rules import optimum, ruled_instances

import fallow
from fallow import Instance, Rules, Schedule, schedule
from fallow.arrays import FloatArray, IntArray
from fallow.kernels.schedule import path_reward

SCHEDULE = import_module("fallow.planners.schedule")
"""The module; in the package, the function of the same name stands before it."""

ROUNDS = 5


def sequences(instance: Instance, past: list[int], rounds: int) -> Iterator[list[int]]:
    """All schedules that obey, each round checked by what the rules say."""
    pulls = [list(past)]
    for _ in range(rounds):
        pulls = [
            [*before, arm]
            for before in pulls
            for arm in range(instance.arms)
            if allowed(instance, [*before, arm], len(past))
        ]
    return (each[len(past) :] for each in pulls)


def allowed(instance: Instance, pulls: list[int], start: int) -> bool:
    """Whether the last pull keeps the rules, and leaves rounds enough for what must come."""
    names = [instance.names[arm] for arm in pulls]
    spare = []
    for rule in instance.rules:
        latest = names[max(0, len(names) - rule.rounds) :]
        counted = sum(name in rule.arms for name in latest)
        most = 0 if rule.kind == "exclude" else rule.pulls
        if rule.kind == "at_least_once":
            # Counted from the last pull or else the first round, but from the start where that was
            # too long ago.
            pulled = [-1, *(place for place, name in enumerate(names) if name in rule.arms)]
            in_time = (place for place in pulled if place >= start - rule.rounds)
            last = max(in_time, default=start - 1)
            spare.append(rule.rounds - (len(names) - last))
        elif names[-1] in rule.arms and counted > most:
            return False
    enough = all(sum(other <= each for other in spare) <= each + 1 for each in spare)
    return enough and min(spare, default=0) >= 0


def earned(instance: Instance, past: list[int], pulls: list[int]) -> float:
    last = {arm: place - len(past) for place, arm in enumerate(past)}
    total = 0.0
    for now, arm in enumerate(pulls):
        delay = now - last[arm] if arm in last else instance.max_delay + 1
        total += instance.means[arm, min(delay, instance.max_delay + 1) - 1]
        last[arm] = now
    return total


@st.composite
def starts(draw: st.DrawFn) -> tuple[Instance, list[int]]:
    instance = draw(ruled_instances(max_arms=3, max_delay=2))
    return instance, draw(st.lists(st.integers(0, instance.arms - 1), max_size=6))


def scheduled(instance: Instance, past: list[int]) -> Schedule | None:
    """The schedule, None where the rules allow none."""
    try:
        return schedule(instance, ROUNDS, since=past)
    except ValueError as error:
        if "rules must leave" not in str(error):
            raise
        return None


@given(starts())
def test_the_best_of_all_schedules_that_obey(start: tuple[Instance, list[int]]) -> None:
    instance, past = start
    every = list(sequences(instance, past, ROUNDS))
    found = scheduled(instance, past)
    if found is None:
        assert not every or optimum(instance) is None  # from here, or for ever
        return
    assert list(found.arms) in every
    best = max(earned(instance, past, pulls) for pulls in every)
    assert found.method == "exact"
    assert found.total == pytest.approx(best, abs=1e-12)
    assert best <= found.upper_bound <= best + 1e-9


@given(starts())
def test_what_a_narrow_beam_finds_obeys_below_its_bound(start: tuple[Instance, list[int]]) -> None:
    instance, past = start
    every = list(sequences(instance, past, ROUNDS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SCHEDULE, "MAX_RULED_WIDTH", 1)
        patch.setattr(SCHEDULE, "MIN_RULED_WIDTH", 1)
        found = scheduled(instance, past)
    if found is not None:
        best = max(earned(instance, past, pulls) for pulls in every)
        assert list(found.arms) in every
        assert found.total <= best + 1e-12
        assert best <= found.upper_bound + 1e-12


def test_a_past_of_several_pulls_counts_against_a_cap() -> None:
    rules = Rules(at_most=[{"arms": ["hymn"], "pulls": 2, "rounds": 4}])
    songs = Instance([[0.9], [0.1]], ["hymn", "news"], rules)
    assert schedule(songs, 4, since=["hymn", "hymn"]).names == ("news", "news", "hymn", "hymn")
    assert schedule(songs, 4, {"hymn": 1}).names == ("hymn", "news", "news", "hymn")


def test_a_thousand_rounds_within_rules() -> None:
    """Too many for a beam over all of them: the plan's cycle, entered where that is allowed."""
    instance = fallow.catalog.random_geometric(arms=8, max_delay=6, seed=1)
    ruled = instance.with_rules(Rules(cooldowns=3, groups={"pair": [0, 1]}))
    long = schedule(ruled, 20_000, since=[0, 2])
    assert long.total / 20_000 == pytest.approx(fallow.plan(ruled).gain, rel=1e-3)
    assert long.certificate > 0.9
    assert all(delay is None or delay >= 3 for delay in long.delays)


def test_few_paths_are_in_memory_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path has as many entries as rounds, and the cycle can be entered at many places."""
    instance = fallow.catalog.random_geometric(arms=25, max_delay=20, seed=0)
    paths: list[ref[IntArray]] = []
    most = 0

    def reward(means: FloatArray, path: IntArray, delays: IntArray) -> float:
        nonlocal most
        paths.append(ref(path))
        most = max(most, sum(each() is not None for each in paths))
        return path_reward(means, path, delays)

    monkeypatch.setattr(SCHEDULE, "path_reward", reward)
    schedule(instance.with_rules(Rules(cooldowns=2)), 2_000)
    assert len(paths) > 100
    assert most <= 3


def test_where_no_schedule_is_left_it_says_so() -> None:
    songs = Instance([[0.9], [0.1]], ["hymn", "news"], Rules(cooldowns={"hymn": 2, "news": 2}))
    assert schedule(songs, 4, since=["news"]).names == ("hymn", "news", "hymn", "news")
    three = Instance([[0.9]] * 3, rules=Rules(cooldowns={0: 2, 1: 4, 2: 4}))
    with pytest.raises(ValueError, match="from these delays, got none longer than 1"):
        schedule(three, 5, since=[1, 2])
