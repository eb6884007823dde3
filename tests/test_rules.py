"""Rules: what planners may do, against all cycles of small instances; and what users write."""

import pickle
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt
import pytest
from helpers import write_spec
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view
from strategies import tables

import fallow
from fallow import Instance, Plan, Rules, gain, optimal, plan, upper_bound
from fallow.arrays import IntArray
from fallow.kernels.cycles import best_part
from fallow.planners import HEURISTICS
from fallow.planners.feasible import StuckError, any_cycle, broken_rules
from fallow.planners.problem import problem_of
from fallow.studies.read import load_spec
from fallow.toml import parse_toml

SONGS = Instance([[0.5, 0.9], [0.4, 0.8], [0.1, 0.1]], names=["hymn", "waltz", "news"])
EVERY_RULE = Rules(
    cooldowns={"hymn": 3},
    at_most=[{"arms": ["hymn", "waltz"], "pulls": 2, "rounds": 4}],
    groups={"dances": ["waltz", "news"]},
    at_least_once={"news": 4},
    exclude=["waltz"],
)


@cache
def all_cycles(arms: int, length: int) -> tuple[IntArray, IntArray]:
    """Every cycle of a length, and the delay at which each of its pulls comes again."""
    cycles = np.array(list(product(range(arms), repeat=length)))
    delays = np.full(cycles.shape, length)
    for delay in range(length - 1, 0, -1):
        delays[cycles == np.roll(cycles, delay, axis=1)] = delay
    return cycles, delays


