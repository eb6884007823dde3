"""What the calls of the interface do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from fallow import checks
from fallow.live.decision import decision_id
from fallow.live.events import Event
from fallow.live.service.driver import Driver
from fallow.live.service.hosted import Done, Hosted
from fallow.live.service.messages import (
    BatchAnswer,
    BatchBody,
    BatchItem,
    CampaignBody,
    CampaignsAnswer,
    DecisionAnswer,
    DecisionBody,
    FeedbackBody,
    Health,
    StatusAnswer,
)
from fallow.live.service.openapi import CALLS, document
from fallow.live.service.overview import line_of
from fallow.live.service.watching import Watched
from fallow.live.service.web import PAGE, PAGE_HEADERS, encode, json_answer, read_body
from fallow.live.settings import MAX_USER, Settings
from fallow.live.stores import StoreError

STREAM_EVERY = 1.0
"""Seconds between two messages of a stream, at least."""
PING_SECONDS = 15.0
"""After which a silent stream sends a comment, so that no proxy takes it for dead."""

_decision_body = msgspec.json.Decoder(DecisionBody).decode
_feedback_body = msgspec.json.Decoder(FeedbackBody).decode
_batch_body = msgspec.json.Decoder(BatchBody).decode
_campaign_body = msgspec.json.Decoder(CampaignBody).decode
APPLIED, DUPLICATE = encode(StatusAnswer("applied")), encode(StatusAnswer("duplicate"))

Endpoint = Callable[[Request], Awaitable[Response]]


class Calls:
    """All calls, for one driver."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._draining = asyncio.Event()
        self._watched: dict[Hosted, Watched] = {}
        self._handlers: dict[tuple[str, str], Endpoint] = {
            ("GET", "/v1/campaigns"): self._list,
            ("GET", "/v1/campaigns/{name}"): self._overview,
            ("PUT", "/v1/campaigns/{name}"): self._create,
            ("POST", "/v1/campaigns/{name}/decisions/batch"): self._decide_batch,
            ("PUT", "/v1/campaigns/{name}/arms/{arm}"): self._add_arm,
            ("DELETE", "/v1/campaigns/{name}/arms/{arm}"): self._retire_arm,
            ("GET", "/v1/campaigns/{name}/log"): self._log,
            ("GET", "/v1/campaigns/{name}/stream"): self._stream,
            ("POST", "/v1/decisions/{id}/cancel"): self._cancel,
            ("GET", "/healthz"): self._health,
            ("GET", "/readyz"): self._ready,
            ("GET", "/metrics"): self._metrics,
            ("GET", "/openapi.json"): self._openapi,
            ("GET", "/"): self._page,
        }

    def endpoints(self) -> Iterator[tuple[str, list[str], Endpoint]]:
        """Yield each address with its methods and what answers them."""

        async def answer(request: Request, path: str) -> Response:
            method = "GET" if request.method == "HEAD" else request.method
            return await self._handlers[method, path](request)

        for path, methods in CALLS.items():

            async def endpoint(request: Request, path: str = path) -> Response:
                return await answer(request, path)

            yield path, list(methods), endpoint

    def drain(self) -> None:
        """End the streams, so that the server can end."""
        self._draining.set()

    async def decide(self, name: str, body: bytes) -> tuple[int, bytes]:
        """Decide for a user."""
        asked = _decision_body(body)
        hosted = self._driver.hosted.get(name) or await self._driver.campaign(name)
        decision, is_new = await self._decision(hosted, asked)
        return 201 if is_new else 200, encode(decision)

    async def feedback(self, identity: str, body: bytes) -> tuple[int, bytes]:
        """Take in a reward."""
        reward = _feedback_body(body).reward
        hosted, number = await self._driver.campaign_of(identity)
        desk = hosted.desk
        found = await self._driver.do(hosted, lambda: desk.feedback(number, reward, time.time()))
        return 200, DUPLICATE if found is None else APPLIED

    async def _decision(self, hosted: Hosted, asked: DecisionBody) -> tuple[DecisionAnswer, bool]:
        """Return a decision, and whether it is new."""
        desk = hosted.desk
        if desk.is_overdue and hosted.planning is not None:
            await asyncio.wait([hosted.planning])
        found = await self._driver.do(
            hosted, lambda: desk.decide(asked.user, asked.key, time.time())
        )
        if not isinstance(found, Done):
            return DecisionAnswer(found.id, found.arm, found.delay, found.expected), False
        event = found.event
        assert event.arm is not None
        assert event.delay is not None
        assert event.expected is not None
        identity = decision_id(desk.name, found.number)
        return DecisionAnswer(identity, event.arm, event.delay, event.expected), True

    async def _decide_batch(self, request: Request) -> Response:
        body = _batch_body(await read_body(request.receive))
        hosted = await self._campaign(request)
        by_user: dict[str, list[int]] = {}
        for place, asked in enumerate(body.decisions):
            checks.name("user", asked.user, MAX_USER)
            if asked.key is not None:
                checks.name("key", asked.key, MAX_USER)
            by_user.setdefault(asked.user, []).append(place)
        answers = [BatchItem()] * len(body.decisions)

        async def decide_for_one(places: list[int]) -> None:
            for place in places:
                try:
                    made, _ = await self._decision(hosted, body.decisions[place])
                    answers[place] = BatchItem(made.id, made.arm, made.delay, made.expected)
                except (ValueError, StoreError) as error:
                    answers[place] = BatchItem(error=str(error))

        await asyncio.gather(*map(decide_for_one, by_user.values()))
        return json_answer(BatchAnswer(answers), 201)

    async def _create(self, request: Request) -> Response:
        body = _campaign_body(await read_body(request.receive))
        settings = Settings.from_document(msgspec.to_builtins(body))
        is_new = await self._driver.create(request.path_params["name"], settings)
        return json_answer(settings.document(), 201 if is_new else 200)

    async def _list(self, _request: Request) -> Response:
        campaigns = await self._driver.campaigns()
        return json_answer(CampaignsAnswer([line_of(hosted) for hosted in campaigns]))

    async def _overview(self, request: Request) -> Response:
        return json_answer(await (await self._watch(request)).overview())

    async def _stream(self, request: Request) -> Response:
        watched = await self._watch(request)

        async def messages() -> AsyncIterator[bytes]:
            seen, sent = None, time.monotonic()
            while request.method != "HEAD" and not self._draining.is_set():
                watched.refresh()
                if watched.version != seen:
                    seen = watched.version
                    yield b"data: " + encode(await watched.overview()) + b"\n\n"
                    sent = time.monotonic()
                elif time.monotonic() - sent >= PING_SECONDS:
                    yield b": ping\n\n"
                    sent = time.monotonic()
                await _at_most(STREAM_EVERY, self._draining)

        return _streamed(request, messages(), "text/event-stream")

    async def _log(self, request: Request) -> Response:
        hosted = await self._campaign(request)
        after = request.query_params.get("after", "0")
        if not (after.isascii() and after.isdigit() and len(after) <= 18):
            raise ValueError(f"after must be the number of an event, got {checks.short(after)}")
        name = hosted.desk.name
        pages = self._driver.events(hosted, int(after))
        first: list[tuple[int, Event]] = await anext(
            pages, []
        )  # a store that is away is told before the answer begins

        async def lines() -> AsyncIterator[bytes]:
            page: list[tuple[int, Event]] | None = first
            while page:
                yield b"".join(encode(event.document(name, seq)) + b"\n" for seq, event in page)
                page = await anext(pages, None)

        return _streamed(request, lines(), "application/jsonl")

    async def _cancel(self, request: Request) -> Response:
        hosted, number = await self._driver.campaign_of(request.path_params["id"])
        return await self._done(hosted, lambda: hosted.desk.cancel(number, time.time()))

    async def _add_arm(self, request: Request) -> Response:
        hosted, arm = await self._campaign(request), _arm(request)
        return await self._done(hosted, lambda: hosted.desk.add_arm(arm, time.time()))

    async def _retire_arm(self, request: Request) -> Response:
        hosted, arm = await self._campaign(request), _arm(request)
        return await self._done(hosted, lambda: hosted.desk.retire_arm(arm, time.time()))

    async def _done(self, hosted: Hosted, request: Callable[[], Event | None]) -> Response:
        found = await self._driver.do(hosted, request)
        return Response(DUPLICATE if found is None else APPLIED, media_type="application/json")

    async def _health(self, _request: Request) -> Response:
        return json_answer(Health("alive"))

    async def _ready(self, _request: Request) -> Response:
        if self._driver.failure is not None:
            raise HTTPException(503, "events cannot be kept now; the log of the service says why")
        return json_answer(Health("ready"))

    async def _metrics(self, _request: Request) -> Response:
        campaigns = self._driver.hosted.values()
        now = time.monotonic()
        waiting = sum(hosted.open for hosted in campaigns)
        age = max((now - hosted.planned_at for hosted in campaigns), default=0.0)
        text = self._driver.metrics.text(
            {
                "fallow_open_decisions": ("Decisions without a reward.", waiting),
                "fallow_plan_age_seconds": ("Age of the oldest plan in use.", age),
            }
        )
        return Response(text, media_type="text/plain; version=0.0.4")

    async def _openapi(self, _request: Request) -> Response:
        return json_answer(document())

    async def _page(self, _request: Request) -> Response:
        return FileResponse(PAGE / "index.html", headers=PAGE_HEADERS)

    async def _campaign(self, request: Request) -> Hosted:
        return await self._driver.campaign(request.path_params["name"])

    async def _watch(self, request: Request) -> Watched:
        hosted = await self._campaign(request)
        return self._watched.setdefault(hosted, Watched(self._driver, hosted))


def _arm(request: Request) -> str:
    """Return the arm in an address, of which Starlette would leave out a last line break."""
    path: str = request.scope["path"]
    return path.split("/", 5)[5]  # /v1/campaigns/{name}/arms/{arm}


def _streamed(request: Request, content: AsyncIterator[bytes], kind: str) -> Response:
    request.scope["is_streaming"] = True
    return StreamingResponse(content, media_type=kind, headers={"cache-control": "no-store"})


async def _at_most(seconds: float, event: asyncio.Event) -> None:
    """Wait for an event, but not for long."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return
