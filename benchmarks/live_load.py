"""How long do clients of a server wait? A process that asks it, apart from all others.

`python -m benchmarks.live_load PORT LOAD`, where LOAD is a `Load` as JSON, prints `Waits` as JSON.
"""

from __future__ import annotations

import asyncio
import gc
import json
import math
import multiprocessing
import sys
import time
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import count, pairwise
from multiprocessing.sharedctypes import Synchronized
from typing import Any, cast

import uvloop

from benchmarks.servers import TOKEN, Connection

CLIENTS = 16
WARM_UP_SECONDS = 3.0
PROBE_SECONDS = 0.005
"""From one question of the prober to the next."""
CHANGE_SECONDS = 0.5
"""From one arm that comes or goes to the next."""
CAMPAIGN = "/v1/campaigns/load"


@dataclass(frozen=True)
class Load:
    """What is asked of a server.

    Parameters
    ----------
    seconds
        How long it is measured, after the warm-up.
    users
        Distinct users, in rotation.
    arms
        How many there are, of which some go while new ones come; 0: they stay as they are.
    watchers
        Streams of the campaign.
    """

    seconds: float
    users: int
    arms: int = 0
    watchers: int = 0


@dataclass(frozen=True)
class Waits:
    """What clients met, in milliseconds where nothing else is said.

    Attributes
    ----------
    p50, p99, p999, longest
        Waits for decisions.
    silence
        The longest time in which nobody was answered.
    first_silence
        The same while it warmed up, which nothing else counts.
    probe
        The longest wait for /healthz.
    change
        The longest wait of the admin whose arms come and go.
    pause
        The longest time by which this process was late itself: what it cannot tell from a silence.
    busy
        The share of a processor that the clients took.
    rate
        Decisions a second.
    streamed
        Megabytes a second that watchers got.
    """

    p50: float
    p99: float
    p999: float
    longest: float
    silence: float
    first_silence: float
    probe: float
    change: float
    pause: float
    busy: float
    rate: float
    streamed: float


def arm_name(number: int) -> str:
    """Return the name of an arm."""
    return f"arm-{number}"


