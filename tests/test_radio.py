"""The example radio: Liquidsoap plays what the service decides, and reports what was heard."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT, wait_until
from service_helpers import PATIENCE, SECRETS, Process, served

from fallow.live.service.tokens import WRITER

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("liquidsoap") is None, reason="needs Debian's package liquidsoap"
    ),
]
RADIO = ROOT / "examples" / "radio"
LIKED = ["hymn.wav", "march.wav", "polka.wav"]
DISLIKED = "waltz.wav"
TRACKS = 50
SECONDS = 0.3
"""Of a track. Real ones: a clock without them fills a pipe of Liquidsoap's, which then hangs."""
COOLDOWN = 3
Event = dict[str, Any]


class Radio:
    """A radio that is on."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self.process, self._folder = process, folder

    def wait(self, there: Callable[[], bool]) -> None:
        """Wait until something is there."""
        wait_until(there, self.process)

    def said(self, words: str) -> int:
        """Return how many lines of its log have these words."""
        return (self._folder / "radio.log").read_text().count(words)

    def command(self, words: str) -> str:
        """Return what it answers to a command."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(str(self._folder / "socket"))
            connection.sendall(f"{words}\nquit\n".encode())
            return connection.makefile().readline().strip()

    def end(self) -> None:
        """Turn it off."""
        self.process.terminate()
        assert self.process.wait(PATIENCE) == 0


@contextmanager
def playing(folder: Path, port: int, seconds: float = SECONDS) -> Iterator[Radio]:
    """Play tracks of some seconds."""
    tracks = folder / "tracks"
    words = [sys.executable, RADIO / "tracks.py", tracks, *LIKED, DISLIKED, "--seconds", seconds]
    subprocess.run(list(map(str, words)), timeout=PATIENCE, check=True)
    variables = {
        "FALLOW_URL": f"http://127.0.0.1:{port}",
        "FALLOW_TOKEN": SECRETS[WRITER],
        "RADIO_TRACKS": str(tracks),
        "RADIO_SOCKET": str(folder / "socket"),
        "DISLIKED": DISLIKED,
    }
    with (folder / "radio.log").open("w") as log:
        process = subprocess.Popen(
            ["liquidsoap", str(ROOT / "tests" / "listener.liq"), str(RADIO / "radio.liq")],
            env={**os.environ, **variables},
            stdout=log,
            stderr=log,
            text=True,
        )
    try:
        yield Radio(process, folder)
    finally:
        process.kill()
        process.wait(PATIENCE)


def _make_campaign(service: Process, arms: list[str]) -> None:
    settings = {"arms": arms, "max_delay": 6, "rules": {"cooldowns": COOLDOWN}}
    assert service.ask("PUT", "/v1/campaigns/radio", settings).status == 201


def _events(service: Process) -> list[Event]:
    body = service.ask("GET", "/v1/campaigns/radio/log").body
    return [json.loads(line) for line in body.splitlines()]


def _decisions(service: Process) -> dict[str, list[Event]]:
    """Return decisions by their ids, in turn, each with what became of it."""
    found: dict[str, list[Event]] = {}
    for event in _events(service):
        found.setdefault(event["id"], []).append(event)
    return found


def _are_heard(service: Process, count: int) -> bool:
    """Tell whether so many first decisions have feedback."""
    heard = list(_decisions(service).values())[:count]
    return len(heard) == count and all(len(events) > 1 for events in heard)


def test_fifty_tracks_are_decided_played_and_reported(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'radio.db'}"
    with served(tmp_path, "--store", store) as service:
        _make_campaign(service, [*LIKED, DISLIKED, "missing.wav"])
        with playing(tmp_path, service.port) as radio:
            radio.wait(lambda: _are_heard(service, TRACKS))
            radio.end()
        heard = list(_decisions(service).values())[:TRACKS]
    assert [[event["kind"] for event in events] for events in heard] == (
        [["decision", "feedback"]] * TRACKS
    )
    assert len({decision["key"] for decision, _ in heard}) == TRACKS
    arms = [decision["arm"] for decision, _ in heard]
    a_part = pytest.approx(0.4, abs=0.15)  # a tenth of a second, and a frame or two
    rewards = dict.fromkeys(LIKED, 1.0) | {DISLIKED: a_part, "missing.wav": 0.0}
    assert [feedback["reward"] for _, feedback in heard] == [rewards[arm] for arm in arms]
    for place, arm in enumerate(arms):
        assert arm not in arms[max(place - COOLDOWN + 1, 0) : place]
    assert set(arms) == set(rewards)
    late = Counter(arms[TRACKS // 2 :])
    assert max(late[DISLIKED], late["missing.wav"]) < min(late[arm] for arm in LIKED)


def test_a_listener_skips_and_what_did_not_begin_is_taken_back(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        _make_campaign(service, LIKED)
        with playing(tmp_path, service.port, seconds=20.0) as radio:
            radio.wait(lambda: radio.said("next is") == 2)
            radio.wait(lambda: radio.command("dummy.remaining").startswith("1"))  # 19 seconds
            assert radio.command("radio.skip") == "skipped"
            radio.wait(lambda: _are_heard(service, 1) and radio.said("next is") == 3)
            radio.end()
        skipped, begun, waiting = _decisions(service).values()
    assert [event["kind"] for event in skipped] == ["decision", "feedback"]
    assert 0 < skipped[1]["reward"] < 1
    assert [event["kind"] for event in begun] == ["decision"]
    assert [event["kind"] for event in waiting] == ["decision", "cancel"]


def test_it_plays_on_while_the_service_is_away(tmp_path: Path) -> None:
    options = ("--store", f"sqlite:///{tmp_path / 'radio.db'}")
    with served(tmp_path, *options) as service:
        _make_campaign(service, LIKED)
        port = service.port
        with playing(tmp_path, port) as radio:
            radio.wait(lambda: _are_heard(service, 5))
            service.process.kill()
            radio.wait(lambda: radio.said("no decision") >= 3)
            played = radio.said("Prepared")
            radio.wait(lambda: radio.said("Prepared") >= played + 3)
            with served(tmp_path, *options, "--port", port) as again:
                before = len(_decisions(again))
                radio.wait(lambda: _are_heard(again, before + 5))
                radio.end()
                decisions = list(_decisions(again).values())
    for events in decisions[: before + 5]:
        assert [event["kind"] for event in events] == ["decision", "feedback"]
        assert events[1]["reward"] == 1.0
    keys = [events[0]["key"] for events in decisions]
    numbers = [int(key.rpartition("-")[2]) for key in keys]
    assert numbers == list(range(len(numbers)))
