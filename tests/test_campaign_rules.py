"""Rules in campaigns: deadlines from the first decision on, dead ends, elapsed time, conflicts."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_campaign import Clock, opened

import fallow
from fallow import Instance, Rules
from fallow.errors import InputError
from fallow.live import Campaign, ConflictError, RefusedError
from fallow.live.arm_search import Ages, ArmSearch, _catching_up
from fallow.live.events import REFUSAL, Event
from fallow.live.exploration import randomized
from fallow.live.policy import check_rules
from fallow.live.settings import CampaignSettings
from fallow.live.state import State

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
    except InputError:  # another test says whether that is right
        return
    levels = random.random(len(names)) * (random.random(len(names)) < 0.7)
    pay = dict(zip(names, levels.tolist(), strict=True))
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
                fits([*spare[:place], sooner, *spare[place + 1 :]])
                for sooner in range(spare[place])
            )


def lasting(rules: Rules, names: list[str], memory: int) -> set[History]:
    """All latest pulls after which the rules can be kept without end, by removing the others."""
    reached: set[History] = {()}
    frontier: list[History] = [()]
    follows: dict[History, list[History]] = {}
    while frontier:
        now = frontier.pop()
        whole = [(*now, name) for name in names if keeps(rules, (*now, name))]
        follows[now] = [each[-memory:] for each in whole]
        for each in follows[now]:
            if each not in reached:
                reached.add(each)
                frontier.append(each)
    alive = set(reached)
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
        search = ArmSearch(Instance(random.random((len(names), 3)), names, rules), np.arange(4))
    except InputError:
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
        permitted = search.permitted(ages)
        found = [arm for arm in permitted if not search.is_dead_end(ages, arm)]
        assert found == expected, (rules, past)
        assert search.choose(ages) in expected
        arm = int(random.choice(expected))
        past = (*past, names[arm])[-5:]
        ages = search._after(ages, arm)


@given(st.lists(st.booleans(), min_size=1, max_size=6), st.data())
def test_the_chance_of_an_arm_is_its_propensity(dead: list[bool], data: st.DataObject) -> None:
    """Counted over draws at equal distances, so that nothing is left to chance."""
    count = len(dead)
    chosen = data.draw(st.integers(0, count - 1))
    draws = 16 * count
    shown: Counter[int] = Counter()
    propensities = {}
    for number in range(draws):
        arm, propensities[arm] = randomized(
            chosen,
            list(range(count)),
            explore=0.25,
            drawn=number / draws,
            leads_on=lambda arm: arm == chosen or not dead[arm],
        )
        shown[arm] += 1
    assert all(arm == chosen or not dead[arm] for arm in shown)
    assert sum(propensities.values()) == pytest.approx(1, abs=1e-12)
    for arm, propensity in propensities.items():
        assert propensity == pytest.approx(shown[arm] / draws, abs=1e-12)


def test_explored_arms_within_rules_come_as_often_as_their_propensities_say() -> None:
    """Showing b at first leaves no way to show c every other round, and a and d in time.

    Each frequency is within five standard errors: a false alarm in about 10^6 runs.
    """
    rules = Rules(cooldowns={"a": 2, "b": 3, "d": 2}, at_least_once={"a": 4, "c": 2, "d": 4})
    arms = ["a", "b", "c", "d"]
    campaign = opened(arms=arms, rules=rules, explore=0.4)
    users = 4_000
    decided = [campaign._decider.decide(f"user {user}", None, 0.0) for user in range(users)]
    events = [event for event in decided if isinstance(event, Event)]
    shown = Counter(event.arm for event in events)
    propensities = {event.arm: event.propensity or 0.0 for event in events}
    dead_end = {arm for arm in arms if arm not in shown}
    assert dead_end == {"b"}
    assert sum(propensities.values()) == pytest.approx(1)
    assert sorted(propensities.values())[:1] == [pytest.approx(0.1)]
    for arm, chance in propensities.items():
        error = np.sqrt(chance * (1 - chance) / users)
        assert abs(shown[arm] / users - chance) < 5 * error


def test_a_search_is_not_needed_where_counts_say_that_some_arm_is_always_free() -> None:
    names = ["a", "b", "c", "d"]
    table = np.ones((4, 2))

    def is_never_stuck(rules: Rules) -> bool:
        return ArmSearch(Instance(table, names, rules), np.arange(4))._is_never_stuck

    assert is_never_stuck(Rules(cooldowns=4))
    assert is_never_stuck(Rules(cooldowns=2, groups={"pair": ["a", "b"]}))
    assert is_never_stuck(Rules(groups={"pair": ["a", "b"], "other": ["c", "d"]}))
    assert not is_never_stuck(Rules(cooldowns={"a": 3, "b": 4, "c": 4, "d": 5}))
    assert not is_never_stuck(Rules(groups={"one": ["a", "b"], "two": ["b", "c", "d"]}))
    assert not is_never_stuck(Rules(groups={"pair": ["a", "b"]}, cooldowns={"c": 4, "d": 4}))
    assert not is_never_stuck(Rules(at_least_once={"a": 4}))


@pytest.mark.parametrize("seed", range(30))
def test_no_choice_gets_stuck_where_counts_say_so(seed: int) -> None:
    """Arms that are permitted, taken at random, never come to an end."""
    random = np.random.default_rng(seed)
    names = ["a", "b", "c", "d", "e"]
    document: dict[str, Any] = {
        "cooldowns": {name: int(random.integers(1, 6)) for name in names},
        "groups": {"pair": {"arms": ["a", "b"], "apart": int(random.integers(2, 5))}},
    }
    instance = Instance(np.ones((5, 2)), names, Rules.from_document(document))
    try:
        search = ArmSearch(instance, np.arange(5))
    except InputError:  # the rules cannot be kept
        return
    ages = Ages(())
    for _ in range(100):
        permitted = search.permitted(ages)
        if not search._is_never_stuck and not permitted:
            return
        ages = search._after(ages, int(random.choice(permitted)))


def by_time(**options: Any) -> tuple[Campaign, Clock]:
    clock = Clock()
    given = {"arms": ["hymn", "waltz", "news", "sale"], "max_delay": 1000.0, "clock": "time"}
    return opened(**{**given, **options}, now=clock), clock


@pytest.mark.parametrize("explore", [0.0, 0.5])
def test_rules_in_seconds_are_kept(explore: float) -> None:
    rules = {
        "cooldowns": {"hymn": 50},
        "at_most": [{"arms": ["news", "sale"], "pulls": 3, "seconds": 86.5}],
        "groups": {"talk": {"arms": ["news", "waltz"], "apart": 20}},
    }
    campaign, clock = by_time(rules=rules, explore=explore)
    random = np.random.default_rng(1)
    shown: list[tuple[float, str]] = []
    refused = 0
    for _ in range(1_000):
        clock.seconds += float(random.exponential(6.0))
        try:
            arm = campaign.decide("ann").arm
        except RefusedError as error:
            refused += 1
            wait = error.retry_after or 0.0
            clock.seconds += wait - 0.001
            with pytest.raises(RefusedError):
                campaign.decide("ann")
            clock.seconds += 0.001 + 1e-6
            arm = campaign.decide("ann").arm
        shown.append((clock.seconds, arm))
    assert refused > 10
    caps = [(["hymn"], 1, 50), (["news", "sale"], 3, 86.5), (["news", "waltz"], 1, 20)]
    for arms, pulls, seconds in caps:
        times = [at for at, arm in shown if arm in arms]
        assert len(times) > 30
        pairs = zip(times, times[pulls:], strict=False)
        assert all(later - sooner >= seconds - 1e-6 for sooner, later in pairs)


def test_the_propensity_within_rules_in_seconds_counts_permitted_arms() -> None:
    campaign, clock = by_time(rules={"cooldowns": 60}, explore=0.3)
    for permitted in (4, 3, 2, 1):
        campaign.decide("ann")
        clock.seconds += 1
        log = campaign._store.read(0)
        propensity = [event.propensity for _, event in log][-1]
        assert min(abs((propensity or 0) - each) for each in chances(permitted)) < 1e-12
    with pytest.raises(RefusedError):
        campaign.decide("ann")


def chances(permitted: int) -> tuple[float, float]:
    return 0.3 / permitted, 0.3 / permitted + 0.7


def test_a_refusal_says_which_rule_and_comes_with_an_event() -> None:
    arms = ["hymn", "waltz"]
    cap = {"arms": arms, "pulls": 3, "seconds": 86_400}
    campaign, clock = by_time(arms=arms, rules={"at_most": [cap]})
    for _ in range(3):
        campaign.decide("ann")
        clock.seconds += 100
    with pytest.raises(RefusedError, match=r"ask again in 86,100\.000 s") as refusal:
        campaign.decide("ann")
    event = refusal.value.event
    assert (event.kind, event.user, event.at) == (REFUSAL, "ann", clock.seconds)
    assert event.reason == "at most 3 in any 86400 seconds"
    assert refusal.value.retry_after == pytest.approx(86_100)
    campaign.decide("ben")


def test_a_refusal_by_rounds_is_an_event_too() -> None:
    """Of a, b, a, c, a the second a was not shown: then all of them must wait."""
    campaign = opened(arms=["a", "b", "c"], rules={"cooldowns": {"a": 2, "b": 4, "c": 4}})
    while campaign.decide("ann").arm != "a":
        pass
    _, second, _, _ = (campaign.decide("ann") for _ in range(4))
    assert second.arm == "a"
    campaign.cancel(second.id)
    with pytest.raises(RefusedError, match="got none for 'ann' now") as refusal:
        campaign.decide("ann")
    assert refusal.value.retry_after is None
    assert refusal.value.event.kind == REFUSAL
    assert refusal.value.event.reason == "cooldowns"


def test_a_retired_arm_still_counts_for_its_group() -> None:
    rules = {"groups": {"talk": {"arms": ["hymn", "waltz"], "apart": 30}}, "exclude": ["sale"]}
    campaign, clock = by_time(rules=rules, arms=["hymn", "waltz", "sale"])
    first = campaign.decide("ann").arm
    campaign.retire_arm(first)
    clock.seconds += 10
    with pytest.raises(RefusedError) as refusal:
        campaign.decide("ann")
    assert refusal.value.retry_after == pytest.approx(20)


@pytest.mark.parametrize(
    ("clock", "rules"),
    [
        ("time", {"at_least_once": {"a": 3}}),
        ("time", {"at_most": [{"arms": ["a"], "pulls": 1, "rounds": 3}]}),
        ("time", {"groups": {"pair": ["a", "b"]}}),
        ("rounds", {"at_most": [{"arms": ["a"], "pulls": 1, "seconds": 3}]}),
    ],
)
def test_rules_that_the_clock_cannot_count_are_refused(clock: str, rules: Any) -> None:
    with pytest.raises(InputError, match="rules"):
        CampaignSettings(("a", "b"), 3, clock, rules=Rules.from_document(rules))


def test_rules_are_the_same_in_any_order() -> None:
    """A store sorts the arms of a rule, and the campaign is opened with its own."""
    rules = Rules(at_least_once={"b": 4, "a": 5})
    settings = CampaignSettings(("a", "b"), 3, rules=rules)
    assert CampaignSettings.from_document(json.loads(settings.to_json())) == settings
    assert rules == Rules(at_least_once={"a": 5, "b": 4})
    assert rules != Rules(at_least_once={"a": 4, "b": 5})


IMPOSSIBLE = {"at_least_once": {"a0": 2, "a1": 3, "a2": 12}}


def test_rules_that_need_a_proof_are_refused_at_once() -> None:
    with pytest.raises(InputError, match="a0: at least once in any 2 rounds; a1"):
        opened(arms=["a0", "a1", "a2"], rules=IMPOSSIBLE)
    rules = Rules(cooldowns={"a": 2, "b": 3, "c": 12})
    campaign = opened(arms=["a", "b", "c", "d"], rules=rules)
    with pytest.raises(ConflictError, match="cannot all be kept"):
        campaign.retire_arm("d")


def test_a_bound_needs_rules_that_can_be_kept() -> None:
    rules = Rules(at_least_once={0: 2, 1: 3, 2: 12})
    with pytest.raises(ValueError, match="these cannot all be kept"):
        fallow.upper_bound(Instance([[0.5, 0.9]] * 3, rules=rules))


@pytest.mark.parametrize("seed", range(100))
def test_a_campaign_refuses_what_no_plan_can_keep(seed: int) -> None:
    random = np.random.default_rng(seed)
    names = ["a", "b", "c", "d"][: int(random.integers(2, 5))]
    rules = Rules.from_document(random_rules(random, names, longest=5))
    try:
        fallow.plan(Instance(np.ones((len(names), 3)), names, rules))
        expected = True
    except InputError:
        expected = False
    view = State(CampaignSettings(names, 2, rules=rules)).view()
    if expected:
        assert check_rules(view) is True
    else:
        with pytest.raises(ValueError, match="cannot all be kept"):
            check_rules(view)


def test_what_is_too_large_for_a_proof_is_said() -> None:
    names = [str(arm) for arm in range(40)]
    rules = Rules(
        cooldowns=3,
        at_most=[{"arms": names[:20], "pulls": 9, "rounds": 20}],
        at_least_once={names[arm]: 21 + arm for arm in range(10)},
    )
    assert check_rules(State(CampaignSettings(names, 30, rules=rules)).view()) is False
    assert check_rules(State(CampaignSettings(names, 30)).view()) is True
