"""What does it cost to keep events safe, and to start again from what was kept?"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.postgres import run_postgres
from benchmarks.ratios import Ratio, in_turns
from benchmarks.section import Section
from fallow.catalog import figure2
from fallow.live.decider import Decider
from fallow.live.events import DECISION, FEEDBACK, Event
from fallow.live.settings import CampaignSettings
from fallow.live.state import State
from fallow.live.stores import EventBatch, Store, open_store

INSTANCE = figure2(seed=17_000)
SETTINGS = CampaignSettings(tuple(INSTANCE.names), INSTANCE.max_delay)
CLIENTS = 64
LAG = 1_000
"""Decisions after which feedback comes."""
KEYED = 10
"""Of these decisions, one has a key."""
DAYS = 30
"""Over which the events of a campaign are spread."""
CHUNK = 10_000
LOAD = """
import json, sys, time
from fallow.live.loading import load_state
from fallow.live.stores import open_store

def resident():
    return int(open("/proc/self/status").read().partition("VmRSS:")[2].split()[0]) * 1024

store = open_store(sys.argv[1])
(record,) = store.campaigns()
before, start = resident(), time.process_time()
state = load_state(store, record)
seconds, memory = time.process_time() - start, resident() - before
if store.snapshot(record.number) is None:
    store.keep_snapshot(record.number, state.head, state.to_bytes())
print(json.dumps([seconds, memory]))
"""


class Clients:
    """Clients that ask for a decision and report its reward, each waiting until that is safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._campaign = store.create("live", SETTINGS.to_json())[0].number
        self._decider = Decider("live", State(SETTINGS))
        self._decider.plan_now()
        self._users = [f"user-{number:08}" for number in range(CLIENTS)]

    def pairs(self, together: int) -> None:
        """Make a pair of decision and feedback for each client, some in a transaction."""
        for first in range(0, CLIENTS, together):
            users = self._users[first : first + together]
            decisions = [self._decider.decide(user, None, 0.5) for user in users]
            numbers = self._keep([each for each in decisions if isinstance(each, Event)])
            rewards = [self._decider.feedback(number, 0.5, 0.5) for number in numbers]
            self._keep([each for each in rewards if each is not None])

    def _keep(self, events: Sequence[Event]) -> list[int]:
        state = self._decider.state
        batch = EventBatch(self._campaign, state.head, state.checksum, events)
        (kept,) = self._store.append([batch])
        numbers = [number for number in kept.numbers if number is not None]
        for number, event in zip(numbers, events, strict=True):
            self._decider.apply(number, event)
        return numbers


def measure_commits() -> Section:
    rows = []
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        server = stack.enter_context(run_postgres())
        for name, reach, url, durable in (
            ("SQLite", "1.4", f"sqlite:///{folder}/normal.db", False),
            ("SQLite, durable", "15", f"sqlite:///{folder}/full.db", True),
            ("PostgreSQL", "3", server.url, False),
        ):
            store = open_store(url, durable)
            clients = Clients(store)
            works = {str(size): partial(clients.pairs, size) for size in (1, CLIENTS)}
            each, group = in_turns(works).values()
            store.close()
            rates = [f"{CLIENTS / median(times):,.0f}" for times in (each, group)]
            rows.append((name, reach, *rates, str(Ratio.of(each, group))))
    return Section(
        "Commits of live decisions",
        ("Store", "Reach", "pairs a second, each", f"{CLIENTS} together", "times as fast"),
        rows,
        f"{CLIENTS} clients that wait, each for a decision and then for its feedback to be safe. "
        "Each event in a transaction of its own, or those of all clients in one. The decisions are "
        "made, too, in the same thread; 7 arms, delays up to 6.",
    )


def measure_start() -> Section:
    sizes = ((10_000, 10**6), (10**6, 2 * 10**6), (10**6, 10**7))
    rows, memories = [], []
    with tempfile.TemporaryDirectory() as folder:
        for users, events in sizes:
            path = Path(folder) / f"{users}-{events}.db"
            write_events(path, users, events)
            size = path.stat().st_size
            replay, memory = load(path)
            kept = path.stat().st_size - size
            again, _ = load(path)
            path.unlink()
            memories.append(memory)
            reaches = "4 s; 0.2 s" if events == 10**6 else ""
            rows.append(
                (
                    f"{users:,}",
                    f"{events:,}",
                    reaches,
                    f"{replay:.2f} s",
                    f"{again:.2f} s",
                    f"{memory / 1e6:,.0f} MB",
                    f"{size / events:.0f} + {kept / events:.0f}",
                )
            )
    (few, small), (many, middle), (_, large) = sizes
    per_event = (memories[2] - memories[1]) / (large - middle)
    per_user = (memories[1] - memories[0] - per_event * (middle - small)) / (many - few)
    return Section(
        "Starting from events",
        (
            "users",
            "events",
            "Reach",
            "all read",
            "from a snapshot",
            "memory",
            "bytes an event, + snapshot",
        ),
        rows,
        "Processor seconds to the state of a campaign in SQLite; memory is what the process grew "
        f"by when it read all: {per_event:.0f} bytes an event and {per_user:.0f} bytes a user. "
        f"Half of the events are decisions, each with feedback after {LAG:,} more; one of {KEYED} "
        f"has a key. They are spread evenly over {DAYS} days, and keys and settled decisions are "
        f"remembered for {SETTINGS.key_days:g}; what users were shown stays as far back as it "
        "matters, 6 decisions. Names of users have 13 characters. Each is a process of its own.",
    )


def write_events(path: Path, users: int, events: int) -> None:
    """Write a campaign whose users take turns."""
    store = open_store(f"sqlite:///{path}")
    record = store.create("live", SETTINGS.to_json())[0]
    head, checksum = record.head, record.checksum
    coming = _events(users, events)
    while chunk := list(islice(coming, CHUNK)):
        assert checksum is not None
        (kept,) = store.append([EventBatch(record.number, head, checksum, chunk)])
        head, checksum = head + len(chunk), kept.checksum
    store.close()


def _events(users: int, events: int) -> Iterator[Event]:
    generator = np.random.default_rng(1)
    arms, rewards = generator.integers(len(SETTINGS.arms), size=CHUNK), generator.random(CHUNK)
    decisions = 0
    for number in range(1, events + 1):
        at, some = 1.7e9 + number / events * DAYS * 86_400, number % CHUNK
        # The decision with number n is followed by feedback with number n + 2 * LAG + 1.
        if number % 2 or number <= 2 * LAG:
            user, arm = f"user-{decisions % users:08}", SETTINGS.arms[arms[some]]
            key = None if decisions % KEYED else f"request-{number:012}"
            mean, delay = float(rewards[some]), 1 + some % 7
            yield Event(DECISION, at, user=user, arm=arm, delay=delay, expected=mean, key=key)
            decisions += 1
        else:
            yield Event(FEEDBACK, at, ref=number - 2 * LAG - 1, reward=float(rewards[some]))


def load(path: Path) -> tuple[float, int]:
    """Return the processor seconds and the memory of a new process that reads a campaign."""
    command = [sys.executable, "-c", LOAD, f"sqlite:///{path}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, memory = json.loads(done.stdout)
    return seconds, memory
