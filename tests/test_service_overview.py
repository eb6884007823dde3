"""What those see who watch a campaign: the overview, the stream, and the metrics."""

from __future__ import annotations

import asyncio
import json
import re
import time
from typing import Any

import numpy as np
import pytest
from service_helpers import PATIENCE, SETTINGS, Asked, play, serving

from fallow.live.events import DECISION, Event
from fallow.live.service.background import Intervals
from fallow.live.service.calls import CALLS
from fallow.live.service.committer import ServedCampaign
from fallow.live.service.demo import NAME, Demo
from fallow.live.service.messages import Overview, Rest
from fallow.live.service.openapi import document
from fallow.live.service.overview import MOST_BUCKETS, OverviewFeed, overview_of
from fallow.live.state import PlanningView


async def _overview(asked: Asked, name: str = "morning") -> dict[str, Any]:
    found: dict[str, Any] = (await asked.ask("GET", f"/v1/campaigns/{name}")).json
    return found


def test_the_overview_adds_up() -> None:
    async def scene(asked: Asked) -> None:
        rewards = {}
        for number in range(60):
            decided = (await asked.decide(f"user {number % 4}")).json
            if number % 10 == 7:
                await asked.ask("POST", f"/v1/decisions/{decided['id']}/cancel")
            elif number % 3:
                rewards[decided["id"]] = decided, number / 60
                await asked.feedback(decided["id"], number / 60)
        await asked.ask("DELETE", "/v1/campaigns/morning/arms/polka")
        found = await _overview(asked)
        assert found["settings"] == {
            **SETTINGS,
            "clock": "rounds",
            "default_reward": None,
            "wait": None,
            "explore": 0.0,
            "rules": {},
            "key_days": 7.0,
        }
        assert found["counts"] == {
            "events": 60 + 6 + len(rewards) + 1,
            "users": 4,
            "decisions": 60,
            "open": 54 - len(rewards),
            "late": found["counts"]["late"],  # at such a pace that is a matter of milliseconds
            "feedback": len(rewards),
            "cancelled": 6,
            "defaults": 0,
            "refused": 0,
        }
        assert [arm["retired"] for arm in found["arms"]] == [False, False, True]
        assert found["spans"] == [1, 2, 3, 4, None]
        cells = {(cell["arm"], cell["delay"]): cell for cell in found["cells"]}
        assert len(cells) == 15
        assert sum(cell["open"] for cell in cells.values()) == found["counts"]["open"]
        for (arm, delay), cell in cells.items():
            own = [d for d, _ in rewards.values() if (d["arm"], d["delay"]) == (arm, delay)]
            assert cell["rewards"] == len(own)
            assert 0 <= cell["low"] <= cell["mean"] <= cell["high"] <= 1
        assert set(found["plan"]["cycle"]) <= {"hymn", "waltz"}
        assert found["plan"]["gain"] <= found["plan"]["upper_bound"]
        history = found["history"]
        assert sum(bucket["decisions"] for bucket in history) == 60
        assert sum(bucket["rewards"] for bucket in history) == len(rewards)
        total = sum(reward for _, reward in rewards.values())
        assert sum(bucket["reward"] for bucket in history) == pytest.approx(total)
        believed = sum(decided["expected"] for decided, _ in rewards.values())
        assert sum(bucket["expected"] for bucket in history) == pytest.approx(believed)
        assert found["decisions_per_second"] == 6.0

    play(scene)


def _at_rounds(hosted: ServedCampaign, times: list[float], feedback: dict[int, float]) -> None:
    """Let decisions happen at these times, and feedback to some of them later."""
    for at in times:
        event = hosted.decider.decide("ann", None, at)
        hosted.apply(hosted.decider.state.head + 1, event)  # type: ignore[arg-type]
    numbers = list(hosted.decider.state.numbers)[-len(times) :]
    for place, after in feedback.items():
        event = hosted.decider.feedback(numbers[place], 1.0, times[place] + after)  # type: ignore[assignment]
        hosted.apply(hosted.decider.state.head + 1, event)  # type: ignore[arg-type]


def _seen(hosted: ServedCampaign, now: float) -> Overview:
    return overview_of(hosted, now)[1]


