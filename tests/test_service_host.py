"""The service when others append to its store, and when something fails."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from threading import Event as Gate

import pytest
from live_helpers import batch
from service_helpers import PATIENCE, Asked, play
from test_service import SlowStore

from fallow.live.decider import Decider
from fallow.live.events import RETIRE, Event
from fallow.live.policy import CampaignPolicy
from fallow.live.service.background import Intervals
from fallow.live.state import State
from fallow.live.stores import EventBatch, Kept
from fallow.live.stores.sqlite import SQLiteStore


class SharedStore(SQLiteStore):
    """Keeps events when it is let; others may append meanwhile."""

    shared = True

    def __init__(self) -> None:
        super().__init__(":memory:", False)
        self.is_asked, self.gate = Gate(), Gate()
        self.gate.set()

    def append(self, batches: Sequence[EventBatch]) -> list[Kept]:
        self.is_asked.set()
        assert self.gate.wait(PATIENCE)
        return super().append(batches)

    def append_as_other(self, campaign: int, head: int, event: Event) -> None:
        super().append([batch(self, campaign, head, [event])])


async def _make_busy(asked: Asked, store: SharedStore) -> asyncio.Task[object]:
    """Return a request that the store is keeping until its gate opens."""
    store.is_asked.clear()
    store.gate.clear()
    busy: asyncio.Task[object] = asyncio.create_task(asked.decide("bob"))
    while not store.is_asked.is_set():
        await asyncio.sleep(0.001)
    return busy


async def _until_claimed(asked: Asked, count: int) -> None:
    while len(asked.host.campaigns["morning"].turns) < count:
        await asyncio.sleep(0.001)


def test_one_key_is_one_decision_among_processes() -> None:
    store = SharedStore()

    async def scene(asked: Asked) -> None:
        campaign = asked.host.campaigns["morning"]
        busy = await _make_busy(asked, store)
        mine = asyncio.create_task(asked.decide("ann", "key"))
        await _until_claimed(asked, 3)
        decider = Decider("morning", State(campaign.decider.state.settings))
        decider.plan_now()
        other = decider.decide("cid", "key", time.time())
        assert isinstance(other, Event)
        store.append_as_other(campaign.number, 0, other)
        store.gate.set()
        await busy
        answer = await mine
        assert (answer.status, answer.json["id"]) == (200, "morning-1")
        assert len(campaign.turns) == 0

    play(scene, store)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_no_arm_is_shown_that_was_retired_meanwhile(elsewhere: bool) -> None:
    store = SharedStore()

    async def scene(asked: Asked) -> None:
        campaign = asked.host.campaigns["morning"]
        made = campaign.decider.decide("ann", None, time.time())
        assert isinstance(made, Event)
        if elsewhere:
            busy = await _make_busy(asked, store)
        else:
            store.is_asked.clear()
            store.gate.clear()
            busy = asyncio.create_task(
                asked.ask("DELETE", f"/v1/campaigns/morning/arms/{made.arm}")
            )
            while not store.is_asked.is_set():
                await asyncio.sleep(0.001)
        mine = asyncio.create_task(asked.decide("ann"))
        await _until_claimed(asked, 2)
        if elsewhere:
            store.append_as_other(campaign.number, 0, Event(RETIRE, time.time(), arm=made.arm))
        store.gate.set()
        await busy
        assert (await mine).json["arm"] != made.arm

    play(scene, store)


def test_of_two_rewards_in_two_processes_one_counts() -> None:
    store = SharedStore()

    async def scene(asked: Asked) -> None:
        campaign = asked.host.campaigns["morning"]
        identity = (await asked.decide("ann")).json["id"]
        busy = await _make_busy(asked, store)
        mine = asyncio.create_task(asked.feedback(identity, 0.5))
        await _until_claimed(asked, 2)
        other = campaign.decider.feedback(1, 0.9, time.time())
        assert other is not None
        store.append_as_other(campaign.number, 1, other)
        store.gate.set()
        await busy
        assert (await mine).status == 409
        assert (await asked.feedback(identity, 0.9)).json == {"status": "duplicate"}

    play(scene, store)


def test_it_is_ready_again_without_traffic(caplog: pytest.LogCaptureFixture) -> None:
    slow = SlowStore()

    async def scene(asked: Asked) -> None:
        slow.broken = True
        assert (await asked.decide()).status == 503
        assert (await asked.ask("GET", "/readyz", secret=None)).status == 503
        slow.broken = False
        while (await asked.ask("GET", "/readyz", secret=None)).status != 200:
            await asyncio.sleep(0.01)
        assert caplog.text.count("disk full") == 1

    play(scene, slow, intervals=Intervals(tick=0.01))


def test_a_batch_says_what_could_not_be_kept() -> None:
    class FailsAfterOne(SlowStore):
        def append(self, batches: Sequence[EventBatch]) -> list[Kept]:
            kept = super().append(batches)
            self.broken = True
            return kept

    async def scene(asked: Asked) -> None:
        body = {"decisions": [{"user": "ann"}, {"user": "ann"}]}
        answer = await asked.ask("POST", "/v1/campaigns/morning/decisions/batch", body)
        assert answer.status == 201
        first, second = answer.json["decisions"]
        assert first["id"] == "morning-1"
        assert "disk full" in second["error"]

    play(scene, FailsAfterOne())


def test_what_fails_beside_the_requests_is_told_and_the_clock_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    calls = []

    def fail(now: float) -> list[Event]:
        calls.append(now)
        raise RuntimeError("of the clock")

    async def fail_soon() -> None:
        raise RuntimeError("of a task")

    async def scene(asked: Asked) -> None:
        monkeypatch.setattr(asked.host.campaigns["morning"].decider, "late", fail)
        asked.host.background.spawn(fail_soon())
        while len(calls) < 2:
            await asyncio.sleep(0.01)
        assert "of the clock" in caplog.text
        assert "of a task" in caplog.text

    play(scene, intervals=Intervals(tick=0.01))


def test_a_plan_that_fails_leaves_the_one_before(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> CampaignPolicy:
        raise RuntimeError("of the planner")

    async def scene(asked: Asked) -> None:
        decider = asked.host.campaigns["morning"].decider
        before = decider.policy
        monkeypatch.setattr(decider, "plan", lambda: fail)
        while "of the planner" not in caplog.text or decider.is_due:
            identity = (await asked.decide()).json["id"]
            assert (await asked.feedback(identity, 0.5)).status == 200
            await asyncio.sleep(0)
        assert decider.policy is before

    play(scene)


def test_a_start_counts_events_since_the_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    store = SharedStore()
    monkeypatch.setattr(store, "close", lambda: None)  # it is in memory, and used again

    async def decide_twice(asked: Asked) -> None:
        for _ in "ab":
            await asked.decide()
        while asked.host.campaigns["morning"].decider.state.head > 2 and store.snapshot(1) is None:
            await asyncio.sleep(0.001)

    for _ in "ab":
        play(decide_twice, store, snapshot_events=3)
    found = store.snapshot(1)
    assert found is not None
    assert found[0] == 3
