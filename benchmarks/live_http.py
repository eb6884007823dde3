"""How many requests does the service answer in a second of its processor time?"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.postgres import is_installed, run_postgres
from benchmarks.ratios import Ratio
from benchmarks.section import Section

CONNECTIONS = 64
REPEATS, SECONDS = 10, 2.0
"""Measurements of a server, and how long each takes; one before them is not counted."""
USERS = 50
"""Of each connection."""
CAMPAIGN = {"arms": [f"arm {number}" for number in range(7)], "max_delay": 6}
TOKEN = "a token of the benchmark".replace(" ", "-")
ECHO = "uvicorn, echo"
REACHES = {"memory": ".45", "SQLite": ".30", "SQLite, durable": "", "PostgreSQL": ".25"}
ECHO_SERVER = """
import socket, uvicorn

async def echo(scope, receive, send):
    body = (await receive())["body"]
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})

bound = socket.create_server(("127.0.0.1", 0), backlog=2048)
print(f"serving http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
config = uvicorn.Config(
    echo, http="httptools", loop="uvloop", ws="none", lifespan="off", log_config=None,
    access_log=False, server_header=False, proxy_headers=False,
)
uvicorn.Server(config).run([bound])
"""


class Server:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self._process = process
        self._port = int(process.stdout.readline().split()[1].rpartition(":")[2])

    def measure(self) -> float:
        """Return the processor time of the server for a request, in seconds."""
        before, count = self._seconds(), asyncio.run(self._load())
        return (self._seconds() - before) / count

    def _seconds(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def _load(self) -> int:
        await self._ask(*await self._connect(), "PUT", "/v1/campaigns/load", CAMPAIGN)
        until = time.monotonic() + SECONDS
        return sum(
            await asyncio.gather(*(self._client(number, until) for number in range(CONNECTIONS)))
        )

    async def _client(self, number: int, until: float) -> int:
        """Decide and report in turns, and return how many requests that were."""
        connection, count = await self._connect(), 0
        while time.monotonic() < until:
            user = {"user": f"user {number} {count % USERS}"}
            answer = await self._ask(*connection, "POST", "/v1/campaigns/load/decisions", user)
            path = f"/v1/decisions/{answer.get('id', 'load-1')}/feedback"
            await self._ask(*connection, "POST", path, {"reward": 0.5})
            count += 2
        connection[1].close()
        return count

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._port)

    async def _ask(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        method: str,
        path: str,
        body: dict[str, Any],
    ) -> dict[str, Any]:
        content = json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        writer.write(head.encode() + content)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        found: dict[str, Any] = json.loads(await reader.readexactly(length))
        assert answer.startswith(b"HTTP/1.1 20"), found
        return found


@contextmanager
def _started(*words: str) -> Iterator[Server]:
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True)
    try:
        yield Server(process)
    finally:
        process.terminate()
        process.communicate()


def measure() -> Section:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        tokens = folder / "tokens"
        tokens.touch(mode=0o600)
        tokens.write_text(TOKEN)
        stores: dict[str, tuple[str, ...]] = {
            "memory": ("memory:",),
            "SQLite": (f"sqlite:///{folder}/normal.db",),
            "SQLite, durable": (f"sqlite:///{folder}/full.db", "--durable"),
        }
        if is_installed():
            stores["PostgreSQL"] = (stack.enter_context(run_postgres()).url,)
        options = ("-m", "fallow.cli", "serve", "--port", "0", "--token-file", str(tokens))
        servers = {ECHO: stack.enter_context(_started("-c", ECHO_SERVER))}
        for name, words in stores.items():
            servers[name] = stack.enter_context(_started(*options, "--store", *words))
        times: dict[str, list[float]] = {name: [] for name in servers}
        for _ in range(1 + REPEATS):
            for name, server in servers.items():
                times[name].append(server.measure())
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