def obeying(instance: Instance, cycles: IntArray) -> npt.NDArray[np.bool_]:
    """Tell which cycles obey: play each for long enough, and look at every stretch of rounds."""
    kept = np.ones(len(cycles), np.bool_)
    for rule in instance.rules:
        named = [instance.names.index(str(arm)) for arm in rule.arms]
        counted = np.isin(np.tile(cycles, 2 + rule.rounds // cycles.shape[1]), named)
        pulls = sliding_window_view(counted, rule.rounds, axis=1).sum(axis=2)
        if rule.kind == "at_least_once":
            kept &= pulls.min(axis=1) >= 1
        else:
            allowed = 0 if rule.kind == "exclude" else rule.pulls
            kept &= pulls.max(axis=1) <= allowed
    return kept


def obeys(instance: Instance, cycle: Sequence[int]) -> bool:
    return bool(obeying(instance, np.array([cycle])).all())


def best_of_all_cycles(instance: Instance, longest: int) -> float | None:
    """The gain of the best cycle of so many rounds at most that obeys, None if none does."""
    best = None
    for length in range(1, longest + 1):
        cycles, delays = all_cycles(instance.arms, length)
        rewards = instance.means[cycles, np.minimum(delays, instance.max_delay + 1) - 1]
        gains = rewards.mean(axis=1)[obeying(instance, cycles)]
        best = max(gains.max(initial=-1.0), best or -1.0) if gains.size else best
    return best


def optimum(instance: Instance) -> Plan | None:
    """The optimal plan, None where the rules are in conflict."""
    try:
        return optimal(instance)
    except ValueError as error:
        if "cannot all be kept" not in str(error):
            raise
        return None


@st.composite
def rules(draw: st.DrawFn, arms: int) -> Rules:
    """Some rules for so many arms, more or less hard to keep."""
    any_arm = st.integers(0, arms - 1)
    rounds = st.integers(1, 6)
    some_arms = st.lists(any_arm, min_size=1, max_size=arms, unique=True)
    apart = st.fixed_dictionaries({"arms": some_arms, "apart": st.integers(1, 4)})
    pulls, stretch = sorted((draw(st.integers(1, 4)), draw(rounds)))
    cap = {"arms": draw(some_arms), "pulls": pulls, "rounds": stretch}
    kinds = {
        "cooldowns": draw(st.dictionaries(any_arm, st.integers(1, 4), max_size=arms)),
        "at_most": [cap],
        "groups": {"group": draw(st.one_of(some_arms, apart))},
        "at_least_once": draw(st.dictionaries(any_arm, st.integers(2, 6), max_size=2)),
        "exclude": draw(st.lists(any_arm, max_size=arms - 1, unique=True)),
    }
    kept = draw(st.sets(st.sampled_from(sorted(kinds)), min_size=1, max_size=3))
    return Rules(**{kind: kinds[kind] for kind in kept})  # type: ignore[arg-type]


@st.composite
def ruled_instances(draw: st.DrawFn, max_arms: int = 4, max_delay: int = 3) -> Instance:
    instance = draw(tables(max_arms, max_delay))
    return instance.with_rules(draw(rules(instance.arms)))


@given(ruled_instances(max_arms=3, max_delay=2))
def test_the_optimum_is_that_of_all_cycles(instance: Instance) -> None:
    """Of up to 10 rounds: none is better, and if the optimum is as short, one is as good."""
    best = best_of_all_cycles(instance, longest=10)
    found = optimum(instance)
    if found is None:
        assert best is None
        return
    assert obeys(instance, found.cycle)
    assert found.residual < 1e-11
    assert upper_bound(instance) >= found.gain
    if best is not None:
        assert best <= found.gain + 1e-12
    if len(found.cycle) <= 10:
        assert best == pytest.approx(found.gain, abs=1e-12)


@given(ruled_instances())
def test_every_plan_obeys_its_rules(instance: Instance) -> None:
    """And none is above the optimum, nor the optimum above the bound."""
    best = optimum(instance)
    if best is None:
        with pytest.raises(ValueError, match="cannot all be kept"):
            plan(instance, max_states=0)
        return
    plans = [plan(instance, max_states=0)]  # which finds one whenever there is one
    for heuristic in HEURISTICS.values():
        with suppress(StuckError):
            plans.append(heuristic(instance))
    for found in plans:
        assert obeys(instance, found.cycle)
        assert found.gain <= best.gain + 1e-12
        assert found.upper_bound >= best.gain


@given(ruled_instances(), st.randoms(use_true_random=False))
def test_the_optimum_does_not_depend_on_the_order_of_the_arms(
    instance: Instance, random: Random
) -> None:
    order = list(range(instance.arms))
    random.shuffle(order)
    shuffled = Instance(
        instance.means[order], [instance.names[arm] for arm in order], instance.rules
    )
    plans = [optimum(instance), optimum(shuffled)]
    gains = [None if each is None else each.gain for each in plans]
    assert gains[0] == pytest.approx(gains[1], abs=1e-12)


@given(ruled_instances())
def test_a_conflict_needs_each_rule_that_it_names(instance: Instance) -> None:
    cycle = any_cycle(problem_of(instance))
    assert cycle is not None
    if cycle.size:
        assert obeys(instance, cycle.tolist())
        return
    with pytest.raises(ValueError, match="these cannot all be kept: ") as caught:
        plan(instance)
    named = [rule for rule in instance.rules if str(rule) in str(caught.value)]
    assert optimum(instance.with_rules(Rules.of(named))) is None
    for rule in named:
        fewer = instance.with_rules(Rules.of(named).without(rule))
        assert optimum(fewer) is not None


@given(ruled_instances(), st.data())
def test_the_best_part_of_a_path_that_obeys_is_found(
    instance: Instance, data: st.DataObject
) -> None:
    assume(optimum(instance) is not None)  # else nobody looks for parts
    problem = problem_of(instance)
    arms = problem.arms
    path = np.array(data.draw(st.lists(st.integers(0, len(arms) - 1), min_size=1, max_size=9)))
    parts = {start: arms[path[start:]] for start in range(len(path))}
    kept = {start: part for start, part in parts.items() if obeys(instance, part.tolist())}
    found = best_part(problem.means, problem.limits, path)
    assert (found == -1) == (not kept)
    if kept:
        best = max(gain(instance, part) for part in kept.values())
        assert gain(instance, kept[found]) == pytest.approx(best, abs=1e-12)


@given(tables())
def test_rules_that_forbid_nothing_change_nothing(instance: Instance) -> None:
    idle = Rules(cooldowns=1, at_most=[{"arms": [0], "pulls": 3, "rounds": 3}])
    assert optimal(instance.with_rules(idle)).gain == pytest.approx(
        optimal(instance).gain, abs=1e-12
    )


def test_cooldowns_that_fill_every_round_exactly() -> None:
    """2, 4 and 4 leave one cycle, 2, 3 and 6 none, though the sum of 1 / rounds is 1 in both."""
    arms = Instance([[0.3], [0.2], [0.1]])
    harmonic = arms.with_rules(Rules(cooldowns={0: 2, 1: 4, 2: 4}))
    assert sorted(optimal(harmonic).cycle) == [0, 0, 1, 2]
    with pytest.raises(ValueError, match=r"1 / cool-down is 1\.000, .* solved"):
        plan(arms.with_rules(Rules(cooldowns={0: 2, 1: 3, 2: 6})))


@pytest.mark.parametrize("rounds", [2, 4, 7, 1000, 2**17])
def test_a_price_is_found_for_waits_of_any_length(rounds: int) -> None:
    """Where arms may ask for one pull a round at most, and where they must."""
    often = Instance(np.full((2, 1), 0.5), rules=Rules(cooldowns=2))
    assert upper_bound(often, effort=0) == pytest.approx(0.5, abs=1e-9)
    arms = Instance([[0.5], [0.1]], rules=Rules(cooldowns={0: rounds}, at_least_once={1: rounds}))
    share = 1 / rounds
    assert upper_bound(arms, effort=0) == pytest.approx(0.5 * share + 0.1 * (1 - share), abs=1e-9)


def test_a_sum_below_one_is_impossible_whatever_the_size() -> None:
    arms = Instance(np.full((50, 1), 0.5))
    with pytest.raises(ValueError, match=r"; and 38 more; the sum of 1 / cool-down is 0\.500"):
        plan(arms.with_rules(Rules(cooldowns=100)))


def test_many_arms_with_long_cooldowns_are_planned() -> None:
    """No song again within 20 rounds, and never two of an artist in a row."""
    songs = fallow.catalog.random_geometric(arms=60, max_delay=12, seed=3)
    artists = {f"artist {number}": list(range(number, 60, 15)) for number in range(15)}
    ruled = songs.with_rules(Rules(cooldowns=20, groups=artists, at_least_once={7: 30}))
    found = plan(ruled)
    assert obeys(ruled, found.cycle)
    assert found.certificate > 0.95


def test_an_arm_that_is_needed_and_excluded_is_a_conflict_of_two() -> None:
    ruled = SONGS.with_rules(Rules(cooldowns={"hymn": 2}, at_least_once={1: 3}, exclude=[1]))
    two = "kept: waltz: at least once in any 3 rounds; waltz: not in the plan; "
    with pytest.raises(ValueError, match=two):
        plan(ruled)


def test_a_plan_by_hand_must_obey() -> None:
    ruled = SONGS.with_rules(Rules(cooldowns={"hymn": 3}))
    with pytest.raises(ValueError, match="breaks hymn: 3 rounds from pull to pull"):
        Plan.of(ruled, [0, 1], "by hand")
    assert Plan.of(ruled, [0, 1, 1], "by hand").cycle == (0, 1, 1)
    assert [rule.kind for rule in broken_rules(SONGS.with_rules(EVERY_RULE), [0, 1])] == [
        "cooldowns",
        "at_most",
        "at_least_once",
        "exclude",
    ]


def test_rules_are_kept_with_the_instance(tmp_path: Path) -> None:
    ruled = SONGS.with_rules(EVERY_RULE)
    ruled.save(tmp_path / "songs.toml")
    read = Instance.load(tmp_path / "songs.toml")
    assert read == ruled == pickle.loads(pickle.dumps(ruled))
    assert hash(read) == hash(ruled)
    assert read != SONGS
    assert Rules.from_document(ruled.rules.document()) == ruled.rules == eval(repr(ruled.rules))
    assert [str(rule) for rule in ruled.rules] == [
        "hymn: 3 rounds from pull to pull",
        "hymn and waltz: at most 2 in any 4 rounds",
        "dances (waltz and news): never two in a row",
        "news: at least once in any 4 rounds",
        "waltz: not in the plan",
    ]


def test_rules_in_seconds_and_groups_that_are_apart_are_kept_as_documents() -> None:
    rules = Rules(
        at_most=[{"arms": ["hymn"], "pulls": 3, "seconds": 0.5}],
        groups={"talk": {"arms": ["waltz"], "apart": 2}, "dances": ["waltz"]},
    )
    assert rules.document() == {
        "at_most": [{"arms": ["hymn"], "pulls": 3, "seconds": 0.5}],
        "groups": {"talk": {"arms": ["waltz"], "apart": 2}, "dances": ["waltz"]},
    }
    _, document = parse_toml(rules.to_toml().encode())
    assert Rules.from_document(document["rules"]) == rules == eval(repr(rules))
    assert [str(rule) for rule in rules] == [
        "hymn: at most 3 in any 0.5 seconds",
        "talk (waltz): 2 rounds from one to the next",
        "dances (waltz): never two in a row",
    ]


def test_arms_of_a_group_that_are_to_be_apart() -> None:
    rules = Rules(groups={"pair": {"arms": [0, 1], "apart": 3}})
    assert sorted(optimal(Instance([[1.0], [0.9], [0.1]], rules=rules)).cycle) == [0, 2, 2]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (3, "rules must be a table, got 3"),
        ({"cooldown": 3}, "a key of rules must be one of .*did you mean 'cooldowns'"),
        ({"cooldowns": "hymn"}, "rules.cooldowns must be a whole number >= 1, got 'hymn'"),
        ({"cooldowns": {"hymn": 0}}, "rules.cooldowns of 'hymn' must be a whole number >= 1"),
        ({"cooldowns": {"himn": 2}}, "must name arms of the instance, got 'himn'; did you mean"),
        ({"cooldowns": {3: 2}}, "rules.cooldowns must name arms from 0 to 2, got 3"),
        ({"cooldowns": 2**40}, "rules.cooldowns must be at most 1,048,576"),
        ({"at_least_once": [3]}, "rules.at_least_once must be rounds by arm"),
        ({"at_most": {"arms": [0]}}, "rules.at_most must be a list of tables"),
        ({"at_most": [{"arms": [0], "pulls": 1}]}, r"at_most\[0\] must hold arms, pulls, rounds"),
        (
            {"at_most": [{"arms": [0], "pulls": 3, "rounds": 2}]},
            r"rules.at_most\[0\].pulls must be at most 2 \(its rounds\), got 3",
        ),
        ({"groups": {"a": []}}, "rules.groups.a must name at least one arm"),
        ({"groups": {"a": "hymn"}}, "rules.groups.a must be a list of arms, got 'hymn'"),
        ({"groups": {"a": ["hymn", 0]}}, "must name an arm once, got 'hymn' twice"),
        ({"groups": [[0]]}, "rules.groups must be arms by group"),
        ({"groups": {"a": {"arms": [0]}}}, "rules.groups.a must hold arms, apart, got arms"),
        ({"groups": {"a": {"arms": [0], "apart": 0.5}}}, "rules.groups.a.apart must be a whole"),
        (
            {"at_most": [{"arms": [0], "pulls": 3, "seconds": 60}]},
            "rules.at_most must have rounds; seconds .*, got 0: at most 3 in any 60 seconds",
        ),
        (
            {"at_most": [{"arms": [0], "pulls": 3, "seconds": 60, "rounds": 5}]},
            r"at_most\[0\] must hold arms, pulls, seconds, got arms, pulls, seconds, rounds",
        ),
        ({"at_most": [{"arms": [0], "pulls": 1, "seconds": 0}]}, "must be finite and above 0"),
        ({"exclude": [0.5]}, "rules.exclude must hold names or indices of arms, got 0.5"),
        ({"exclude": [0, 1, 2]}, "rules.exclude must leave an arm for the plan"),
        ({"cooldowns": {"hymn": 2, 0: 3}}, "rules must say each thing once, got hymn: 2"),
    ],
)
def test_wrong_rules_are_named(document: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SONGS.with_rules(Rules.from_document(document))


def test_rules_must_be_rules() -> None:
    with pytest.raises(ValueError, match="rules must be a fallow"):
        Instance([[1.0]], rules=3)  # type: ignore[arg-type]


def test_learners_are_not_measured_against_plans_that_obey(tmp_path: Path) -> None:
    ruled = SONGS.with_rules(Rules(cooldowns=2))
    learners = {"ucb": lambda instance, _: fallow.RankingUCB(instance.order)}
    for source in (ruled, lambda _: ruled):
        with pytest.raises(ValueError, match="instance must have no rules, which learners do not"):
            fallow.replicate(source, learners, 10, runs=1, seed=0)
    ruled.save(tmp_path / "songs.toml")
    spec = write_spec(tmp_path)
    spec.write_text(spec.read_text().replace('catalog = "figure2"', 'file = "songs.toml"'))
    with pytest.raises(ValueError, match=r"file of an instance, got 'songs\.toml': instance must"):
        load_spec(spec)
