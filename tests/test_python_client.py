"""The example client, with a service that is now and then away, busy, or not heard."""

from __future__ import annotations

import http.server
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT
from service_helpers import PATIENCE, SECRETS, SETTINGS, Process, served

from examples.python_client import Client, RefusedError
from fallow.live.service.tokens import WRITER

pytestmark = pytest.mark.slow
TRIES = 4


class Line(http.server.ThreadingHTTPServer):
    """Stands between a client and the service, and does to requests what `faults` says, in turn.

    "drop" cuts the connection before the service hears of the request, "lose" when it has
    answered, "shorten" in the middle of its answer; a number is a status to answer in its place.
    """

    daemon_threads = True

    def __init__(self, service: Process, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.service = service
        self.faults: list[str | int] = []
        self.connections = 0
        self.requests = 0
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections += 1
        super().process_request(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Line
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests += 1
        fault = self.server.faults.pop(0) if self.server.faults else None
        self.close_connection = isinstance(fault, str)
        if isinstance(fault, int):
            self._answer(fault, b'{"error": "later"}')
        elif fault != "drop":
            status, content = self._forward(body)
            if fault != "lose":
                self._answer(status, content, missing=1 if fault == "shorten" else 0)

    def _forward(self, body: bytes) -> tuple[int, bytes]:
        with closing(self.server.service.connect()) as connection:
            headers = {"Authorization": self.headers["Authorization"]}
            connection.request("POST", self.path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()

    def _answer(self, status: int, body: bytes, missing: int = 0) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) - missing])

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@contextmanager
def _answering(line: Line) -> Iterator[Line]:
    thread = threading.Thread(target=line.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield line
    finally:
        line.shutdown()
        thread.join(PATIENCE)
        line.server_close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with served(tmp_path_factory.mktemp("service")) as process:
        yield process


@pytest.fixture
def line(service: Process, request: pytest.FixtureRequest) -> Iterator[Line]:
    """Return a line to a service with a campaign of the test's own name."""
    assert service.ask("PUT", f"/v1/campaigns/{_name(request)}", SETTINGS).status == 201
    with _answering(Line(service)) as line:
        yield line


@pytest.fixture
def campaign(request: pytest.FixtureRequest) -> str:
    return _name(request)


def _name(request: pytest.FixtureRequest) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in request.node.name)


@pytest.fixture
def client(line: Line) -> Iterator[Client]:
    with closing(Client(line.url, SECRETS[WRITER], TRIES, pause=0.001)) as client:
        yield client


def _events(service: Process, campaign: str) -> list[dict[str, Any]]:
    body = service.ask("GET", f"/v1/campaigns/{campaign}/log").body
    return [json.loads(event) for event in body.splitlines()]


def test_it_decides_and_reports_over_one_connection(
    line: Line, client: Client, campaign: str
) -> None:
    first, second = client.decide(campaign, "ann"), client.decide(campaign, "ann", "mine")
    client.feedback(first["id"], 0.25)
    client.cancel(second["id"])
    events = _events(line.service, campaign)
    assert [event["kind"] for event in events] == ["decision", "decision", "feedback", "cancel"]
    assert [event["arm"] for event in events[:2]] == [first["arm"], second["arm"]]
    assert events[1]["key"] == "mine"
    assert (events[2]["id"], events[2]["reward"]) == (first["id"], 0.25)
    assert events[3]["id"] == second["id"]
    assert (line.connections, line.requests) == (1, 4)


@pytest.mark.parametrize("fault", ["drop", "lose", "shorten", 503, 429, 502])
def test_what_it_says_is_heard_once(
    line: Line, client: Client, campaign: str, fault: str | int
) -> None:
    line.faults = [fault, fault]
    decision = client.decide(campaign, "ann")
    line.faults = [fault, fault]
    client.feedback(decision["id"], 1.0)
    assert line.requests == 6
    made, paid = _events(line.service, campaign)
    assert made["id"] == decision["id"] == paid["id"]
    assert paid["reward"] == 1.0


def test_it_waits_longer_each_time_and_gives_up(
    line: Line, client: Client, campaign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.uniform", lambda _low, high: high)
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    line.faults = [503] * TRIES
    with pytest.raises(RefusedError, match=r"503.*later"):
        client.decide(campaign, "ann")
    assert line.requests == TRIES
    assert pauses == [0.001, 0.002, 0.004]
    assert _events(line.service, campaign) == []


def test_it_finds_a_service_that_comes_back(
    line: Line, campaign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    with closing(Client(f"http://127.0.0.1:{port}", SECRETS[WRITER], TRIES)) as client:
        with pytest.raises(ConnectionRefusedError):
            client.decide(campaign, "ann")
        assert len(pauses) == TRIES - 1
        with _answering(Line(line.service, port)):
            decision = client.decide(campaign, "ann")
    assert [event["id"] for event in _events(line.service, campaign)] == [decision["id"]]


def test_what_is_refused_is_not_said_again(line: Line, client: Client, campaign: str) -> None:
    decision = client.decide(campaign, "ann")
    client.feedback(decision["id"], 1.0)
    client.feedback(decision["id"], 1.0)
    with pytest.raises(RefusedError, match=str(HTTPStatus.CONFLICT.value)):
        client.feedback(decision["id"], 0.5)
    with pytest.raises(RefusedError, match=str(HTTPStatus.NOT_FOUND.value)):
        client.decide("a/b", "ann")
    assert line.requests == 5


@pytest.mark.parametrize(("typed", "outcome"), [("Yes\n", 1.0), ("no\n", 0.0), ("", None)])
def test_a_person_answers(
    line: Line, campaign: str, tmp_path: Path, typed: str, outcome: float | None
) -> None:
    file = tmp_path / "token"
    file.write_text(f"writer {SECRETS[WRITER]}\n")
    result = _run_client({"FALLOW_URL": line.url, "FALLOW_TOKEN_FILE": str(file)}, campaign, typed)
    assert result.returncode == 0, result.stderr
    made, then = _events(line.service, campaign)
    assert f"{made['arm']}, for ann" in result.stdout
    assert then["kind"] == ("cancel" if outcome is None else "feedback")
    assert then.get("reward") == outcome


def test_it_says_in_one_line_what_went_wrong(line: Line, tmp_path: Path) -> None:
    missing = {"FALLOW_URL": line.url, "FALLOW_TOKEN_FILE": str(tmp_path / "token")}
    wrong = {"FALLOW_URL": line.url, "FALLOW_TOKEN": "wrong"}
    for variables, reason in ((missing, "No such file"), (wrong, "401")):
        result = _run_client(variables, "unknown", "")
        assert result.returncode == 1
        assert result.stderr.count("\n") == 1
        assert reason in result.stderr


def _run_client(
    variables: dict[str, str], campaign: str, typed: str
) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(ROOT / "examples" / "python_client.py"), campaign, "ann"]
    return subprocess.run(
        words,
        env={**os.environ, **variables},
        input=typed,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
