"""The service: its start and its end, who may call, and which endpoint answers a call."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Mount, Router
from starlette.types import Message, Receive, Scope, Send

from fallow.live.compile_ahead import compile_ahead
from fallow.live.service.calls import CALLS, Call
from fallow.live.service.demo import Demo
from fallow.live.service.endpoints import Endpoints
from fallow.live.service.host import Host
from fallow.live.service.http import (
    PAGE_FOLDER,
    PageFiles,
    encode,
    logger,
    read_body,
    refusal,
)
from fallow.live.service.messages import ErrorAnswer
from fallow.live.service.server import Address, listen, run
from fallow.live.service.tokens import ADMIN, Token, find_token
from fallow.live.stores import Store, StoreError
from fallow.text import visible

NOWHERE = "the address must be one of those in /openapi.json"
SWITCH_SECONDS = 0.0005
"""After this time, a thread that plans lets the event loop go on."""
YOUNG_OBJECTS = 10_000
"""New objects after which the garbage collector looks at them."""


class Service:
    """What uvicorn runs.

    Parameters
    ----------
    host
        Has the campaigns.
    tokens
        Who may call.
    """

    def __init__(self, host: Host, tokens: list[Token]) -> None:
        self._tokens, self._count = tokens, host.metrics.answers
        self._endpoints = Endpoints(host)
        self.drain = self._endpoints.drain
        in_order = sorted(CALLS, key=lambda call: not call.is_frequent)
        self._calls = [
            (call, call.pattern, getattr(self._endpoints, call.endpoint)) for call in in_order
        ]
        self._page = Router([Mount("/page", PageFiles(directory=PAGE_FOLDER, check_dir=False))])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path, method, kind = scope["path"], scope["method"], "other"
        try:
            found = self._find("GET" if method == "HEAD" else method, path)
            if path.startswith("/v1/"):
                self._admit(scope, _role_of(method) if found is None else found[0].role)
            if found is None:
                await self._answer_others(scope, receive, send)
                return
            call, parts, endpoint = found
            if call.is_frequent:
                kind = call.metric
                status, body = await endpoint(*parts.values(), await read_body(receive))
                await self._answer(send, kind, status, body)
            else:
                scope["path_params"] = parts
                response = await endpoint(Request(scope, receive))
                await response(scope, receive, self._counted(send))
        except Exception as error:
            if scope.get("is_streaming"):
                if not isinstance(error, StoreError):
                    raise
                logger.error("a log or stream broke off: %s", visible(str(error)))
                return  # the server cuts the connection, as all other answers would look complete
            status, message, headers = refusal(error, NOWHERE)
            await self._answer(send, kind, status, encode(ErrorAnswer(message)), headers)

    def _find(self, method: str, path: str) -> tuple[Call, dict[str, str], Any] | None:
        """Return a call, the variable parts of its path, and what answers it."""
        for call, pattern, endpoint in self._calls:
            if call.method == method and (match := pattern.fullmatch(path)) is not None:
                return call, match.groupdict(), endpoint
        return None

    async def _answer_others(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a file of the page, or refuse an address or a method."""
        known = {
            call.method for call, pattern, _ in self._calls if pattern.fullmatch(scope["path"])
        }
        if known:
            allowed = known | {"HEAD"} if "GET" in known else known
            raise HTTPException(405, headers={"Allow": ", ".join(sorted(allowed))})
        scope["app"] = self  # so that Starlette raises what it refuses
        await self._page(scope, receive, self._counted(send))

    def _admit(self, scope: Scope, role: int | None) -> None:
        """Check the token of a request, and what it may do."""
        given = b""
        for name, value in scope["headers"]:
            if name == b"authorization":
                given = value
        scheme, _, secret = given.partition(b" ")
        token = find_token(self._tokens, secret.strip()) if scheme.lower() == b"bearer" else None
        if token is None:
            raise HTTPException(
                401,
                "a request must have the header 'Authorization: Bearer TOKEN' with a known token",
                {"www-authenticate": "Bearer"},
            )
        if role is not None and token.role < role:
            raise HTTPException(403, "the role of this token does not allow this request")
        if not token.spend():
            raise HTTPException(
                429,
                "too many requests with this token; the limit is set by --rate",
                {"retry-after": "1"},
            )

    def _counted(self, send: Send) -> Send:
        """Return a way to send that counts answers."""

        async def send_and_count(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._count["other", message["status"]] += 1
            await send(message)

        return send_and_count

    async def _answer(
        self,
        send: Send,
        kind: str,
        status: int,
        body: bytes,
        headers: dict[str, str] | None = None,
    ) -> None:
        self._count[kind, status] += 1
        lines = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
        ]
        if headers:
            lines += [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": lines})
        await send({"type": "http.response.body", "body": body})


def _role_of(method: str) -> int:
    """Return the role for an address that is not known: the least that any call needs."""
    alike = "GET" if method == "HEAD" else method
    roles = (call.role for call in CALLS if call.method == alike and call.role is not None)
    return min(roles, default=ADMIN)


def serve(
    store: Store,
    tokens: list[Token],
    address: Address,
    announce: Callable[[str], None],
    is_demo: bool,
) -> None:
    """Serve the campaigns of a store until a signal comes; announce the URL when it listens."""

    async def whole() -> None:
        host = Host(store)
        service = Service(host, tokens)

        def begin(url: str) -> None:
            host.compiling = host.background.spawn(compile_ahead())
            host.start()
            if is_demo:
                host.background.spawn(Demo(host).run())
            host.background.spawn(_spare_the_collector())
            announce(url)

        try:
            await listen(service, address, begin, service.drain)
        finally:
            await host.close()

    run(whole())


async def _spare_the_collector() -> None:
    """Let the garbage collector skip what stays for good, and run less often.

    Going through everything that was imported takes it a tenth of a second, in which no request is
    answered.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
    sys.setswitchinterval(SWITCH_SECONDS)  # so that requests do not wait long for a plan