class Clients:
    """Clients of a server, and when they asked and were answered."""

    def __init__(self, port: int, load: Load) -> None:
        self._port, self._load = port, load
        self._turn = count()
        self._start = time.monotonic() + WARM_UP_SECONDS
        self._until = self._start + load.seconds
        self._answers = [time.monotonic()]
        self._waits: dict[str, list[float]] = {"decision": [], "probe": [], "change": []}
        self._pauses: list[float] = []

    async def run(self, streamed: Synchronized[int]) -> Waits:
        """Ask until the time is over."""
        asking = [self._client() for _ in range(CLIENTS)]
        if self._load.arms:
            asking.append(self._admin())
        processor, _ = await asyncio.gather(
            self._processor_time(streamed), asyncio.gather(*asking, self._prober())
        )
        seconds, megabytes = processor
        decisions = sorted(self._waits["decision"])
        p50, p99, p999 = (_quantile(decisions, share) for share in (0.5, 0.99, 0.999))
        first = sum(answered <= self._start for answered in self._answers)
        return Waits(
            p50=1000 * p50,
            p99=1000 * p99,
            p999=1000 * p999,
            longest=1000 * max(decisions, default=math.nan),
            silence=1000 * _longest_gap(self._answers[first - 1 :]),
            first_silence=1000 * _longest_gap(self._answers[:first]),
            probe=1000 * max(self._waits["probe"], default=math.nan),
            change=1000 * max(self._waits["change"], default=math.nan),
            pause=1000 * max(self._pauses, default=math.nan),
            busy=seconds / self._load.seconds,
            rate=len(decisions) / self._load.seconds,
            streamed=megabytes / self._load.seconds,
        )

    async def _client(self) -> None:
        """Decide and report in turns."""
        connection = await Connection.open(self._port)
        while time.monotonic() < self._until:
            user = {"user": f"user {next(self._turn) % self._load.users}"}
            made = await self._ask(connection, "decision", "POST", f"{CAMPAIGN}/decisions", user)
            path = f"/v1/decisions/{made.get('id', 'load-1')}/feedback"
            await self._ask(connection, "feedback", "POST", path, {"reward": _worth(made)})

    async def _prober(self) -> None:
        """Ask for next to nothing, so that someone always asks."""
        connection = await Connection.open(self._port)
        while (now := time.monotonic()) < self._until:
            await asyncio.sleep(PROBE_SECONDS)
            if now > self._start:
                self._pauses.append(time.monotonic() - now - PROBE_SECONDS)
            await self._ask(connection, "probe", "GET", "/healthz")

    async def _admin(self) -> None:
        """Let an arm come, then the oldest one go, and so on."""
        connection = await Connection.open(self._port)
        for oldest in count():
            for method, number in (("PUT", oldest + self._load.arms), ("DELETE", oldest)):
                await asyncio.sleep(CHANGE_SECONDS)
                if time.monotonic() > self._until:
                    return
                path = f"{CAMPAIGN}/arms/{arm_name(number)}"
                await self._ask(connection, "change", method, path)

    async def _ask(
        self,
        connection: Connection,
        kind: str,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Ask, and keep how long that took unless all is still warming up."""
        asked = time.monotonic()
        answer = await connection.ask(method, path, body)
        self._answers.append(connection.answered)
        if connection.answered > self._start and kind in self._waits:
            self._waits[kind].append(connection.answered - asked)
        return answer

    async def _processor_time(self, streamed: Synchronized[int]) -> tuple[float, float]:
        """Return the processor time of this process and the megabytes streamed, when measured."""
        await asyncio.sleep(self._start - time.monotonic())
        before, taken = time.process_time(), streamed.value
        await asyncio.sleep(self._until - time.monotonic())
        return time.process_time() - before, (streamed.value - taken) / 1e6


class Watcher(asyncio.Protocol):
    """Reads a stream and counts its bytes."""

    def __init__(self, streamed: Synchronized[int]) -> None:
        self._streamed = streamed

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the stream."""
        head = f"GET {CAMPAIGN}/stream HTTP/1.1\r\nHost: localhost\r\n"
        request = f"{head}Authorization: Bearer {TOKEN}\r\n\r\n"
        cast(asyncio.Transport, transport).write(request.encode())

    def data_received(self, data: bytes) -> None:
        """Count."""
        self._streamed.value += len(data)


async def _watch(port: int, watchers: int, streamed: Synchronized[int]) -> None:
    loop = asyncio.get_running_loop()
    for _ in range(watchers):
        await loop.create_connection(lambda: Watcher(streamed), "127.0.0.1", port)
    await asyncio.Event().wait()


def _run_watchers(port: int, watchers: int, streamed: Synchronized[int]) -> None:
    uvloop.run(_watch(port, watchers, streamed))


def _worth(made: dict[str, Any]) -> float:
    """Return the reward of a decision: better arms pay more, and all pay more after a rest."""
    delay: int = made.get("delay", 1)
    return zlib.crc32(made.get("arm", "").encode()) / 2**32 * delay / (1 + delay)


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[int(share * len(ordered))] if ordered else math.nan


def _longest_gap(times: Sequence[float]) -> float:
    return max((after - before for before, after in pairwise(times)), default=0.0)


async def _run(port: int, load: Load, streamed: Synchronized[int]) -> Waits:
    return await Clients(port, load).run(streamed)


def main() -> None:
    port, load = int(sys.argv[1]), Load(**json.loads(sys.argv[2]))
    # Watchers get megabytes at once. They are another process, so that clients need not wait.
    context = multiprocessing.get_context("fork")
    streamed = context.Value("q", 0)
    if load.watchers:
        context.Process(
            target=_run_watchers, args=(port, load.watchers, streamed), daemon=True
        ).start()
    gc.disable()  # so that no pause is this process's
    print(json.dumps(asdict(uvloop.run(_run(port, load, streamed)))))


if __name__ == "__main__":
    main()
