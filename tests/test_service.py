"""The service without a network: the interface, keys, and stores that fail."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from threading import Event as Gate

import pytest
from service_helpers import PATIENCE, SETTINGS, Answer, Asked, counts, play

from fallow.live.service.background import Intervals
from fallow.live.service.messages import MOST_IN_BATCH
from fallow.live.stores import EventBatch, Kept, Store, StoreError, open_store
from fallow.live.stores.memory import MemoryStore
from fallow.live.stores.sqlite import SQLiteStore


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    url = "memory:" if request.param == "memory" else f"sqlite:///{tmp_path}/events.db"
    with closing(open_store(url)) as opened:
        yield opened


class SlowStore(SQLiteStore):
    """Keeps events when it is let, and counts those of each transaction."""

    def __init__(self) -> None:
        super().__init__(":memory:", False)
        self.gate, self.sizes = Gate(), list[int]()
        self.gate.set()
        self.broken = False

    def append(self, batches: Sequence[EventBatch]) -> list[Kept]:
        assert self.gate.wait(PATIENCE)
        if self.broken:
            raise StoreError("events.db could not be written to: disk full")
        self.sizes.append(sum(len(batch.events) for batch in batches))
        return super().append(batches)


def test_a_log_that_cannot_be_read_is_refused_before_it_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = SlowStore()

    def fail(*_: object) -> None:
        raise StoreError("the store is away")

    async def scene(asked: Asked) -> None:
        await asked.decide()
        monkeypatch.setattr(store, "read", fail)
        refused = await asked.ask("GET", "/v1/campaigns/morning/log")
        assert refused.status == 503
        assert "away" in refused.json["error"]

    play(scene, store)


def test_a_campaign_is_made_once(store: Store) -> None:
    async def scene(asked: Asked) -> None:
        again = await asked.ask("PUT", "/v1/campaigns/morning", {**SETTINGS, "max_delay": 4.0})
        other = await asked.ask("PUT", "/v1/campaigns/morning", {**SETTINGS, "max_delay": 5})
        new = await asked.ask("PUT", "/v1/campaigns/evening", SETTINGS)
        assert (again.status, other.status, new.status) == (200, 409, 201)
        assert "max_delay" in other.json["error"]
        listed = (await asked.ask("GET", "/v1/campaigns")).json["campaigns"]
        assert [each["name"] for each in listed] == ["morning", "evening"]

    play(scene, store)


def test_a_decision_and_its_reward(store: Store) -> None:
    async def scene(asked: Asked) -> None:
        decided = await asked.decide("ann")
        assert decided.status == 201
        assert decided.json.keys() == {"id", "arm", "delay", "expected"}
        assert decided.json["arm"] in SETTINGS["arms"]  # type: ignore[operator]
        assert decided.json["delay"] == 5
        identity = decided.json["id"]
        answers = [await asked.feedback(identity, reward) for reward in (0.8, 0.8, 0.7)]
        assert [answer.status for answer in answers] == [200, 200, 409]
        assert [answer.json["status"] for answer in answers[:2]] == ["applied", "duplicate"]
        assert "0.8" in answers[2].json["error"]
        for unknown in ("morning-99", "evening-1", "morning", "x" * 300):
            assert (await asked.feedback(unknown, 0.8)).status == 404

    play(scene, store)


def test_a_cancelled_decision_does_not_count(store: Store) -> None:
    async def scene(asked: Asked) -> None:
        first = (await asked.decide("ann")).json
        cancelled = [await asked.ask("POST", f"/v1/decisions/{first['id']}/cancel") for _ in "ab"]
        assert [each.json["status"] for each in cancelled] == ["applied", "duplicate"]
        assert (await asked.feedback(first["id"], 1)).status == 409
        assert [(await asked.decide("ann")).json["delay"] for _ in "ab"] == [5, 1]

    play(scene, store, arms=["hymn"])


def test_arms_come_and_go(store: Store) -> None:
    async def scene(asked: Asked) -> None:
        odd = "/v1/campaigns/morning/arms/rock & roll/90% \u00fc"
        answers = [
            await asked.ask("PUT", odd),
            await asked.ask("PUT", odd),
            *[
                await asked.ask("DELETE", f"/v1/campaigns/morning/arms/{arm}")
                for arm in ("hymn", "waltz", "polka")
            ],
        ]
        statuses = [answer.json["status"] for answer in answers]
        assert statuses == ["applied", "duplicate", "applied", "applied", "applied"]
        assert (await asked.decide()).json["arm"] == "rock & roll/90% \u00fc"
        assert (await asked.ask("DELETE", odd)).status == 409  # it is the last
        assert (await asked.ask("DELETE", "/v1/campaigns/morning/arms/tango")).status == 404
        await asked.ask("PUT", "/v1/campaigns/arms", SETTINGS)
        assert (await asked.ask("PUT", "/v1/campaigns/arms/arms/hymn")).json == {
            "status": "duplicate"
        }

    play(scene, store)


def test_two_arms_do_not_retire_at_once_if_one_must_stay() -> None:
    async def scene(asked: Asked) -> None:
        answers = await asyncio.gather(
            *(
                asked.ask("DELETE", f"/v1/campaigns/morning/arms/{arm}")
                for arm in ("hymn", "waltz", "polka")
            )
        )
        assert sorted(answer.status for answer in answers) == [200, 200, 409]

    play(scene, SlowStore())


def test_one_key_is_one_decision(store: Store) -> None:
    async def scene(asked: Asked) -> None:
        answers = await asyncio.gather(*(asked.decide("ann", "round 1") for _ in range(200)))
        assert len({answer.body for answer in answers}) == 1
        assert sorted(answer.status for answer in answers) == [200] * 199 + [201]
        identity = answers[0].json["id"]
        rewards = await asyncio.gather(*(asked.feedback(identity, 0.5) for _ in range(200)))
        assert sorted(each.json["status"] for each in rewards) == ["applied"] + ["duplicate"] * 199
        counts = (await asked.ask("GET", "/v1/campaigns/morning")).json["counts"]
        assert (counts["decisions"], counts["feedback"], counts["events"]) == (1, 1, 2)

    play(scene, store)


def test_of_two_rewards_at_once_onecounts(store: Store) -> None:
    async def scene(asked: Asked) -> None:
        identity = (await asked.decide()).json["id"]
        rewards = await asyncio.gather(*(asked.feedback(identity, each / 10) for each in range(10)))
        assert sorted(answer.status for answer in rewards) == [200] + [409] * 9

    play(scene, store)


def test_a_batch_decides_in_order(store: Store) -> None:
    async def scene(asked: Asked) -> None:
        path = "/v1/campaigns/morning/decisions/batch"
        users = [{"user": user} for user in ("ann", "bob", "ann", "ann", "cid")]
        answer = await asked.ask("POST", path, {"decisions": users})
        assert answer.status == 201
        made = answer.json["decisions"]
        assert len(made) == 5
        lines = (await asked.ask("GET", "/v1/campaigns/morning/log")).body.splitlines()
        by_id = {line["id"]: line["user"] for line in map(json.loads, lines)}
        assert [by_id[each["id"]] for each in made] == [each["user"] for each in users]
        anns = [int(made[place]["id"].rpartition("-")[2]) for place in (0, 2, 3)]
        assert anns == sorted(anns)
        assert made[0]["arm"] != made[2]["arm"]
        full = {"decisions": [{"user": f"user {n}"} for n in range(MOST_IN_BATCH)]}
        assert len((await asked.ask("POST", path, full)).json["decisions"]) == MOST_IN_BATCH
        full["decisions"].append({"user": "one more"})
        assert (await asked.ask("POST", path, full)).status == 422
        assert (await asked.ask("POST", path, {"decisions": []})).json == {"decisions": []}

    play(scene, store)


def test_a_batch_says_where_the_rules_leave_no_arm() -> None:
    async def scene(asked: Asked) -> None:
        body = {"decisions": [{"user": user} for user in ("ann", "ann", "bob", "ann", "ann")]}
        answer = await asked.ask("POST", "/v1/campaigns/morning/decisions/batch", body)
        assert answer.status == 201
        made = answer.json["decisions"]
        assert ["id" in each for each in made] == [True, True, True, True, False]
        assert "10 seconds from pull to pull" in made[4]["error"]
        assert (await asked.decide("ann")).status == 409

    cooldowns = {"hymn": 10, "waltz": 10, "polka": 10}
    play(scene, clock="time", max_delay=1000, rules={"cooldowns": cooldowns})


def test_the_log_is_sent_in_order_and_from_anywhere(store: Store) -> None:
    async def scene(asked: Asked) -> None:
        decided = [(await asked.decide(f"user {n % 7}", f"key {n}")).json for n in range(1500)]
        await asked.feedback(decided[3]["id"], 0.25)
        await asked.ask("POST", f"/v1/decisions/{decided[4]['id']}/cancel")
        await asked.ask("PUT", "/v1/campaigns/morning/arms/tango")
        answer = await asked.ask("GET", "/v1/campaigns/morning/log")
        assert answer.headers["content-type"] == "application/jsonl"
        lines = [json.loads(line) for line in answer.body.splitlines()]
        assert [line["seq"] for line in lines] == list(range(1, 1504))
        assert lines[3].keys() == {
            *("seq", "kind", "id", "user", "arm", "delay", "expected", "key", "at")
        }
        assert [line["id"] for line in lines[:1500]] == [each["id"] for each in decided]
        assert lines[1500]["kind"] == "feedback"
        assert (lines[1500]["id"], lines[1500]["reward"]) == (decided[3]["id"], 0.25)
        assert lines[1501].keys() == {"seq", "kind", "id", "at"}
        assert lines[1502]["arm"] == "tango"
        tail = await asked.ask("GET", "/v1/campaigns/morning/log?after=1501")
        assert tail.body == b"".join(answer.body.splitlines(keepends=True)[1501:])
        assert (await asked.ask("GET", "/v1/campaigns/morning/log?after=9999")).body == b""
        for wrong in ("-1", "x", "1e3", "9" * 30, "\u0663"):
            odd = await asked.ask("GET", f"/v1/campaigns/morning/log?after={wrong}")
            assert odd.status == 422

    play(scene, store)


def test_many_requests_are_kept_in_few_transactions() -> None:
    slow = SlowStore()

    async def scene(asked: Asked) -> None:
        slow.gate.clear()
        waiting = [asyncio.create_task(asked.decide(f"user {n}")) for n in range(100)]
        while len(asked.host.campaigns["morning"].turns) < 100:
            await asyncio.sleep(0.001)
        assert asked.host.campaigns["morning"].decider.state.head == 0  # nothing before the commit
        assert not any(task.done() for task in waiting)
        slow.gate.set()
        answers = await asyncio.gather(*waiting)
        assert sorted(int(each.json["id"][8:]) for each in answers) == list(range(1, 101))
        assert sum(slow.sizes) == 100
        assert len(slow.sizes) <= 2

    play(scene, slow)


def test_a_failed_commit_leaves_no_trace() -> None:
    slow = SlowStore()

    async def scene(asked: Asked) -> None:
        kept = (await asked.decide("ann")).json
        assert (await asked.ask("GET", "/readyz", secret=None)).status == 200
        slow.broken = True
        failed = await asyncio.gather(
            asked.decide("ann", "key"), asked.decide("bob"), asked.feedback(kept["id"], 1)
        )
        assert [answer.status for answer in failed] == [503] * 3
        assert all("disk full" in answer.json["error"] for answer in failed)
        ready = await asked.ask("GET", "/readyz", secret=None)
        assert ready.status == 503
        assert "disk full" not in ready.json["error"]  # which needs no token
        counts = (await asked.ask("GET", "/v1/campaigns/morning")).json["counts"]
        assert (counts["events"], counts["users"], counts["feedback"]) == (1, 1, 0)
        slow.broken = False
        assert (await asked.decide("ann", "key")).status == 201
        assert (await asked.feedback(kept["id"], 0.5)).json == {"status": "applied"}
        assert (await asked.ask("GET", "/readyz", secret=None)).status == 200

    play(scene, slow)


def test_overdue_feedback_counts_as_the_default() -> None:
    async def scene(asked: Asked) -> None:
        identity = (await asked.decide()).json["id"]
        until = time.monotonic() + PATIENCE
        while (await counts(asked))["defaults"] == 0:
            assert time.monotonic() < until
            await asyncio.sleep(0.01)
        assert (await counts(asked))["open"] == 0
        assert (await asked.feedback(identity, 1)).json == {"status": "applied"}

    for store in (MemoryStore(), SlowStore()):
        play(scene, store, intervals=Intervals(tick=0.01), default_reward=0.0, wait=0.05)


def test_a_restart_goes_on_where_it_was(tmp_path: Path) -> None:
    path = str(tmp_path / "events.db")
    seen: list[Answer] = []

    async def before(asked: Asked) -> None:
        for number in range(30):
            decided = await asked.decide("ann", f"key {number}")
            await asked.feedback(decided.json["id"], 0.5)
        seen.append(await asked.ask("GET", "/v1/campaigns/morning/log"))

    async def after(asked: Asked) -> None:
        assert (await asked.ask("GET", "/v1/campaigns/morning/log")).body == seen[0].body
        assert (await asked.decide("ann", "key 3")).json["id"] == "morning-7"
        assert (await asked.decide("ann")).json["id"] == "morning-61"

    play(before, SQLiteStore(path, False))
    play(after, SQLiteStore(path, False))
