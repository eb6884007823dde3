"""Rules in campaigns: deadlines from the first decision on, dead ends, elapsed time, conflicts."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from test_campaign import Clock, opened

import fallow
from fallow import Instance, Rules
from fallow.live import Campaign, ConflictError, RefusedError
from fallow.live.chooser import Ages, Chooser, _catching_up
from fallow.live.events import REFUSAL
from fallow.live.policy import check_rules
from fallow.live.settings import Settings
from fallow.live.state import State
from fallow.planners.feasible import StuckError

History = tuple[str, ...]


def keeps(rules: Rules, shown: History) -> bool:
    """Whether what was shown last keeps the rules, counted from the first round on."""
    for rule in rules:
        latest = shown[-rule.rounds :]
        count = sum(arm in rule.arms for arm in latest)
        if rule.kind == "at_least_once":
            if len(shown) >= rule.rounds and count == 0:
                return False
        elif shown[-1] in rule.arms and count > (0 if rule.kind == "exclude" else rule.pulls):
            return False
    return True


def random_rules(random: np.random.Generator, names: list[str], longest: int) -> dict[str, Any]:
    """Rules of all kinds that count rounds, as a document."""

    def some() -> list[str]:
        return [name for name in names if random.random() < 0.5] or names[:1]

    def rounds(least: int) -> int:
        return int(random.integers(least, longest + 1))

    stretch = rounds(2)
    document: dict[str, Any] = {
        "cooldowns": {name: int(random.integers(1, 4)) for name in some()},
        "at_least_once": {name: rounds(2) for name in some()},
        "groups": {"pair": {"arms": some(), "apart": int(random.integers(2, 4))}},
        "at_most": [
            {"arms": some(), "pulls": int(random.integers(1, stretch + 1)), "rounds": stretch}
        ],
    }
    kept = [kind for kind in document if random.random() < 0.6]
    return {kind: document[kind] for kind in kept}


def shown_to(campaign: Campaign, user: str, rounds: int, pay: dict[str, float]) -> Iterator[str]:
    for _ in range(rounds):
        decision = campaign.decide(user)
        campaign.feedback(decision.id, pay[decision.arm])
        yield decision.arm


def test_a_dull_arm_is_shown_to_everyone_in_time() -> None:
    rules = Rules(at_least_once={"news": 5})
    campaign = opened(arms=["hymn", "waltz", "news"], rules=rules)
    pay = {"hymn": 0.8, "waltz": 0.7, "news": 0.0}
    shown: dict[str, list[str]] = {f"user {number}": [] for number in range(25)}
    for _ in range(25):
        for user, arms in shown.items():
            arms += shown_to(campaign, user, 1, pay)
    for arms in shown.values():
        places = [-1, *(place for place, arm in enumerate(arms) if arm == "news"), 25]
        assert all(later - sooner <= 5 for sooner, later in pairwise(places))


@pytest.mark.parametrize("seed", range(40))
def test_no_rule_is_broken_from_the_first_decision_on(seed: int) -> None:
    random = np.random.default_rng(seed)
    names = ["a", "b", "c", "d", "e"][: int(random.integers(2, 6))]
    rules = Rules.from_document(random_rules(random, names, longest=11))
    explore = float(random.choice([0.0, 0.1, 0.5]))
    max_delay = int(random.integers(1, 5))
    try:
        campaign = opened(arms=names, rules=rules, explore=explore, max_delay=max_delay)
    except ValueError as error:
        assert "rules must leave a plan possible" in str(error)
        return
    pay = dict(zip(names, random.random(len(names)) * (random.random(len(names)) < 0.7)))
    for user in ("ann", "ben", "cleo"):
        shown = tuple(shown_to(campaign, user, 30, pay))
        broken = [end for end in range(1, 31) if not keeps(rules.bound_to(names), shown[:end])]
        assert not broken, (rules, shown)


def test_an_arm_that_comes_back_is_shown_as_soon_as_the_others_leave_a_round() -> None:
    rules = Rules(at_least_once={"news": 5, "jingle": 3})
    campaign = opened(arms=["hymn", "news", "jingle"], rules=rules)
    pay = {"hymn": 1.0, "news": 0.0, "jingle": 0.0}
    campaign.retire_arm("news")
    shown = list(shown_to(campaign, "ann", 12, pay))
    campaign.add_arm("news")
    shown += shown_to(campaign, "ann", 6, pay)
    assert "news" in shown[12:14]
    places = [-1, *(place for place, arm in enumerate(shown) if arm == "jingle")]
    assert all(later - sooner <= 3 for sooner, later in pairwise(places))


def test_cancels_that_break_a_deadline_do_not_refuse_a_user() -> None:
    rules = Rules(at_least_once={"news": 4, "jingle": 4}, groups={"talk": ["news", "jingle"]})
    campaign = opened(arms=["hymn", "news", "jingle"], rules=rules)
    random = np.random.default_rng(1)
    for _ in range(200):
        decision = campaign.decide("ann")
        if decision.arm != "hymn" and random.random() < 0.7:
            campaign.cancel(decision.id)


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(1, 12)), max_size=6))
def test_missed_deadlines_come_as_soon_as_all_can_be_kept(waits: list[tuple[int, int]]) -> None:
    longest, waited = np.array(waits, np.int64).reshape(-1, 2).T
    spare = (longest - _catching_up(longest, waited)).tolist()
    given = (longest - waited).tolist()

    def fits(spares: list[int]) -> bool:
        return all(each >= place for place, each in enumerate(sorted(spares)))

    assert fits(spare)
    kept = [each for each in given if each >= 0]
    if fits(kept):
        assert [each for each, before in zip(spare, given, strict=True) if before >= 0] == kept
    for place, before in enumerate(given):
        if before < 0:
            assert not any(
                fits([*spare[:place], sooner, *spare[place + 1 :]]) for sooner in range(spare[place])
            )


def lasting(rules: Rules, names: list[str], memory: int) -> set[History]:
    """All latest pulls after which the rules can be kept without end, by removing the others."""
    reached, frontier = {()}, [()]
    follows: dict[History, list[History]] = {}
    while frontier:
        now = frontier.pop()
        whole = [(*now, name) for name in names if keeps(rules, (*now, name))]
        follows[now] = [each[-memory:] for each in whole]
        for each in follows[now]:
            if each not in reached:
                reached.add(each)
                frontier.append(each)
    alive: set[History] = set(reached)
    while True:
        dead = {now for now in alive if not alive.intersection(follows[now])}
        if not dead:
            return alive
        alive -= dead


@pytest.mark.parametrize("seed", range(60))
def test_the_arms_to_explore_are_those_that_lead_on(seed: int) -> None:
    """From pasts of random arms that lead on, those of all histories."""
    random = np.random.default_rng(seed)
    names = ["a", "b", "c", "d"][: int(random.integers(2, 5))]
    rules = Rules.from_document(random_rules(random, names, longest=5)).bound_to(names)
    alive = lasting(rules, names, memory=5)
    try:
        chooser = Chooser(Instance(random.random((len(names), 3)), names, rules), np.arange(4))
    except ValueError:
        assert () not in alive
        return
    if () not in alive:
        return
    past: History = ()
    ages = Ages(())
    for _ in range(20):
        expected = [
            arm
            for arm, name in enumerate(names)
            if keeps(rules, (*past, name)) and (*past, name)[-5:] in alive
        ]
        permitted = chooser.permitted(ages)
        found = [arm for arm in permitted if not chooser.is_dead_end(ages, arm)]
        assert found == expected, (rules, past)
        assert chooser.choose(ages) in expected
        arm = int(random.choice(expected))
        past = (*past, names[arm])[-5:]
        ages = chooser._after(ages, arm)
