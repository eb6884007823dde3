"""The state of a campaign against all events, looked through one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallow.errors import InputError
from fallow.live.decider import Decider
from fallow.live.errors import ConflictError
from fallow.live.events import (
    ARM,
    CANCEL,
    DECISION,
    DEFAULT,
    EXPIRE,
    FEEDBACK,
    REFUSAL,
    RETIRE,
    Event,
    checksum_after,
)
from fallow.live.service.overview import MOST_BUCKETS, overview_of
from fallow.live.settings import CampaignSettings
from fallow.live.state import OPEN, State
from fallow.live.state.decision_table import OverdueIndex
from fallow.live.state.digest_map import DigestMap
from fallow.rules import Rules

DAY = 86_400.0
ARMS = ("polka", "waltz", "hymn")


LEAST_ROWS = 20
"""So few that decisions are dropped often."""


class Twin:
    """A state, and all that happened to its decisions in plain lists."""

    def __init__(self, settings: CampaignSettings) -> None:
        self.state = State(settings, least_rows=LEAST_ROWS)
        self.events: list[Event] = []
        self.made: dict[int, Event] = {}
        self.status: dict[int, str] = {}

    def apply(self, event: Event) -> None:
        self.events.append(event)
        number = len(self.events)
        if event.kind == DECISION:
            self.made[number] = event
            self.status[number] = DECISION
        elif event.ref is not None:
            self.status[event.ref] = event.kind
        self.state.apply(number, event)

    @property
    def now(self) -> float:
        return sorted(event.at for event in self.events[-3:])[1]

    def is_old(self, number: int) -> bool:
        return self.made[number].at < self.now - self.state.settings.key_days * DAY

    def is_known(self, number: int) -> bool:
        return self.status[number] == DECISION or not self.is_old(number)

    def past(self, user: str) -> list[tuple[int, float]]:
        return [
            (self.state.arm_indices[event.arm or ""], event.at)
            for number, event in reversed(self.made.items())
            if event.user == user and self.status[number] != CANCEL
        ]


def _play(
    settings: CampaignSettings, seed: int, events: int, jumps: bool = False, users: int = 6
) -> Iterator[Twin]:
    """Yield the twin after each event of a random campaign."""
    twin, generator, clock, arms = Twin(settings), random.Random(seed), 1e9, list(ARMS)
    for count in range(events):
        clock += generator.expovariate(1 / 3600)
        at = clock
        if jumps and generator.random() < 0.02:
            at += generator.choice([-40, 40]) * DAY
        known = [number for number in twin.made if twin.is_known(number)] if count > 3 else []
        pending = [n for n in known if twin.status[n] not in (FEEDBACK, CANCEL)]
        waited = [n for n in pending if twin.status[n] == DECISION]
        draw = generator.random()
        if draw < 0.3 and pending:
            event = Event(FEEDBACK, at, ref=generator.choice(pending), reward=generator.random())
        elif draw < 0.4 and pending:
            event = Event(CANCEL, at, ref=generator.choice(pending))
        elif draw < 0.45 and waited:
            event = Event(DEFAULT, at, ref=generator.choice(waited), reward=0.25)
        elif draw < 0.5 and waited:
            event = Event(EXPIRE, at, ref=generator.choice(waited))
        elif draw < 0.52:
            event = Event(generator.choice([ARM, RETIRE]), at, arm=generator.choice(arms))
        elif draw < 0.53:
            arms.append(f"arm {count}")
            event = Event(ARM, at, arm=arms[-1])
        elif draw < 0.54:
            event = Event(REFUSAL, at, user="ann")
        else:
            key = f"key {generator.randrange(200)}" if generator.random() < 0.3 else None
            if key is not None and twin.state.keys.get(key) is not None:
                key = None
            user, arm = f"user {generator.randrange(users)}", generator.choice(arms)
            event = Event(DECISION, at, None, user, arm, 1 + count % 3, expected=0.5, key=key)
        twin.apply(event)
        yield twin


SETTINGS = [
    CampaignSettings(ARMS, 2, key_days=2.0, wait=3600.0),
    CampaignSettings(ARMS, 5, key_days=0.5),
    CampaignSettings(ARMS, 3.5 * DAY, clock="time", key_days=2.0),
]


@pytest.mark.parametrize("jumps", [False, True])
@pytest.mark.parametrize("settings", SETTINGS)
def test_the_bits_are_the_same_from_replay_and_from_a_snapshot_at_any_cut(
    settings: CampaignSettings, jumps: bool
) -> None:
    snapshots, heads = [], []
    for twin in _play(settings, 1, 700, jumps):
        if twin.state.head % 23 == 0:
            content = twin.state.to_bytes()
            overdue = twin.state.overdue(twin.now)
            assert twin.state.to_bytes() == content
            snapshots.append(content)
            heads.append(twin.state.head)
            assert State.from_bytes(content, least_rows=LEAST_ROWS).overdue(twin.now) == overdue
    whole = twin.state.to_bytes()
    assert twin.state.dropped > 0
    assert len(twin.state.numbers) < len(twin.made) / 2
    for head, content in zip(
        [0, *heads], [State(settings, least_rows=LEAST_ROWS).to_bytes(), *snapshots], strict=True
    ):
        state = State.from_bytes(content, least_rows=LEAST_ROWS)
        for number, event in enumerate(twin.events[head:], head + 1):
            state.apply(number, event)
        assert state.to_bytes() == whole


def test_a_snapshot_is_of_its_moment_though_decisions_are_dropped_before_it_is_made() -> None:
    for twin in _play(SETTINGS[0], 2, 400):
        if twin.state.head == 200:
            then, make, dropped = twin.state.to_bytes(), twin.state.snapshot(), twin.state.dropped
    assert twin.state.dropped > dropped
    assert make() == then


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("jumps", [False, True])
@pytest.mark.parametrize("settings", SETTINGS[:2])
def test_the_past_of_users_is_known_as_many_rounds_back_as_it_matters(
    settings: CampaignSettings, jumps: bool, seed: int
) -> None:
    reach = int(settings.max_delay)
    for twin in _play(settings, seed, 600, jumps):
        for user in ("user 0", "user 3"):
            shown = [arm for arm, _ in islice(twin.state.past(user), reach)]
            assert shown == [arm for arm, _ in twin.past(user)[:reach]]
    assert len(twin.state.archive.arm) > 0


def test_the_past_of_users_is_known_as_many_seconds_back_as_it_matters() -> None:
    for twin in _play(SETTINGS[2], 3, 900):
        if twin.state.head > 3:
            since = twin.now - 3.5 * DAY
            for user in ("user 0", "user 3"):
                expected = [(arm, at) for arm, at in twin.past(user) if at >= since]
                known = [(arm, at) for arm, at in twin.state.past(user) if at >= since]
                assert known == expected
    assert len(twin.state.archive.arm) > 0


@pytest.mark.parametrize("settings", SETTINGS)
def test_decisions_and_keys_are_known_for_key_days_and_cells_add_up(
    settings: CampaignSettings,
) -> None:
    keys: dict[str, int] = {}
    for twin in _play(settings, 4, 600):
        state, event = twin.state, twin.events[-1]
        if event.key is not None:
            keys[event.key] = state.head
        if state.head < 4 or state.head % 5:
            continue
        for number in twin.made:
            row = state.row(number)
            assert row >= 0 or not twin.is_known(number)
            assert state.forgot(number) == (row < 0)
            if row >= 0:
                assert state.numbers[row] == number
                assert state.arms[state.arm[row]] == twin.made[number].arm
        assert not state.forgot(state.head + 1)
        for key, number in keys.items():
            found = state.keys.get(key)
            assert found is not None or twin.is_old(number)
            assert found is None or state.numbers[found] == number
        statuses = list(twin.status.values())
        assert sum(map(sum, state.waiting)) == statuses.count(DECISION)
        assert sum(map(sum, state.counts)) == statuses.count(FEEDBACK) + statuses.count(DEFAULT)
        assert state.decisions == len(twin.made)
        for user in {event.user for event in twin.made.values() if event.user}:
            own = sum(event.user == user for event in twin.made.values())
            number_of_user = state.users.get(user)
            assert number_of_user is not None
            assert state.turn[number_of_user] + 1 == own


def test_open_decisions_stay_and_can_be_cancelled_when_they_are_old() -> None:
    twin = Twin(CampaignSettings(ARMS, 12, key_days=1.0))
    for day in range(60):
        twin.apply(Event(DECISION, day * DAY, None, "ann", ARMS[day % 3], 1))
        if day % 4 == 0:
            twin.apply(Event(FEEDBACK, day * DAY, ref=len(twin.events), reward=0.5))
    opened = [number for number, status in twin.status.items() if status == DECISION]
    for number in reversed(opened):
        assert twin.state.status[twin.state.row(number)] == OPEN
        twin.apply(Event(CANCEL, 60 * DAY, ref=number))
        shown = [arm for arm, _ in islice(twin.state.past("ann"), 12)]
        assert shown == [arm for arm, _ in twin.past("ann")[:12]]


def test_one_wild_time_makes_nothing_be_forgotten() -> None:
    twin = Twin(CampaignSettings(ARMS, 2, key_days=1.0))
    for number in range(100):
        at = 1e9 if number != 50 else 2e9
        twin.apply(Event(DECISION, at, None, "ann", "polka", 1, key=str(number)))
        twin.apply(Event(FEEDBACK, 1e9, ref=2 * number + 1, reward=0.5))
    assert all(twin.state.row(number) >= 0 for number in twin.made)
    assert all(twin.state.keys.get(str(number)) is not None for number in range(100))


def test_repeated_feedback_is_recognized_for_key_days() -> None:
    decider = Decider(
        "morning", State(CampaignSettings(ARMS, 2, key_days=1.0), least_rows=LEAST_ROWS)
    )
    decider.apply(1, Event(DECISION, 0.0, None, "ann", "polka", 3, expected=0.5, key="first"))
    decider.apply(2, Event(FEEDBACK, 1.0, ref=1, reward=0.5))
    assert decider.feedback(1, 0.5, 2.0) is None
    assert decider.state.keys.get("first") == 0
    for number in range(3, 30):
        decider.apply(number, Event(DECISION, DAY + 2, None, "ben", "polka", 3))
    assert decider.state.forgot(1)
    assert decider.state.keys.get("first") is None
    with pytest.raises(ConflictError, match="morning-1 was settled more than 1 days ago"):
        decider.feedback(1, 0.5, DAY + 2)
    cells = decider.state.view()
    assert decider.state.apply(30, Event(FEEDBACK, DAY + 2, ref=1, reward=1.0)) == -1
    assert np.array_equal(decider.state.view().counts, cells.counts)


@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.booleans()), max_size=40), st.data())
def test_overdue_is_what_one_finds_by_looking_at_each(
    steps: list[tuple[float, bool]], data: st.DataObject
) -> None:
    state = State(CampaignSettings(ARMS, 2, wait=7.0), block=4)
    for time, is_decision in steps:
        opened = [row for row, status in enumerate(state.status) if status == OPEN]
        if is_decision:
            state.apply(state.head + 1, Event(DECISION, time, None, "ann", "polka", 1))
        elif opened:
            number = state.numbers[data.draw(st.sampled_from(opened))]
            state.apply(state.head + 1, Event(EXPIRE, time, ref=number))
        expected = [
            row
            for row, status in enumerate(state.status)
            if status == OPEN and state.at[row] + 7.0 <= time
        ]
        assert state.overdue(time) == expected


def test_nothing_is_looked_at_when_nothing_is_overdue() -> None:
    state = State(CampaignSettings(ARMS, 2, wait=7.0))
    for number in range(1, 4):
        state.apply(number, Event(DECISION, 10.0, None, "ann", "polka", 1))
    assert state.overdue(0.0) == []
    assert OverdueIndex.find(state._overdue, None, None, 7.0, 16.0) == []  # type: ignore[arg-type]
    assert state.overdue(17.0) == [0, 1, 2]


times = st.one_of(st.floats(-1e12, 1e12), st.floats(1e9 - 100, 1e9 + 100))


@given(st.lists(times, min_size=1, max_size=300), times)
def test_the_history_is_short_whatever_the_clock_did(at: list[float], now: float) -> None:
    state = State(CampaignSettings(ARMS, 2, wait=5.0))
    for number, time in enumerate(at, 1):
        state.apply(number, Event(DECISION, time, None, "ann", "polka", 1, expected=0.5))
    hosted: Any = SimpleNamespace(decider=SimpleNamespace(name="m", state=state), open=len(at))
    seen = overview_of(hosted, now)[1]
    assert 1 <= len(seen.history) <= MOST_BUCKETS
    assert sum(bucket.decisions for bucket in seen.history) == len(state.at)
    assert seen.counts.late == sum(time < now - 5 for time in state.at)
    assert seen.decisions_per_second == sum(now - 10 <= time <= now for time in state.at) / 10


def test_names_are_found_among_many_and_after_they_were_copied() -> None:
    names, generator = DigestMap(), random.Random(5)
    expected = {}
    for count in range(5000):
        name = str(generator.randrange(3000))
        expected[name] = count
        names.put(name, count)
    again = DigestMap.of(names.digests(), names.numbers())
    for known in (names, again):
        assert len(known) == len(expected)
        assert {name: known.get(name) for name in expected} == expected
        assert known.get("3000") is None
        assert known.setdefault("0", 9999) == expected["0"]
    again.put("new", 7)
    assert again.get("new") == 7


def test_the_checksum_of_an_event_is_that_of_its_parts_as_text() -> None:
    event = Event(DECISION, 1e9 / 3, None, "ann", "polka", 3, 0.1, None, 1 / 3, "key\n", None)
    assert checksum_after(7, event) == crc32("\0".join(map(str, event)).encode(), 7)


@pytest.mark.parametrize("days", [0, -1.0, float("nan"), float("inf"), "7", True, None])
def test_key_days_are_above_0(days: Any) -> None:
    with pytest.raises(InputError, match="key_days must be finite and above 0, got"):
        CampaignSettings(ARMS, 2, key_days=days)


def test_key_days_are_in_documents_and_7_by_default() -> None:
    assert CampaignSettings.from_document({"arms": ["a"], "max_delay": 2}).key_days == 7.0
    settings = CampaignSettings(("a",), 2, key_days=3)
    assert CampaignSettings.from_document(settings.document()) == settings
    assert settings.document()["key_days"] == 3.0


def test_too_many_arms_are_refused_before_their_names_are_looked_at() -> None:
    class Name(str):
        """A name that nobody may compare."""

        def __eq__(self, other: object) -> bool:
            raise AssertionError

        __hash__ = str.__hash__

    with pytest.raises(ValueError, match="cells"):
        CampaignSettings([Name("same")] * 2**20, 2)


def test_each_name_of_an_arm_is_compared_a_few_times() -> None:
    compared = 0

    class Name(str):
        """A name that counts how often it is compared."""

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, str(other))

        __hash__ = str.__hash__

    assert len(CampaignSettings([Name(f"arm {number}") for number in range(5000)], 2).arms) == 5000
    assert compared < 20_000
    with pytest.raises(InputError, match="arms must be at least one, and each once, got 'a' twice"):
        CampaignSettings(["a", "b", "a"], 2)


@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"cooldowns": {"polka": 3}},
        {"cooldowns": 2, "at_most": [{"arms": ["polka"], "pulls": 3, "rounds": 9}]},
        {"at_least_once": {"hymn": 7}, "groups": {"slow": ["waltz", "hymn"]}},
    ],
)
def test_as_much_of_the_past_is_kept_as_decisions_look_back_at(rules: dict[str, Any]) -> None:
    state = State(CampaignSettings(ARMS, 2, rules=Rules.from_document(rules)))
    decider = Decider("morning", state)
    decider.plan_now()
    policy = decider.policy
    assert max(policy.exploring.reach, policy.exploiting.reach) <= state.reach
