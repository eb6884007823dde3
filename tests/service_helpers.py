"""A service for tests: in this process without a network, or in a process of its own."""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from helpers import command
from starlette.types import ASGIApp

from fallow.live.committer import SNAPSHOT_EVENTS
from fallow.live.service.app import Service
from fallow.live.service.background import USUAL_INTERVALS, Intervals
from fallow.live.service.host import Host
from fallow.live.service.tokens import ADMIN, READER, WRITER, Token
from fallow.live.stores import Store
from fallow.live.stores.memory import MemoryStore

SECRETS = {ADMIN: "admin-" + "a" * 20, WRITER: "writer-" + "w" * 20, READER: "reader-" + "r" * 20}
SETTINGS = {"arms": ["hymn", "waltz", "polka"], "max_delay": 4}
PATIENCE = 60.0
"""Seconds after which a test gives up."""


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        """The body, read."""
        return json.loads(self.body)


async def ask_app(
    app: ASGIApp, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
) -> Answer:
    """Make a request without a network; a body that is no bytes is sent as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    messages = [{"type": "http.request", "body": content, "more_body": False}]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        if not messages:
            await asyncio.Event().wait()  # the client stays
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in (headers or {}).items()],
        "root_path": "",
    }
    await app(scope, receive, send)
    return Answer(
        sent[0]["status"],
        b"".join(message.get("body", b"") for message in sent[1:]),
        {name.decode(): value.decode() for name, value in sent[0]["headers"]},
    )


class Asked:
    """A service without a network."""

    def __init__(self, service: Service, host: Host) -> None:
        self.service, self.host = service, host

    async def ask(
        self, method: str, path: str, body: Any = None, secret: str | None = SECRETS[ADMIN]
    ) -> Answer:
        """Make a request."""
        headers = {} if secret is None else {"authorization": f"Bearer {secret}"}
        return await ask_app(self.service, method, path, body, headers)

    async def decide(self, user: str = "ann", key: str | None = None) -> Answer:
        """Decide in the campaign `morning`."""
        body = {"user": user} if key is None else {"user": user, "key": key}
        return await self.ask("POST", "/v1/campaigns/morning/decisions", body)

    async def feedback(self, identity: str, reward: float) -> Answer:
        """Report a reward."""
        return await self.ask("POST", f"/v1/decisions/{identity}/feedback", {"reward": reward})


@asynccontextmanager
async def serving(
    store: Store | None = None,
    rate: float = 0.0,
    intervals: Intervals = USUAL_INTERVALS,
    snapshot_events: int = SNAPSHOT_EVENTS,
    **settings: Any,
) -> AsyncIterator[Asked]:
    """Serve a store with a campaign `morning`, without a network."""
    kept = MemoryStore() if store is None else store
    host = Host(kept, intervals=intervals, snapshot_events=snapshot_events)
    host.start()
    tokens = [Token(secret.encode(), role, rate) for role, secret in SECRETS.items()]
    asked = Asked(Service(host, tokens), host)
    try:
        made = await asked.ask("PUT", "/v1/campaigns/morning", {**SETTINGS, **settings})
        assert made.status in (200, 201), made
        await host.planned(host.campaigns["morning"])
        yield asked
    finally:
        await host.close()


class Process:
    """A service in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process, self.address = process, address
        self.port = urlsplit(address).port or 0

    def connect(self) -> http.client.HTTPConnection:
        """Return a connection."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        """Make a request."""
        connection = self.connect()
        try:
            return ask_over(connection, method, path, body)
        finally:
            connection.close()


def ask_over(
    connection: http.client.HTTPConnection, method: str, path: str, body: Any = None
) -> Answer:
    """Make a request over a connection that stays open."""
    content = None if body is None else json.dumps(body)
    headers = {"Authorization": f"Bearer {SECRETS[ADMIN]}"}
    connection.request(method, path, content, headers)
    response = connection.getresponse()
    return Answer(
        response.status, response.read(), {k.lower(): v for k, v in response.getheaders()}
    )


def write_tokens(folder: Path) -> Path:
    """Write a file of all tokens."""
    path = folder / "tokens"
    path.touch(mode=0o600)
    names = {ADMIN: "", WRITER: "writer ", READER: "reader "}
    path.write_text("".join(f"{names[role]}{secret}\n" for role, secret in SECRETS.items()))
    return path


@contextmanager
def started(*words: object) -> Iterator[Process]:
    """Run a command that serves, and says where as its second word, until the end."""
    process = subprocess.Popen(
        command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise AssertionError(process.communicate(timeout=PATIENCE)[1])
        yield Process(process, line.split()[1])
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE)


@contextmanager
def served(folder: Path, *options: object) -> Iterator[Process]:
    """Run `fallow serve` on a free port until the end."""
    store = [] if "--store" in options else ["--store", "memory:"]
    tokens = write_tokens(folder)
    with started("serve", "--port", 0, "--token-file", tokens, *store, *options) as process:
        yield process


class Load(threading.Thread):
    """A client that decides and reports until its service is gone, and knows what was answered."""

    def __init__(self, process: Process, name: str) -> None:
        super().__init__(daemon=True)
        self._connection, self._client = process.connect(), name
        self.decided: list[str] = []
        self.rewarded: list[str] = []
        self.failures = 0
        self.start()

    def run(self) -> None:
        """Go on."""
        try:
            while True:
                user = {"user": f"{self._client} {len(self.decided) % 5}"}
                identity = self._answer("/v1/campaigns/morning/decisions", user)["id"]
                self.decided.append(identity)
                self._answer(f"/v1/decisions/{identity}/feedback", {"reward": 0.5})
                self.rewarded.append(identity)
        except (OSError, http.client.HTTPException):
            self._connection.close()

    def _answer(self, path: str, body: Any) -> Any:
        """Ask until the store works."""
        while True:
            answer = ask_over(self._connection, "POST", path, body)
            if answer.status != 503:
                assert answer.status in (200, 201), answer
                return answer.json
            self.failures += 1
            time.sleep(0.05)


def wait_for_rewards(loads: Sequence[Load], more: int) -> None:
    """Wait until so many more rewards were acknowledged."""
    until = time.monotonic() + PATIENCE
    wanted = more + sum(len(load.rewarded) for load in loads)
    while sum(len(load.rewarded) for load in loads) < wanted:
        assert time.monotonic() < until
        time.sleep(0.01)


def check_log(process: Process, loads: Sequence[Load]) -> bytes:
    """Check that all that was acknowledged is there once, and little else; return the log."""
    log = process.ask("GET", "/v1/campaigns/morning/log").body
    events = [json.loads(line) for line in log.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    decided = [event["id"] for event in events if event["kind"] == "decision"]
    rewarded = [event["id"] for event in events if event["kind"] == "feedback"]
    assert len(set(rewarded)) == len(rewarded)
    assert {each for load in loads for each in load.decided} <= set(decided)
    assert {each for load in loads for each in load.rewarded} <= set(rewarded)
    # Of each client one request, and each that failed, may have been kept and not answered.
    answered = sum(len(load.decided) + len(load.rewarded) for load in loads)
    assert len(events) - answered <= len(loads) + sum(load.failures for load in loads)
    return log


Scene = Callable[[Asked], Awaitable[None]]


def play(scene: Scene, store: Store | None = None, **options: Any) -> None:
    """Play a scene with a service, for a minute at most; the options are those of `serving`."""

    async def whole() -> None:
        async with serving(store, **options) as asked:
            await scene(asked)

    asyncio.run(asyncio.wait_for(whole(), PATIENCE))


async def counts(asked: Asked) -> dict[str, int]:
    """Return how many events of each kind there were."""
    found: dict[str, int] = (await asked.ask("GET", "/v1/campaigns/morning")).json["counts"]
    return found