def test_feedback_is_late_after_ten_times_the_usual() -> None:
    async def scene(asked: Asked) -> None:
        hosted = asked.host.campaigns["morning"]
        _at_rounds(hosted, [1000.0, 1001.0, 1002.0, 1003.0], {})
        assert _seen(hosted, 9999.0).counts.late == 0  # nobody knows what is usual
        _at_rounds(hosted, [2000.0] * 3, {0: 1.0, 1: 2.0, 2: 30.0})
        assert _seen(hosted, 1021.5).counts.late == 2
        assert _seen(hosted, 2500.0).counts.late == 4

    play(scene)


def test_feedback_that_is_no_longer_expected_is_late() -> None:
    async def scene(asked: Asked) -> None:
        hosted = asked.host.campaigns["morning"]
        _at_rounds(hosted, [1000.0, 1001.0, 1002.0], {1: 1.0})
        for _ in "ab":  # before and after it expires
            counts = _seen(hosted, 1011.5).counts
            assert counts.late == 1
            for event in list(hosted.decider.late(1011.5)):
                hosted.apply(hosted.decider.state.head + 1, event)
        assert counts.open == 1

    play(scene, intervals=Intervals(tick=PATIENCE), wait=10.0)


@pytest.mark.parametrize("seconds", [0.001, 1.0, 1e4, 1e7])
def test_the_history_is_short_however_long_the_past(seconds: float) -> None:
    async def scene(asked: Asked) -> None:
        hosted = asked.host.campaigns["morning"]
        times = np.linspace(1e9, 1e9 + seconds, 500).tolist()
        _at_rounds(hosted, times, {})
        history = _seen(hosted, 1e9 + seconds).history
        assert 1 <= len(history) <= MOST_BUCKETS
        assert sum(bucket.decisions for bucket in history) == 500
        lengths = {bucket.seconds for bucket in history}
        assert len(lengths) == 1
        begins = [bucket.at for bucket in history]
        assert np.allclose(np.diff(begins), lengths.pop())
        assert begins[0] <= 1e9

    play(scene)


def test_by_the_clock_spans_are_seconds() -> None:
    async def scene(asked: Asked) -> None:
        spans = (await _overview(asked))["spans"]
        assert spans == [7.5, 15, 30, 60, 120, 240, 480, 960, None]

    play(scene, clock="time", max_delay=960)


@pytest.mark.slow
def test_the_demo_moves_and_rest_matters_in_it() -> None:
    async def scene() -> None:
        async with serving() as asked:
            demo = asyncio.create_task(Demo(asked.host).run())
            seen: list[dict[str, Any]] = []
            while not seen or seen[-1]["rest"] is None:
                await asyncio.sleep(0.1)
                if NAME in asked.host.campaigns:
                    seen.append(await _overview(asked, NAME))
            demo.cancel()
            decisions = [each["counts"]["decisions"] for each in seen]
            assert decisions == sorted(decisions)
            assert decisions[-1] > decisions[0]
            assert set(seen[-1]["rest"]) == {"verdict", "sentence"}

    asyncio.run(asyncio.wait_for(scene(), PATIENCE))


def test_the_stream_tells_what_changed_and_ends() -> None:
    async def scene(asked: Asked) -> None:
        stream = asyncio.create_task(asked.ask("GET", "/v1/campaigns/morning/stream"))
        await asked.decide()
        await asyncio.sleep(0)
        until = time.monotonic() + 1.5  # two messages at most: one at once, one a second later
        while time.monotonic() < until:
            await asked.decide()
            await asyncio.sleep(0.05)
        asked.service.drain()
        answer = await asyncio.wait_for(stream, 1.0)
        assert answer.headers["content-type"].startswith("text/event-stream")
        messages = [part for part in answer.body.split(b"\n\n") if part]
        assert 1 <= len(messages) <= 3
        counts = [json.loads(each.removeprefix(b"data: "))["counts"] for each in messages]
        events = [each["events"] for each in counts]
        assert events == sorted(set(events))

    play(scene)


@pytest.mark.parametrize(("seconds", "most"), [(0.2, 6), (15.0, 0)])
def test_a_silent_stream_sends_comments(seconds: float, most: int) -> None:
    async def scene(asked: Asked) -> None:
        stream = asyncio.create_task(asked.ask("GET", "/v1/campaigns/morning/stream"))
        await asyncio.sleep(1.3)
        asked.service.drain()
        parts = (await asyncio.wait_for(stream, 1.0)).body.split(b"\n\n")
        assert parts[0].startswith(b"data: ")
        pings = parts.count(b": ping")
        assert min(most, 1) <= pings <= most

    play(scene, intervals=Intervals(stream=0.01, ping=seconds))


