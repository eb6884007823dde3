"""Servers in processes of their own, and a client for them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

TOKEN = "a token of the benchmark".replace(" ", "-")
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
        self.port = int(process.stdout.readline().split()[1].rpartition(":")[2])

    def seconds(self) -> float:
        """Return the processor time that it has taken."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def started_echo() -> Iterator[Server]:
    """Start a server that returns what it gets, with what the service answers HTTP by."""
    with _started("-c", ECHO_SERVER) as server:
        yield server


@contextmanager
def started_service(folder: Path, store: str, *options: str) -> Iterator[Server]:
    """Start `fallow serve` with a store, and with its token in a folder."""
    tokens = folder / "tokens"
    tokens.touch(mode=0o600)
    tokens.write_text(TOKEN)
    command = ("-m", "fallow", "serve", "--port", "0", "--token-file", str(tokens))
    with _started(*command, "--store", store, *options) as server:
        yield server


@contextmanager
def _started(*words: str) -> Iterator[Server]:
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True)
    try:
        yield Server(process)
    finally:
        process.terminate()
        process.communicate()


class Connection(asyncio.Protocol):
    """A connection that stays open, for one request at a time.

    Attributes
    ----------
    answered
        When the last answer was complete, by the monotonic clock.
    """

    def __init__(self) -> None:
        self.answered = 0.0
        self._received = b""
        self._answer: asyncio.Future[tuple[bytes, bytes]] | None = None

    @classmethod
    async def open(cls, port: int) -> Connection:
        """Connect to a server of this machine."""
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(cls, "127.0.0.1", port)
        return connection

    async def ask(
        self, method: str, path: str, body: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the answer to a request, which must be granted; none counts as empty."""
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        coming: asyncio.Future[tuple[bytes, bytes]] = asyncio.get_running_loop().create_future()
        self._answer = coming
        self._transport.write(head.encode() + content)
        head_of_answer, content = await coming
        assert head_of_answer.startswith(b"HTTP/1.1 20"), (path, content)
        answer: dict[str, Any] = json.loads(content) if content else {}
        return answer

    def close(self) -> None:
        """End the connection."""
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep where requests are written."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is not derived from it

    def data_received(self, data: bytes) -> None:
        """Collect an answer until it is complete."""
        self._received += data
        head, is_headed, content = self._received.partition(b"\r\n\r\n")
        if is_headed:
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r")[0]
            if len(content) >= int(length) and self._answer is not None:
                self.answered = time.monotonic()
                self._received = b""
                self._answer.set_result((head, content))

    def connection_lost(self, error: Exception | None) -> None:
        """Let a request that waits fail."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error or ConnectionError("the server hung up"))
