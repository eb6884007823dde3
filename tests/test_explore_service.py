"""`fallow explore` as a server and a command: whom it answers, and how it starts and ends."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from helpers import runner
from service_helpers import PATIENCE, Answer, ask_app, started

import fallow
from fallow import Instance, catalog
from fallow.cli import app as command_line
from fallow.explore import app
from fallow.explore.messages import SliderSettings
from fallow.explore.model import EXAMPLE, Explored
from fallow.live.service.http import MOST_BODY_BYTES

OWN = {"host": "127.0.0.1:8000"}
Scene = Callable[[app.Explorer], Awaitable[None]]


def play(scene: Scene, instance: Instance = EXAMPLE) -> None:
    """Play a scene with an explorer, not for ever."""

    async def whole() -> None:
        await scene(app.Explorer(Explored(instance)))

    asyncio.run(asyncio.wait_for(whole(), PATIENCE))


def asked(method: str, path: str, body: Any = None, instance: Instance = EXAMPLE) -> Answer:
    """Return what is answered to one request."""
    answers = []

    async def scene(explorer: app.Explorer) -> None:
        answers.append(await ask_app(explorer, method, path, body, OWN))

    play(scene, instance)
    return answers[0]


def test_the_page_is_answered_as_it_starts() -> None:
    start = asked("GET", "/start").json
    assert start["names"] == list(EXAMPLE.names)
    assert start["longest"] == 12
    assert start["settings"]["decay"] == {"geometric": 0.7}
    best = fallow.plan(EXAMPLE)
    assert asked("POST", "/answer", start["settings"]).json["cycles"][0]["gain"] == best.gain
    assert asked("GET", "/start", instance=catalog.blocking_large()).json["longest"] == 20


GOOD = {
    "levels": [0.9, 0.8, 0.7, 0.55, 0.3],
    "rules": [True, True, False],
    "delays": [4, 3, 5, 2, 1],
    "decay": {"geometric": 0.7},
}


def changed(**changes: Any) -> bytes:
    return json.dumps({**GOOD, **changes}).encode()


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        (b"", 400, "truncated"),
        (b"\xff", 400, ""),
        (b"null", 422, "object"),
        (b"[]", 422, "object"),
        (b"{}", 422, "levels"),
        (changed(levels=[0.9] * 4), 422, "one for each arm, got 4 for 5"),
        (changed(levels=[0.9] * 4 + [1.1]), 422, "1.0"),
        (changed(levels=[0.9] * 4 + [-0.1]), 422, "0.0"),
        (changed(levels=[0.9] * 4 + [float("nan")]), 400, "malformed"),
        (changed(levels=[0.9] * 4 + ["high"]), 422, "str"),
        (changed(levels=[0.9] * 4 + [True]), 422, "bool"),
        (changed(levels=7), 422, "array"),
        (changed(delays=[1] * 100_000), 422, "one for each arm"),
        (changed(delays=[4, 3, 5, 2, 0]), 422, ">= 1"),
        (changed(delays=[4, 3, 5, 2, 31]), 422, "<= 30"),
        (changed(delays=[4, 3, 5, 2, 1.5]), 422, "float"),
        (changed(delays=[4, 3, 5, 2, 10**400]), 422, ""),
        (changed(delays=None), 422, "delays must be given"),
        (changed(decay=None), 422, "decay must be given"),
        (changed(decay={}), 422, "decay must be"),
        (changed(decay={"sundial": 1}), 422, "decay must be one of geometric, constant, power"),
        (changed(decay={"geometric": 1, "power": 1}), 422, "decay must be"),
        (changed(decay={"geometric": 1.5}), 422, "rate must be"),
        (changed(decay={"power": -1}), 422, "exponent must be"),
        (changed(decay={"power": 1e999}), 400, "malformed"),
        (changed(rules=[True]), 422, "rules must be on or off, one for each of 3, got 1"),
        (changed(rules=[1, 1, 1]), 422, "bool"),
        (changed(colour="red"), 422, "colour"),
        (b" " * (MOST_BODY_BYTES + 1), 413, "1,000,000"),
    ],
)
def test_what_breaks_a_rule_is_refused(body: bytes, status: int, word: str) -> None:
    refused = asked("POST", "/answer", body)
    assert refused.status == status, refused.body
    assert word in refused.json["error"]
    assert len(refused.body) < 300


@pytest.mark.parametrize("decay", [{"power": 1e308}, {"power": 0}, {"constant": 0}])
def test_what_breaks_none_is_answered(decay: dict[str, float]) -> None:
    assert asked("POST", "/answer", changed(decay=decay)).status == 200


def test_a_table_has_no_delays() -> None:
    table = Instance([[0.1, 0.9, 0.2]])
    good = {"levels": [0.9], "rules": [False, False]}
    assert asked("POST", "/answer", good, table).status == 200
    refused = asked("POST", "/answer", {**good, "delays": [1]}, table)
    assert refused.json == {"error": "delays must be left out for a table of means, got [1]"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "127.0.0.1:8000"}, 200),
        ({"host": "localhost:9000"}, 200),
        ({"host": "localhost"}, 200),
        ({"host": "127.0.0.1:8000", "origin": "http://127.0.0.1:8000"}, 200),
        ({"host": "127.0.0.1:8000", "origin": "http://127.0.0.1:8001"}, 403),
        ({"host": "127.0.0.1:8000", "origin": "https://127.0.0.1:8000"}, 403),
        ({"host": "127.0.0.1:8000", "origin": "http://localhost:8000"}, 403),
        ({"host": "127.0.0.1:8000", "origin": "https://evil.example"}, 403),
        ({"host": "127.0.0.1:8000", "origin": "null"}, 403),
        ({"host": "127.0.0.1:8000", "origin": ""}, 403),
        ({"host": "evil.example:8000"}, 403),
        ({"host": "evil.example", "origin": "http://evil.example"}, 403),
        ({"host": "localhost.evil.example:8000"}, 403),
        ({"host": "evil.example:localhost"}, 403),
        ({"host": "127.0.0.1@evil.example"}, 403),
        ({"host": ""}, 403),
        ({}, 403),
    ],
)
def test_only_its_own_page_on_this_machine_is_answered(
    headers: dict[str, str], status: int
) -> None:
    async def scene(explorer: app.Explorer) -> None:
        for method, path in (("GET", "/"), ("GET", "/start"), ("POST", "/answer")):
            found = await ask_app(explorer, method, path, GOOD, headers)
            assert found.status == status
            assert (found.headers["content-type"] == "application/json") == (
                status == 403 or path != "/"
            )

    play(scene)


def test_there_is_nothing_but_the_page() -> None:
    async def scene(explorer: app.Explorer) -> None:
        for path in ("/nosuch", "/explore/../app.py", "/page//etc/passwd", "/explore/", "/answer/"):
            found = await ask_app(explorer, "GET", path, None, OWN)
            assert found.status == 404
            assert "error" in found.json
        assert (await ask_app(explorer, "GET", "/answer", None, OWN)).status == 405
        for path in ("/", "/explore/explore.js", "/page/charts.js"):
            found = await ask_app(explorer, "GET", path, None, OWN)
            assert found.status == 200
            assert found.headers["content-security-policy"].startswith("default-src 'self';")
            assert "frame-ancestors 'none'" in found.headers["content-security-policy"]

    play(scene)


def test_one_answer_at_a_time_and_none_for_those_who_left(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[SliderSettings] = []
    go_on = threading.Semaphore(0)

    def slow_answer(_: Explored, settings: SliderSettings) -> str:
        begun.append(settings)
        assert go_on.acquire(timeout=PATIENCE)
        return "answered"

    async def left(scene: app.Explorer) -> int:
        """Ask, and leave before the answer."""
        messages = [{"type": "http.request", "body": changed()}, {"type": "http.disconnect"}]
        sent: list[Any] = []

        async def receive() -> Any:
            return messages.pop(0)

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(name.encode(), value.encode()) for name, value in OWN.items()]
        scope = {"type": "http", "method": "POST", "path": "/answer", "headers": headers}
        await scene({**scope, "query_string": b"", "root_path": ""}, receive, send)
        status: int = sent[0]["status"]
        return status

    async def scene(explorer: app.Explorer) -> None:
        first = asyncio.ensure_future(ask_app(explorer, "POST", "/answer", changed(), OWN))
        while not begun:
            await asyncio.sleep(0.001)
        second = asyncio.ensure_future(ask_app(explorer, "POST", "/answer", changed(), OWN))
        gone = asyncio.ensure_future(left(explorer))
        thorough = changed(thorough=True)
        beside = asyncio.ensure_future(ask_app(explorer, "POST", "/answer", thorough, OWN))
        while len(begun) < 2:
            await asyncio.sleep(0.001)
        assert [settings.thorough for settings in begun] == [False, True]
        go_on.release(3)
        answers = await asyncio.gather(first, second, beside)
        assert [each.json for each in answers] == ["answered"] * 3
        assert await gone == 204
        assert len(begun) == 3

    monkeypatch.setattr(app, "answer", slow_answer)
    play(scene)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_listens_on_the_loopback_until_a_signal(number: signal.Signals) -> None:
    with started("explore", "greedy_trap", "--no-browser") as process:
        assert process.address == f"http://127.0.0.1:{process.port}"
        assert process.ask("GET", "/start").json["names"] == ["0", "1"]
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", process.port), PATIENCE)
        process.process.send_signal(number)
        assert process.process.wait(PATIENCE) == 0
        assert process.process.stderr is not None
        assert process.process.stderr.read() == ""


def test_mistakes_end_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for words, complaint in (
            (["nosuch.toml"], "INSTANCE must be a TOML file or a catalog name"),
            (["figure2", "seed"], "KEY=VALUE"),
            (["random_geometric", "arms=21"], "arms to explore must be at most 20, got 21"),
            (["--port", str(taken.getsockname()[1])], "in use"),
            (["--port", "70000"], "--port must be at most 65,535, got 70,000"),
        ):
            result = runner.invoke(command_line, ["explore", "--no-browser", *words])
            assert result.exit_code == 2
            assert result.stderr.count("\n") == 1
            assert complaint in result.stderr


@pytest.mark.parametrize("words", [[], ["--no-browser"]])
def test_the_browser_is_opened_unless_it_is_not_wanted(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, seen = threading.Event(), []

    def open_browser(address: str) -> bool:
        seen.append(address)
        opened.set()
        return True

    def explore(_: Explored, port: int, say: Callable[[str], None]) -> None:
        say(f"http://127.0.0.1:{port}")
        if not words:
            assert opened.wait(PATIENCE)

    monkeypatch.setattr("webbrowser.open", open_browser)
    monkeypatch.setattr(app, "explore", explore)
    result = runner.invoke(command_line, ["explore", "--port", "7", *words])
    assert result.output == "exploring http://127.0.0.1:7 until Ctrl-C\n"
    assert seen == ([] if words else ["http://127.0.0.1:7"])
