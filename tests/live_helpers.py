"""Events to keep, and a process that appends to a store while things are killed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from zlib import crc32

from helpers import python_path

from fallow.live.events import DECISION, Event, checksum_after
from fallow.live.stores import EventBatch, Store


def decisions(*users: object) -> list[Event]:
    """Return a decision for each user, with no more than a store needs."""
    return [Event(DECISION, 0.5, user=str(user)) for user in users]


def batch(store: Store, campaign: int, head: int, events: Sequence[Event]) -> EventBatch:
    """Return a batch of one who has read the store up to `head`, or as far as it goes."""
    (record,) = (record for record in store.campaigns() if record.number == campaign)
    checksum = crc32(record.settings.encode())
    for number, event in store.read(campaign):
        if number <= head:
            checksum = checksum_after(checksum, event)
    return EventBatch(campaign, head, checksum, events)


@contextmanager
def run_appender(*words: str) -> Iterator[subprocess.Popen[str]]:
    """Start tests/appender.py; in the end it is killed."""
    environment = {**os.environ, "PYTHONPATH": python_path()}
    command = [sys.executable, "-m", "appender", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def acknowledged(process: subprocess.Popen[str], lines: int) -> int:
    """Return the last event that an appender called safe, after some more lines of it."""
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(lines)]
    assert all(said), "the appender ended by itself"
    return int(said[-1])


def kill_appender(generator: random.Random, *words: str) -> int:
    """Kill an appender at some moment, and return the last event that it called safe."""
    with run_appender(*words) as process:
        last = acknowledged(process, generator.randint(1, 300))
        process.kill()
        assert process.stdout is not None
        rest = process.stdout.read().split()
        return int(rest[-1]) if rest else last


def kept_users(store: Store) -> list[str | None]:
    """Return the users of the appender's decisions; numbers without a gap are checked, too."""
    (record,) = store.campaigns()
    pairs = list(store.read(record.number))
    assert [number for number, _ in pairs] == list(range(1, record.head + 1))
    return [event.user for _, event in pairs]
