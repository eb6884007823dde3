"""The interface: what is called by which address, who may call it, and how it answers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from fallow.live.desk import Decision
from fallow.live.errors import ConflictError, UnknownError
from fallow.live.events import decision_id
from fallow.live.service.driver import Done, Driver, Hosted
from fallow.live.service.messages import (
    BatchAnswer,
    BatchBody,
    CampaignBody,
    CampaignsAnswer,
    DecisionAnswer,
    DecisionBody,
    FeedbackBody,
    Problem,
    StatusAnswer,
)
from fallow.live.service.overview import line_of
from fallow.live.service.tokens import ADMIN, READER, WRITER, Token, find_token
from fallow.live.service.watching import Watched
from fallow.live.settings import Settings
from fallow.live.stores import StoreError

MOST_BYTES = 1_000_000
"""Of a body."""
PAGE = Path(__file__).parent / "page"
JSON = b"application/json"
NEEDED = {"GET": READER, "HEAD": READER, "POST": WRITER}
"""The role that a method needs; admin for all others."""
STREAM_EVERY = 1.0
"""Seconds between two messages of a stream, at least."""
HEADERS = {
    "content-security-policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}
"""Of the page."""

logger = logging.getLogger("fallow.service")
encode = msgspec.json.Encoder().encode
decode_decision = msgspec.json.Decoder(DecisionBody).decode
decode_feedback = msgspec.json.Decoder(FeedbackBody).decode
decode_batch = msgspec.json.Decoder(BatchBody).decode
decode_campaign = msgspec.json.Decoder(CampaignBody).decode
APPLIED, DUPLICATE = (encode(StatusAnswer(status)) for status in ("applied", "duplicate"))

Answer = tuple[int, bytes]


class Service:
    """The application that uvicorn runs.

    Parameters
    ----------
    driver
        Who has the campaigns.
    tokens
        Who may call.
    """

    def __init__(self, driver: Driver, tokens: list[Token]) -> None:
        self._driver, self._tokens = driver, tokens
        self._draining = asyncio.Event()
        self._watched: dict[Hosted, Watched] = {}
        self._router = Router(self._routes(), redirect_slashes=False)

    def drain(self) -> None:
        """End the streams, so that the server can end."""
        self._draining.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        call = "other"
        try:
            path: str = scope["path"]
            if path.startswith("/v1/"):
                self._admit(scope)
            if scope["method"] == "POST" and path.endswith("/decisions"):
                call, name = "decide", path[14:-10]
                if path.startswith("/v1/campaigns/") and "/" not in name:
                    status, body = await self._decide(name, await read_body(receive))
                    self._driver.metrics.answers[call, status] += 1
                    await answer(send, status, body)
                    return
            elif scope["method"] == "POST" and path.endswith("/feedback"):
                call, identity = "feedback", path[14:-9]
                if path.startswith("/v1/decisions/") and "/" not in identity:
                    status, body = await self._feedback(identity, await read_body(receive))
                    self._driver.metrics.answers[call, status] += 1
                    await answer(send, status, body)
                    return
            scope["app"] = self  # Starlette then raises what it refuses
            await self._router(scope, receive, send)
        except Exception as error:
            status, headers = status_of(error)
            if status >= HTTPStatus.INTERNAL_SERVER_ERROR and not isinstance(error, StoreError):
                logger.error("an error in the service", exc_info=error)
            self._driver.metrics.answers[call, status] += 1
            message = error.detail if isinstance(error, HTTPException) else str(error)
            await answer(send, status, encode(Problem(message)), headers)

    def _admit(self, scope: Scope) -> None:
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
        if token.role < NEEDED.get(scope["method"], ADMIN):
            raise HTTPException(403, "the token must be one that may do this, got a lesser one")
        if not token.spend():
            raise HTTPException(
                429, "requests of a token must be fewer a second, see --rate", {"retry-after": "1"}
            )

    async def _decide(self, name: str, body: bytes) -> Answer:
        asked = decode_decision(body)
        hosted = await self._driver.campaign(name)
        decision, is_new = await self._decision(hosted, asked)
        return 201 if is_new else 200, encode(decision)

    async def _decision(self, hosted: Hosted, asked: DecisionBody) -> tuple[DecisionAnswer, bool]:
        desk = hosted.desk
        found: Done | Decision = await self._driver.do(
            hosted, lambda: desk.decide(asked.user, asked.key, time.time())
        )
        if isinstance(found, Done):
            number, event = found
            identity = decision_id(desk.name, number)
            return DecisionAnswer(identity, event.arm, event.delay, event.expected), True  # type: ignore[arg-type]
        return DecisionAnswer(found.id, found.arm, found.delay, found.expected), False

    async def _feedback(self, identity: str, body: bytes) -> Answer:
        reward = decode_feedback(body).reward
        hosted, number = await self._driver.campaign_of(identity)
        desk = hosted.desk
        found = await self._driver.do(hosted, lambda: desk.feedback(number, reward, time.time()))
        return 200, DUPLICATE if found is None else APPLIED

    def _routes(self) -> list[BaseRoute]:
        calls: dict[str, dict[str, Callable[[Request], Awaitable[Response]]]] = {
            "/v1/campaigns": {"GET": self._list},
            "/v1/campaigns/{name}": {"GET": self._overview, "PUT": self._create},
            "/v1/campaigns/{name}/decisions/batch": {"POST": self._decide_batch},
            "/v1/campaigns/{name}/arms/{arm:path}": {"PUT": self._add, "DELETE": self._retire},
            "/v1/campaigns/{name}/log": {"GET": self._log},
            "/v1/campaigns/{name}/stream": {"GET": self._stream},
            "/v1/decisions/{id}/cancel": {"POST": self._cancel},
            "/healthz": {"GET": self._health},
            "/readyz": {"GET": self._ready},
            "/metrics": {"GET": self._metrics},
            "/": {"GET": self._page},
        }

        def route(path: str, methods: dict[str, Any]) -> Route:
            async def dispatch(request: Request) -> Response:
                found: Response = await methods[
                    "GET" if request.method == "HEAD" else request.method
                ](request)
                return found

            return Route(path, dispatch, methods=list(methods))

        return [
            *(route(path, methods) for path, methods in calls.items()),
            Route("/v1/campaigns/{name}/decisions", self._health, methods=["POST"]),
            Mount("/page", StaticFiles(directory=PAGE, check_dir=False)),
        ]

    async def _campaign(self, request: Request) -> Hosted:
        return await self._driver.campaign(request.path_params["name"])

    async def _create(self, request: Request) -> Response:
        body = decode_campaign(await read_body(request.receive))
        settings = Settings.from_document(msgspec.to_builtins(body))
        is_new = await self._driver.create(request.path_params["name"], settings)
        return json_response(settings.document(), 201 if is_new else 200)

    async def _list(self, _request: Request) -> Response:
        lines = [line_of(hosted) for hosted in self._driver.hosted.values()]
        return json_response(CampaignsAnswer(lines))

    async def _watched_one(self, request: Request) -> Watched:
        hosted = await self._campaign(request)
        return self._watched.setdefault(hosted, Watched(self._driver, hosted))

    async def _overview(self, request: Request) -> Response:
        watched = await self._watched_one(request)
        return json_response(await watched.overview())

    async def _stream(self, request: Request) -> Response:
        watched = await self._watched_one(request)

        async def messages() -> AsyncIterator[bytes]:
            seen = None
            while not self._draining.is_set():
                if watched.version != seen:
                    seen = watched.version
                    yield b"data: " + encode(await watched.overview()) + b"\n\n"
                try:
                    await asyncio.wait_for(self._draining.wait(), STREAM_EVERY)
                except TimeoutError:
                    continue

        return StreamingResponse(
            messages(), media_type="text/event-stream", headers={"cache-control": "no-store"}
        )

    async def _log(self, request: Request) -> Response:
        hosted = await self._campaign(request)
        after = request.query_params.get("after", "0")
        if not (after.isascii() and after.isdigit() and len(after) <= 18):
            raise ValueError(f"after must be the number of an event, got {after!r}")

        async def lines() -> AsyncIterator[bytes]:
            name = hosted.desk.name
            async for page in self._driver.events(hosted, int(after)):
                yield b"".join(encode(event.document(name, seq)) + b"\n" for seq, event in page)

        return StreamingResponse(lines(), media_type="application/jsonl")

    async def _decide_batch(self, request: Request) -> Response:
        body = decode_batch(await read_body(request.receive))
        hosted = await self._campaign(request)
        answers: list[DecisionAnswer | Problem] = [Problem("")] * len(body.decisions)
        by_user: dict[str, list[int]] = {}
        for place, asked in enumerate(body.decisions):
            by_user.setdefault(asked.user, []).append(place)

        async def decide_for(places: list[int]) -> None:
            for place in places:
                try:
                    answers[place], _ = await self._decision(hosted, body.decisions[place])
                except ConflictError as error:
                    answers[place] = Problem(str(error))

        await asyncio.gather(*map(decide_for, by_user.values()))
        return json_response(BatchAnswer(answers), 201)

    async def _cancel(self, request: Request) -> Response:
        hosted, number = await self._driver.campaign_of(request.path_params["id"])
        return await self._done(hosted, lambda: hosted.desk.cancel(number, time.time()))

    async def _add(self, request: Request) -> Response:
        hosted, arm = await self._campaign(request), request.path_params["arm"]
        return await self._done(hosted, lambda: hosted.desk.add_arm(arm, time.time()))

    async def _retire(self, request: Request) -> Response:
        hosted, arm = await self._campaign(request), request.path_params["arm"]
        return await self._done(hosted, lambda: hosted.desk.retire_arm(arm, time.time()))

    async def _done(self, hosted: Hosted, request: Callable[[], Any]) -> Response:
        found = await self._driver.do(hosted, request)
        return Response(DUPLICATE if found is None else APPLIED, media_type="application/json")

    async def _health(self, _request: Request) -> Response:
        return json_response({"status": "alive"})

    async def _ready(self, _request: Request) -> Response:
        if self._driver.failure is not None:
            raise HTTPException(503, f"the last commit failed: {self._driver.failure}")
        return json_response({"status": "ready"})

    async def _metrics(self, _request: Request) -> Response:
        hosted = self._driver.hosted.values()
        now = time.monotonic()
        waiting = sum(int(each.desk.state.waiting.sum()) for each in hosted)
        age = max((now - each.planned_at for each in hosted), default=0.0)
        text = self._driver.metrics.text(
            {
                "fallow_open_decisions": ("Decisions without a reward.", waiting),
                "fallow_plan_age_seconds": ("Age of the oldest plan in use.", age),
            }
        )
        return Response(text, media_type="text/plain; version=0.0.4")

    async def _page(self, _request: Request) -> Response:
        return FileResponse(PAGE / "index.html", headers=HEADERS)


def status_of(error: Exception) -> tuple[int, dict[str, str]]:
    """Return the HTTP status for an error, and headers that go with it."""
    if isinstance(error, HTTPException):
        return error.status_code, dict(error.headers or {})
    kinds = (
        (UnknownError, 404),
        (ConflictError, 409),
        (msgspec.ValidationError, 422),
        (msgspec.DecodeError, 400),
        (UnicodeDecodeError, 400),
        (ValueError, 422),
        (StoreError, 503),
    )
    return next((status for kind, status in kinds if isinstance(error, kind)), 500), {}


async def read_body(receive: Receive) -> bytes:
    """Return the body of a request, unless it is too long."""
    message = await receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body", False) and len(body) <= MOST_BYTES:
        message = await receive()
        body += message.get("body", b"")
    if len(body) > MOST_BYTES:
        raise HTTPException(413, f"a body must have at most {MOST_BYTES:,} bytes, got more")
    return body


def json_response(content: object, status: int = 200) -> Response:
    """Return an answer in JSON."""
    return Response(encode(content), status, media_type="application/json")


async def answer(
    send: Send, status: int, body: bytes, headers: dict[str, str] | None = None
) -> None:
    """Send an answer in JSON."""
    lines = [(b"content-type", JSON), (b"content-length", b"%d" % len(body))]
    if headers:
        lines += [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": body})
