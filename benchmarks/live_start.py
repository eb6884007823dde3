"""How long is the service away when it is started again?"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.ratios import REPEATS, Ratio, spread
from benchmarks.section import Section
from benchmarks.startup import python
from fallow import Campaign
from fallow.live.settings import CampaignSettings
from fallow.live.stores import open_store

Request = tuple[str, str, Mapping[str, Any]]
"""A method, a path and a body."""

TOKEN = "a-token-of-the-benchmark"
PATIENCE = 600.0
"""Seconds after which a start has failed."""
PAUSE = 0.01
"""Seconds after which a request that was refused for now is made again."""
LARGE = {"arms": [f"arm {number}" for number in range(1000)], "max_delay": 10}
SMALL = {"arms": ["hymn", "waltz", "polka"], "max_delay": 10}
MANY = 10_000
USERS = 20
IMPORT = "`import fallow.live`"
LISTENING = "listening"
FEW_STORE, MANY_STORE = "one campaign of 1,000 arms and one of 3", f"{MANY:,} campaigns of 3 arms"
PUT = "a new campaign of 1,000 arms is made"
REACHES = {
    (FEW_STORE, LISTENING): "2 s",
    (FEW_STORE, "3 arms decide"): "3 s",
    (FEW_STORE, "1,000 arms decide"): "8 s",
    (FEW_STORE, PUT): "3 s",
    (MANY_STORE, LISTENING): "2 s",
}


def measure() -> Section:
    requests: dict[str, dict[str, Request]] = {
        FEW_STORE: {
            "3 arms decide": ("POST", "/v1/campaigns/small/decisions", {"user": "ann"}),
            "1,000 arms decide": ("POST", "/v1/campaigns/large/decisions", {"user": "ann"}),
            PUT: ("PUT", "/v1/campaigns/new", LARGE),
        },
        MANY_STORE: {
            "the last one decides": (
                "POST",
                f"/v1/campaigns/small-{MANY - 1}/decisions",
                {"user": "ann"},
            ),
        },
    }
    subprocess.run([sys.executable, "-m", "fallow.live.compile_ahead"], check=True)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tokens").touch(mode=0o600)
        (folder / "tokens").write_text(TOKEN)
        _write_few(folder / "few.db")
        _write_many(folder / "many.db")
        for store, file in ((FEW_STORE, "few.db"), (MANY_STORE, "many.db")):
            times: dict[str, list[float]] = {}
            for _ in range(REPEATS):
                begun = time.perf_counter()
                python("import fallow.live")
                times.setdefault(IMPORT, []).append(time.perf_counter() - begun)
                for event, seconds in _start(folder, file, requests[store]).items():
                    times.setdefault(event, []).append(seconds)
            rows += [
                (
                    store,
                    event,
                    REACHES.get((store, event), ""),
                    spread(taken),
                    str(Ratio.of(times[IMPORT], taken)),
                )
                for event, taken in times.items()
            ]
    return Section(
        "Starting the service again",
        ("Store", "Until", "Reach", "Measured", f"times as fast as {IMPORT}"),
        rows,
        f"Seconds from the start of a process, {REPEATS} starts each, on a copy of a SQLite file, "
        f"with delays up to 10 and the kernels in the cache. {LISTENING.capitalize()} means that "
        "`/healthz` answers; from then on all else is asked for at once, and again while the "
        f"answer is 503. {IMPORT} is a whole process, too.",
    )


def _write_few(path: Path) -> None:
    for name, settings in (("large", LARGE), ("small", SMALL)):
        with Campaign.open(f"sqlite:///{path}", name, **settings) as campaign:  # type: ignore[arg-type]
            for number in range(USERS):
                decision = campaign.decide(f"user {number}")
                if number % 2:
                    campaign.feedback(decision.id, 0.5)


def _write_many(path: Path) -> None:
    settings = CampaignSettings.from_document(SMALL).to_json()
    with closing(open_store(f"sqlite:///{path}", durable=False)) as store:
        for number in range(MANY):
            store.create(f"small-{number}", settings)


def _start(folder: Path, file: str, requests: Mapping[str, Request]) -> dict[str, float]:
    """Return the seconds until a new process listens, and until it first answers requests."""
    copy = folder / "copy.db"
    shutil.copy(folder / file, copy)
    try:
        return asyncio.run(asyncio.wait_for(_first_answers(folder, copy, requests), PATIENCE))
    finally:
        for left in folder.glob("copy.db*"):
            left.unlink()


async def _first_answers(
    folder: Path, store: Path, requests: Mapping[str, Request]
) -> dict[str, float]:
    begun = time.perf_counter()
    with _service(store, folder / "tokens") as process:
        assert process.stdout is not None
        line = await asyncio.to_thread(process.stdout.readline)
        port = int(line.rpartition(":")[2])

        async def seconds_until(request: Request) -> float:
            while await _status(port, *request) == 503:
                await asyncio.sleep(PAUSE)
            return time.perf_counter() - begun

        listening = await seconds_until(("GET", "/healthz", {}))
        answers = await asyncio.gather(*map(seconds_until, requests.values()))
    return {LISTENING: listening, **dict(zip(requests, answers, strict=True))}


async def _status(port: int, method: str, path: str, body: Mapping[str, Any]) -> int:
    """Return the status of an answer: 2xx or 503."""
    content = json.dumps(body).encode() if method != "GET" else b""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        "Connection: close\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.encode() + content)
    answer = (await reader.read()).decode()
    writer.close()
    status = int(answer.split()[1])
    assert status == 503 or 200 <= status < 300, answer
    return status


@contextmanager
def _service(store: Path, tokens: Path) -> Iterator[subprocess.Popen[str]]:
    options = ("--port", "0", "--store", f"sqlite:///{store}", "--token-file", str(tokens))
    process = subprocess.Popen(
        [sys.executable, "-m", "fallow", "serve", *options], stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()