def test_the_head_of_a_stream_ends_at_once() -> None:
    async def scene(asked: Asked) -> None:
        stream = asked.ask("HEAD", "/v1/campaigns/morning/stream")
        answer = await asyncio.wait_for(stream, 0.5)
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.body == b""

    play(scene)


def test_all_who_watch_at_once_see_one_overview(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Overview] = []

    def counted(hosted: ServedCampaign, now: float) -> tuple[PlanningView, Overview]:
        view, overview = overview_of(hosted, now)
        made.append(overview)
        return view, overview

    monkeypatch.setattr("fallow.live.service.overview.overview_of", counted)

    async def scene(asked: Asked) -> None:
        feed = OverviewFeed(asked.host, asked.host.campaigns["morning"])
        seen = await asyncio.gather(*(feed.latest() for _ in range(5)))
        assert len(made) == 1
        assert all(each is seen[0] for each in seen)
        await asked.decide()
        while json.loads((await feed.latest())[1])["counts"]["decisions"] == 0:
            await asyncio.sleep(0.01)

    play(scene, intervals=Intervals(overview=0.05))


def test_a_verdict_that_was_held_back_is_made_without_traffic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[int] = []

    def tell(_settings: object, _arms: object, events: list[object]) -> Rest:
        told.append(len(events))
        return Rest("cannot say", f"{len(events)} events")

    monkeypatch.setattr("fallow.live.service.overview._rest_answer", tell)

    async def scene(asked: Asked) -> None:
        stream = asyncio.create_task(asked.ask("GET", "/v1/campaigns/morning/stream"))
        while told != [0]:
            await asyncio.sleep(0.01)
        await asked.decide()
        while told != [0, 1]:
            await asyncio.sleep(0.01)
        asked.service.drain()
        await stream

    play(scene, intervals=Intervals(stream=0.01, rest=0.3))


def test_the_demo_survives_arms_that_others_add() -> None:
    async def scene(asked: Asked) -> None:
        event = Event(DECISION, 0.0, user="ann", arm="tango", delay=1)
        assert Demo(asked.host).reward(event) == 0.5

    play(scene)


def test_metrics_count() -> None:
    async def scene(asked: Asked) -> None:
        identity = (await asked.decide()).json["id"]
        await asked.decide("bob")
        for reward in (0.5, 0.5, 0.6):
            await asked.feedback(identity, reward)
        answer = await asked.ask("GET", "/metrics", secret=None)
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        values = dict(line.rsplit(" ", 1) for line in answer.body.decode().splitlines())
        assert values['fallow_answers_total{call="decision",status="201"}'] == "2"
        assert values['fallow_answers_total{call="feedback",status="200"}'] == "2"
        assert values['fallow_answers_total{call="feedback",status="409"}'] == "1"
        assert values['fallow_answers_total{call="other",status="201"}'] == "1"  # the campaign
        assert values["fallow_open_decisions"] == "1"

    play(scene)


def test_rules_are_given_in_words() -> None:
    async def scene(asked: Asked) -> None:
        overview = (await asked.ask("GET", "/v1/campaigns/morning")).json
        assert overview["rules"] == [
            {"arms": [], "text": "30 seconds from pull to pull"},
            {"arms": ["hymn", "polka"], "text": "at most 2 in any 90 seconds"},
            {"arms": ["hymn", "waltz"], "text": "60 seconds from one to the next (slow)"},
        ]

    rules = {
        "cooldowns": 30,
        "at_most": [{"arms": ["hymn", 2], "pulls": 2, "seconds": 90}],
        "groups": {"slow": {"arms": ["hymn", "waltz"], "apart": 60}},
    }
    play(scene, clock="time", max_delay=1000, rules=rules)


def test_all_calls_are_described_and_there() -> None:
    async def scene(asked: Asked) -> None:
        described = (await asked.ask("GET", "/openapi.json", secret=None)).json
        assert described == json.loads(json.dumps(document()))
        assert len({(call.method, call.path) for call in CALLS}) == len(CALLS)
        for call in CALLS:
            answer = await asked.ask(call.method, re.sub(r"{\w+}", "nosuch", call.path))
            assert answer.status != 404 or "openapi" not in answer.json["error"], call.path
            assert answer.status not in (405, 500)

    play(scene)
