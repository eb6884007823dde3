"""Several campaigns in one service: none gets in the way of another, whatever happens to it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest
from live_helpers import batch
from service_helpers import Asked, play
from test_service_host import SharedStore

from fallow.live.events import RETIRE, Event
from fallow.live.service.committer import Turns
from fallow.live.state import State
from fallow.live.stores import EventBatch, HistoryError, Kept
from fallow.live.stores.sqlite import SQLiteStore

EVENING: dict[str, Any] = {"arms": ["red", "green"], "max_delay": 2}


async def _make_evening(asked: Asked) -> None:
    assert (await asked.ask("PUT", "/v1/campaigns/evening", EVENING)).status == 201


async def _decide(asked: Asked, name: str, user: str) -> Any:
    return (await asked.ask("POST", f"/v1/campaigns/{name}/decisions", {"user": user})).json


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_retirement_leaves_the_decisions_of_other_campaigns_alone(
    elsewhere: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """While an arm of one campaign is retired, a decision of the other one is queued."""
    store = SharedStore()
    store.shared = elsewhere

    async def scene(asked: Asked) -> None:
        await _make_evening(asked)
        await _decide(asked, "evening", "ann")
        store.is_asked.clear()
        store.gate.clear()
        morning = asked.host.campaigns["morning"]
        if elsewhere:
            busy = asyncio.create_task(_decide(asked, "morning", "bob"))
        else:
            retire = asked.ask("DELETE", "/v1/campaigns/morning/arms/polka")
            busy = asyncio.create_task(retire)
        while not store.is_asked.is_set():
            await asyncio.sleep(0.001)
        waiting = asyncio.create_task(_decide(asked, "evening", "ann"))
        while not asked.host.campaigns["evening"].queue:
            await asyncio.sleep(0.001)
        if elsewhere:
            store.append_as_other(morning.number, 0, Event(RETIRE, 1.0, arm="polka"))
        store.gate.set()
        await busy
        assert (await waiting)["arm"] in EVENING["arms"]
        assert not caplog.records

    play(scene, store)


def test_a_campaign_whose_events_cannot_be_applied_is_loaded_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The event was kept, so it is there afterwards; the next batch is written as ever."""
    caplog.set_level(logging.ERROR, "fallow")
    real = State.apply

    def fail_once(self: State, number: int, event: Event) -> int:
        if event.user == "eve":
            monkeypatch.setattr(State, "apply", real)
            raise RuntimeError("of the fold")
        return real(self, number, event)

    async def scene(asked: Asked) -> None:
        await _make_evening(asked)
        monkeypatch.setattr(State, "apply", fail_once)
        answer = await asked.decide("eve")
        assert answer.status == 503
        assert "ask again" in answer.json["error"]
        assert "of the fold" in caplog.text
        assert (await _decide(asked, "evening", "ann"))["id"] == "evening-1"
        assert (await asked.decide("eve")).json["id"] == "morning-2"

    play(scene, SQLiteStore(":memory:", False))


def test_requests_for_one_user_are_answered_in_their_order() -> None:
    """Others who come meanwhile are not faster, however often commits end."""

    async def scene(asked: Asked) -> None:
        done: list[int] = []

        async def decide(number: int) -> None:
            assert (await asked.decide("ann")).status == 201
            done.append(number)

        tasks = []
        for number in range(40):
            tasks.append(asyncio.create_task(decide(number)))
            if number % 4 == 0:
                await asyncio.sleep(0.002)
        await asyncio.gather(*tasks)
        assert done == sorted(done)

    play(scene, SQLiteStore(":memory:", False))


def test_a_turn_that_is_given_up_goes_to_the_next() -> None:
    async def scene() -> None:
        turns, claims = Turns(), [("user", "ann"), ("key", "k")]
        await turns.take(claims)
        first, second = (asyncio.create_task(turns.take(claims)) for _ in "ab")
        await asyncio.sleep(0)
        first.cancel()
        turns.release(claims)
        await second
        assert len(turns) == 2
        turns.release(claims)
        assert len(turns) == 0

    asyncio.run(scene())


def test_a_batch_of_which_nothing_was_kept_is_503() -> None:
    class Broken(SQLiteStore):
        is_broken = False

        def append(self, batches: Sequence[EventBatch]) -> list[Kept]:
            if self.is_broken:
                raise HistoryError("gone")
            return super().append(batches)

    store = Broken(":memory:", False)

    async def scene(asked: Asked) -> None:
        body = {"decisions": [{"user": "ann"}, {"user": "bob"}]}
        path = "/v1/campaigns/morning/decisions/batch"
        assert (await asked.ask("POST", path, body)).status == 201
        store.is_broken = True
        assert (await asked.ask("POST", path, body)).status == 503
        store.is_broken = False  # another history stays another history
        assert (await asked.ask("POST", path, body)).status == 503
        assert (await asked.ask("GET", "/readyz", secret=None)).status == 503

    play(scene, store)


def test_a_restored_copy_is_noticed_for_good() -> None:
    """Another process, which was started again, appends past what this one knows."""
    store = SharedStore()

    async def scene(asked: Asked) -> None:
        for user in ("ann", "bob", "cid"):
            await asked.decide(user, key=f"key of {user}")
        number = asked.host.campaigns["morning"].number
        connection = store._connection
        connection.execute("DELETE FROM events WHERE seq > 1")
        first = batch(store, number, 1, [])
        connection.execute("UPDATE campaigns SET checksum = ?", (first.checksum,))
        others = [
            Event("decision", 2.0, None, f"user {n}", "hymn", 5, None, None, 0.5) for n in "abcd"
        ]
        SQLiteStore.append(store, [first._replace(events=others)])
        assert (await asked.decide("dan")).status == 503
        for _ in range(3):
            answer = await asked.decide("bob", key="key of bob")
            assert (answer.status, "another history" in answer.json["error"]) == (503, True)
        assert len(list(store.read(number))) == 5

    play(scene, store)


def test_a_refusal_is_an_event_and_counted() -> None:
    async def scene(asked: Asked) -> None:
        for _ in range(3):  # as there are arms
            assert (await asked.decide("ann")).status == 201
        refused = await asked.decide("ann")
        assert refused.status == 409
        assert int(refused.headers["retry-after"]) <= 60
        log = (await asked.ask("GET", "/v1/campaigns/morning/log")).body.splitlines()
        assert b'"kind":"refusal"' in log[-1]
        assert b'"reason":"60 seconds from pull to pull"' in log[-1]
        overview = (await asked.ask("GET", "/v1/campaigns/morning")).json
        assert overview["counts"]["refused"] == 1
        metrics = (await asked.ask("GET", "/metrics", secret=None)).body.decode()
        assert "fallow_refusals 1" in metrics

    play(scene, clock="time", max_delay=1000, rules={"cooldowns": 60})


def test_rules_that_cannot_be_kept_are_refused_when_a_campaign_is_made() -> None:
    async def scene(asked: Asked) -> None:
        rules = {"at_least_once": {"a": 2, "b": 3, "c": 12}}
        body = {"arms": ["a", "b", "c"], "max_delay": 3, "rules": rules}
        answer = await asked.ask("PUT", "/v1/campaigns/tight", body)
        assert (answer.status, "cannot all be kept" in answer.json["error"]) == (422, True)
        body["rules"] = {"at_least_once": {"a": 2, "b": 4, "c": 12}}
        answer = await asked.ask("PUT", "/v1/campaigns/tight", body)
        assert (answer.status, answer.json["rules_proved"]) == (201, True)

    play(scene)
