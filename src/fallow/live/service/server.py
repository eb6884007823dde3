"""How a server listens, reads HTTP, and ends."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from fallow import checks
from fallow.errors import InputError

SHUTDOWN_SECONDS = 1
"""Seconds that requests under way have to end after a signal."""
CUT_SECONDS = 0.8
"""After which connections are cut, before uvicorn cancels requests and logs their tracebacks."""
BACKLOG = 2048
MOST_HEADER_BYTES = 65_536
"""Bytes of headers; what comes at once, up to 256 kB, is read all the same."""
BAD_REQUEST = (
    b'{"error":"a request must be HTTP/1.1, with headers of at most %d bytes"}' % MOST_HEADER_BYTES
)


@dataclass(frozen=True)
class Address:
    """Where a server listens, and with which certificate."""

    host: str
    port: int
    cert: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        checks.whole_number("--port", self.port, minimum=0, maximum=65_535)
        if (self.cert is None) != (self.key is None):
            raise InputError("--cert and --key", "must both be given, or neither", "one of them")
        if self.cert is not None:
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.cert, self.key)
            except OSError as error:
                raise InputError(
                    "--cert and --key",
                    "must be PEM files, a certificate and its private key",
                    f"{self.cert} and {self.key}: {error.strerror or error}",
                ) from None

    @contextmanager
    def bound(self) -> Iterator[tuple[socket.socket, str]]:
        """Open the socket, and return it with its URL."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            server = socket.create_server((self.host, self.port), family=family, backlog=BACKLOG)
        except OSError as error:
            is_name = isinstance(error, socket.gaierror) or error.errno is None
            reason = error.strerror if is_name else os.strerror(error.errno or 0)
            raise InputError(
                "the address",
                "must be one of this machine with a port that is free",
                f"{self.host} and port {self.port}: {reason}; --port 0 takes a free one",
            ) from None
        with server as bound:
            host = f"[{self.host}]" if ":" in self.host else self.host
            scheme = "http" if self.cert is None else "https"
            yield bound, f"{scheme}://{host}:{bound.getsockname()[1]}"


def run(server: Coroutine[object, object, None]) -> None:
    """Run a server until its end, on the fastest event loop available."""
    with asyncio.Runner(loop_factory=_new_loop) as runner:
        runner.run(server)


async def listen(
    app: ASGIApp, address: Address, announce: Callable[[str], None], drain: Callable[[], None]
) -> None:
    """Serve an application until a signal comes, at which its streams are drained.

    The URL is announced when the socket is open, so requests are answered from then on.
    """
    with address.bound() as (bound, url):
        server = _Server(_config(app, address), drain)
        announce(url)
        await server.serve(sockets=[bound])


def _new_loop() -> asyncio.AbstractEventLoop:
    if sys.platform == "win32":  # which has no faster one
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


def _config(app: ASGIApp, address: Address) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        ssl_certfile=address.cert,
        ssl_keyfile=address.key,
    )


class _Server(uvicorn.Server):
    """Ends streams at a signal, at the second one at once."""

    def __init__(self, config: uvicorn.Config, drain: Callable[[], None]) -> None:
        super().__init__(config)
        self._drain = drain
        self._loop = asyncio.get_running_loop()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals; one that ended the service is not sent again."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End; clients that neither send their request nor read its answer are not waited for."""
        self._loop.call_later(CUT_SECONDS, self._cut)
        await super().shutdown(sockets)

    def _cut(self) -> None:
        for connection in self.server_state.connections:
            connection.transport.abort()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002, uvicorn's
        """Begin to end."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self._loop.call_soon_threadsafe(self._drain)


class Protocol(HttpToolsProtocol):
    """Refuses headers that do not end, and in JSON what is not HTTP."""

    _unfinished = 0
    """Bytes that came since headers began."""

    def data_received(self, data: bytes) -> None:
        """Take in what came."""
        super().data_received(data)
        if self.cycle is not None and self.cycle.scope is self.scope:
            self._unfinished = 0  # the headers of the latest request are complete
            return
        self._unfinished += len(data)
        if self._unfinished > MOST_HEADER_BYTES and not self.transport.is_closing():
            self.send_400_response("")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take in a header, but not `Range`: files are small and sent whole."""
        if name.lower() != b"range":
            super().on_header(name, value)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002, uvicorn's
        """Refuse a request, and close the connection."""
        head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[400] + head % len(BAD_REQUEST) + BAD_REQUEST)
        self.transport.close()
