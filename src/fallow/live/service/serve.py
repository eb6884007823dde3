"""Starts and ends the service."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn

from fallow.live.service.app import Service
from fallow.live.service.demo import Demo
from fallow.live.service.driver import Driver
from fallow.live.service.protocol import Protocol
from fallow.live.service.tokens import Token
from fallow.live.service.warm import warm_up
from fallow.live.stores import Store

PATIENCE = 1
"""Seconds that requests under way have to end after a signal."""
BACKLOG = 2048
YOUNG = 10_000
"""New objects after which the garbage collector looks at them."""


@dataclass(frozen=True)
class Place:
    """Where the service listens, and by which certificate."""

    host: str
    port: int
    cert: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        if (self.cert is None) != (self.key is None):
            raise ValueError("--cert and --key must both be given, or neither, got one of them")
        if self.cert is not None:
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.cert, self.key)
            except OSError as error:
                raise ValueError(
                    f"--cert and --key must be PEM files, a certificate and its private key, got "
                    f"{self.cert} and {self.key}: {error.strerror or error}"
                ) from None

    @contextmanager
    def bound(self) -> Iterator[tuple[socket.socket, str]]:
        """Open the socket, and tell its address."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        with socket.create_server((self.host, self.port), family=family, backlog=BACKLOG) as bound:
            host = f"[{self.host}]" if ":" in self.host else self.host
            scheme = "http" if self.cert is None else "https"
            yield bound, f"{scheme}://{host}:{bound.getsockname()[1]}"


def serve(
    store: Store, tokens: list[Token], place: Place, say: Callable[[str], None], is_demo: bool
) -> None:
    """Serve the campaigns of a store until a signal comes; say the address when all is ready."""
    with asyncio.Runner(loop_factory=_new_loop) as runner:
        runner.run(_serve(store, tokens, place, say, is_demo))


def _new_loop() -> asyncio.AbstractEventLoop:
    if sys.platform == "win32":  # where there is no faster one
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


async def _serve(
    store: Store, tokens: list[Token], place: Place, say: Callable[[str], None], is_demo: bool
) -> None:
    driver = Driver(store)
    try:
        await driver.start()
        service = Service(driver, tokens)
        with place.bound() as (bound, address):
            server = _Server(_config(service, place), service)
            driver.warming = driver.spawn(warm_up(driver))
            if is_demo:
                driver.spawn(Demo(driver).run())
            _spare_the_collector()
            say(address)
            await server.serve(sockets=[bound])
    finally:
        await driver.close()


def _spare_the_collector() -> None:
    """Let the garbage collector leave alone what is there for good, and come less often.

    Going through all that was imported takes it a tenth of a second, in which nobody is answered.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG)


def _config(service: Service, place: Place) -> uvicorn.Config:
    return uvicorn.Config(
        service,
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=PATIENCE,
        ssl_certfile=place.cert,
        ssl_keyfile=place.key,
    )


class _Server(uvicorn.Server):
    """Ends streams at a signal, at the second one at once."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service
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

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002, uvicorn's
        """Begin to end."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self._loop.call_soon_threadsafe(self._service.drain)
