"""How many requests does the service answer in a second of its processor time?"""

from __future__ import annotations

import asyncio
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks.postgres import is_installed, run_postgres
from benchmarks.ratios import Ratio
from benchmarks.section import Section
from benchmarks.servers import Connection, Server, started_echo, started_service

CONNECTIONS = 64
REPEATS, SECONDS = 10, 2.0
"""Measurements of a server, and how long each takes; one before them is not counted."""
USERS = 50
"""Of each connection."""
CAMPAIGN = {"arms": [f"arm {number}" for number in range(7)], "max_delay": 6}
ECHO = "uvicorn, echo"
REACHES = {"memory": ".45", "SQLite": ".30", "SQLite, durable": "", "PostgreSQL": ".25"}


def processor_time(server: Server) -> float:
    """Return the processor time of a server for a request, in seconds."""
    before, count = server.seconds(), asyncio.run(_load(server.port))
    return (server.seconds() - before) / count


async def _load(port: int) -> int:
    first = await Connection.open(port)
    await first.ask("PUT", "/v1/campaigns/load", CAMPAIGN)
    first.close()
    until = time.monotonic() + SECONDS
    clients = (_client(port, number, until) for number in range(CONNECTIONS))
    return sum(await asyncio.gather(*clients))


async def _client(port: int, number: int, until: float) -> int:
    """Decide and report in turns, and return how many requests that were."""
    connection, count = await Connection.open(port), 0
    while time.monotonic() < until:
        user = {"user": f"user {number} {count % USERS}"}
        answer = await connection.ask("POST", "/v1/campaigns/load/decisions", user)
        path = f"/v1/decisions/{answer.get('id', 'load-1')}/feedback"
        await connection.ask("POST", path, {"reward": 0.5})
        count += 2
    connection.close()
    return count


def measure() -> Section:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stores: dict[str, tuple[str, ...]] = {
            "memory": ("memory:",),
            "SQLite": (f"sqlite:///{folder}/normal.db",),
            "SQLite, durable": (f"sqlite:///{folder}/full.db", "--durable"),
        }
        if is_installed():
            stores["PostgreSQL"] = (stack.enter_context(run_postgres()).url,)
        servers = {ECHO: stack.enter_context(started_echo())}
        for name, words in stores.items():
            servers[name] = stack.enter_context(started_service(folder, *words))
        times: dict[str, list[float]] = {name: [] for name in servers}
        for _ in range(1 + REPEATS):
            for name, server in servers.items():
                times[name].append(processor_time(server))
    rows = []
    for name, taken in times.items():
        ratio = Ratio.of(times[ECHO][1:], taken[1:])
        rows.append((name, REACHES.get(name, ""), f"{1 / min(taken[1:]):,.0f}", str(ratio)))
    return Section(
        "Requests to the service",
        ("Server", "Reach", "Requests a processor-second, at best", f"of {ECHO}"),
        rows,
        f"{CONNECTIONS} connections that stay open, decisions and feedback in turns, "
        f"{SECONDS:g} s each, {REPEATS} times in turns after a first one. Processor time of the "
        "server's process with all its threads, so planning counts, too: most of it in the first "
        "seconds, when each reward teaches much. The echo is uvicorn with httptools and uvloop, as "
        "the service has it, and returns the body.",
    )
