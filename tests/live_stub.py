"""A stand-in for the service behind the page: what it answers is what a test puts in."""

import json
import mimetypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Condition, Thread
from typing import Any
from urllib.parse import unquote

from fallow.live import __file__ as live_file
from fallow.rules import Rules

PAGE = Path(live_file).parent / "service" / "page"
POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'"
TOKEN = "a-token+/="
Overview = dict[str, Any]


def overview(
    name: str = "morning",
    arms: Sequence[str] = ("hymn", "waltz", "polka", "tango", "march"),
    spans: Sequence[float] = (1, 2, 3, 4, 5, 6),
    decisions: int = 12_345,
    feedback: int | None = None,
    **settings: Any,
) -> Overview:
    """Return what the service says of a campaign whose arms recover at different speeds."""
    feedback = int(0.9 * decisions) if feedback is None else feedback
    share = feedback / (len(arms) * len(spans) + 1)
    cells = []
    for index, arm in enumerate(arms):
        for delay in range(1, len(spans) + 2):
            rested = 0.35 + 0.45 * ((index * 7) % 11) / 11
            mean = rested * (1 - 0.7 * 0.72 ** (delay * (1 + index % 3))) if feedback else 0.5
            rewards = int(2 * share * ((index * 5 + delay * 3) % 7) / 6)
            reach = 0.5 / (rewards + 1) ** 0.5
            low, high = max(0, mean - reach), min(1, mean + reach)
            numbers = {
                "mean": mean,
                "low": low,
                "high": high,
                "rewards": rewards,
                "open": delay % 3,
            }
            cells.append({"arm": arm, "delay": delay, **numbers})
    cycle = [arms[(index * 2) % len(arms)] for index in range(max(1, 2 * len(arms) - 2))]
    history = [
        {
            "at": 1_763_400_000 + 10 * index,
            "seconds": 10,
            "decisions": 25,
            "rewards": 20,
            "reward": 11.5 + ((index * 37) % 19) / 8,
            "expected": 11.9 + index / 90,
        }
        for index in range(min(120, feedback // 20))
    ]
    return {
        "name": name,
        "settings": {
            "arms": list(arms),
            "max_delay": spans[-1],
            "clock": "rounds",
            "default_reward": None,
            "wait": None,
            "explore": 0.0,
            "rules": {},
            **settings,
        },
        "rules": [
            {"arms": list(rule.arms), "text": rule.in_words("rounds")}
            for rule in Rules.from_document(settings.get("rules", {}))
        ],
        "counts": {
            "events": decisions + feedback,
            "users": min(decisions, 312),
            "decisions": decisions,
            "open": decisions - feedback,
            "late": (decisions - feedback) // 9,
            "feedback": feedback,
            "cancelled": min(decisions, 2),
            "defaults": 0,
        },
        "arms": [{"name": arm, "retired": False} for arm in arms],
        "spans": [*spans, None],
        "cells": cells,
        "plan": {
            "cycle": cycle,
            "gain": 0.6123,
            "upper_bound": 0.6211,
            "certificate": 0.98583,
            "method": "beam",
        },
        "rest": None,
        "history": history,
        "decisions_per_second": 2.5 if decisions else 0.0,
    }


class Stub(ThreadingHTTPServer):
    """Serves the page, campaigns to those who have the token, and a stream of each."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.campaigns: dict[str, Overview] = {}
        self.changed = Condition()
        self.version = 0
        self.is_open = True

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def put(self, *campaigns: Overview) -> None:
        """Have these campaigns, and tell those who watch them."""
        with self.changed:
            self.campaigns.update({each["name"]: each for each in campaigns})
            self.version += 1
            self.changed.notify_all()

    def wait_after(self, seen: int) -> int | None:
        """Wait for the version after one that was seen; None at the end."""
        with self.changed:
            self.changed.wait_for(lambda: self.version > seen or not self.is_open)
            return self.version if self.is_open else None

    def end_streams(self) -> None:
        with self.changed:
            self.is_open = False
            self.changed.notify_all()

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser may go away at any time."""


class Handler(BaseHTTPRequestHandler):
    server: Stub

    def do_GET(self) -> None:
        path = [unquote(part) for part in self.path.split("/")[1:]]
        match path:
            case ["v1", *_] if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                self.answer(401, {"error": "the token must be one of the token file's"})
            case ["v1", "campaigns"]:
                self.answer(200, {"campaigns": [listed(e) for e in self.server.campaigns.values()]})
            case ["v1", "campaigns", name, *_] if name not in self.server.campaigns:
                self.answer(404, {"error": f"there must be a campaign {name}, got none"})
            case ["v1", "campaigns", name]:
                self.answer(200, self.server.campaigns[name])
            case ["v1", "campaigns", name, "stream"]:
                self.stream(name)
            case [""]:
                self.send_file(PAGE / "index.html")
            case ["page", file] if (PAGE / file).is_file():
                self.send_file(PAGE / file)
            case _:
                self.answer(404, {"error": "there is no such page"})

    def answer(self, status: int, content: object) -> None:
        self.begin(status, "application/json")
        self.wfile.write(json.dumps(content).encode())

    def send_file(self, path: Path) -> None:
        self.begin(200, mimetypes.guess_type(path)[0] or "")
        self.wfile.write(path.read_bytes())

    def begin(self, status: int, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()

    def stream(self, name: str) -> None:
        self.begin(200, "text/event-stream")
        seen = 0
        while (version := self.server.wait_after(seen)) is not None:
            seen = version
            text = json.dumps(self.server.campaigns[name])
            self.wfile.write(f": news\r\n\r\ndata: {text}\r\n\r\n".encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def listed(campaign: Overview) -> dict[str, Any]:
    counts = {key: campaign["counts"][key] for key in ("users", "decisions", "open")}
    clock = campaign["settings"]["clock"]
    return {"name": campaign["name"], "clock": clock, "arms": len(campaign["arms"]), **counts}


@contextmanager
def serve(*campaigns: Overview, port: int = 0) -> Iterator[Stub]:
    """Serve campaigns until the end of the block."""
    with Stub(port) as stub:
        stub.put(*campaigns)
        thread = Thread(target=stub.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield stub
        finally:
            stub.end_streams()
            stub.shutdown()
            thread.join()
