"""What the calls of the interface do."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from tempfile import TemporaryDirectory

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from fallow import checks
from fallow.errors import InputError
from fallow.live.decision import decision_id
from fallow.live.errors import ConflictError
from fallow.live.events import ARM, CANCEL, DECISION, FEEDBACK, REFUSAL, RETIRE, Event
from fallow.live.service.host import Host
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
from fallow.live.service.served import Done, ServedCampaign
from fallow.live.service.watching import Watched
from fallow.live.service.web import PAGE, PAGE_HEADERS, encode, json_answer, read_body
from fallow.live.settings import MAX_USER, Settings
from fallow.live.stores import StoreError

STREAM_EVERY = 1.0
"""Seconds between two messages of a stream, at least."""
BACKUP_BYTES = 2**20
"""Of a backup that are sent at a time."""
PING_SECONDS = 15.0
"""After which a silent stream sends a comment, so that no proxy takes it for dead."""

_decision_body = msgspec.json.Decoder(DecisionBody).decode
_feedback_body = msgspec.json.Decoder(FeedbackBody).decode
_batch_body = msgspec.json.Decoder(BatchBody).decode
_campaign_body = msgspec.json.Decoder(CampaignBody).decode
APPLIED, DUPLICATE = encode(StatusAnswer("applied")), encode(StatusAnswer("duplicate"))

Endpoint = Callable[[Request], Awaitable[Response]]


class Calls:
    """All calls, for one host."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._draining = asyncio.Event()
        self._watched: dict[str, Watched] = {}
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
            ("GET", "/v1/backup"): self._backup,
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
        campaign = self._host.campaigns.get(name) or await self._host.campaign(name)
        decision, is_new = await self._decision(campaign, asked)
        return 201 if is_new else 200, encode(decision)

    async def feedback(self, identity: str, body: bytes) -> tuple[int, bytes]:
        """Take in a reward."""
        reward = _feedback_body(body).reward
        campaign, number = await self._host.campaign_of(identity)
        desk = campaign.desk
        found = await self._host.do(
            campaign,
            Event(FEEDBACK, 0.0, ref=number),
            lambda: desk.feedback(number, reward, self._host.now()),
        )
        return 200, DUPLICATE if found is None else APPLIED

    async def _decision(
        self, campaign: ServedCampaign, asked: DecisionBody
    ) -> tuple[DecisionAnswer, bool]:
        """Return a decision, and whether it is new."""
        desk = campaign.desk
        if not desk.has_policy or desk.is_overdue:
            await self._host.planned(campaign)
        found = await self._host.do(
            campaign,
            Event(DECISION, 0.0, user=asked.user, key=asked.key),
            lambda: desk.decide(asked.user, asked.key, self._host.now()),
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
        campaign = await self._campaign(request)
        by_user: dict[str, list[int]] = {}
        for place, asked in enumerate(body.decisions):
            checks.name("user", asked.user, MAX_USER)
            if asked.key is not None:
                checks.name("key", asked.key, MAX_USER)
            by_user.setdefault(asked.user, []).append(place)
        answers = [BatchItem()] * len(body.decisions)
        failures: list[StoreError] = []

        async def decide_for_one(places: list[int]) -> None:
            for place in places:
                try:
                    made, _ = await self._decision(campaign, body.decisions[place])
                    answers[place] = BatchItem(made.id, made.arm, made.delay, made.expected)
                except StoreError as error:
                    failures.append(error)
                    answers[place] = BatchItem(error=str(error))
                except (InputError, ConflictError) as error:
                    answers[place] = BatchItem(error=str(error))

        await asyncio.gather(*map(decide_for_one, by_user.values()))
        if failures and len(failures) == len(answers):
            raise failures[0]  # nothing was kept, so that clients and alarms notice
        return json_answer(BatchAnswer(answers), 201)

    async def _create(self, request: Request) -> Response:
        body = _campaign_body(await read_body(request.receive))
        settings = Settings.from_document(msgspec.to_builtins(body))
        is_new, is_proved = await self._host.create(request.path_params["name"], settings)
        made = {**settings.document(), "rules_proved": is_proved}
        return json_answer(made, 201 if is_new else 200)

    async def _list(self, _request: Request) -> Response:
        campaigns = await self._host.all_campaigns()
        return json_answer(CampaignsAnswer([line_of(campaign) for campaign in campaigns]))

    async def _overview(self, request: Request) -> Response:
        content = await (await self._watch(request)).overview()
        return Response(content, media_type="application/json")

    async def _stream(self, request: Request) -> Response:
        watched = await self._watch(request)

        async def messages() -> AsyncIterator[bytes]:
            seen, sent = None, self._loop.time()
            is_over = request.method == "HEAD"
            while not (is_over or self._draining.is_set() or watched.campaign.is_dropped):
                version, content = await watched.latest()
                if version != seen:
                    seen, sent = version, self._loop.time()
                    yield b"data: " + content + b"\n\n"
                elif self._loop.time() - sent >= PING_SECONDS:
                    sent = self._loop.time()
                    yield b": ping\n\n"
                await _at_most(STREAM_EVERY, self._draining)

        return _streamed(request, messages(), "text/event-stream")

    async def _log(self, request: Request) -> Response:
        campaign = await self._campaign(request)
        after = request.query_params.get("after", "0")
        if not (after.isascii() and after.isdigit() and len(after) <= 18):
            raise InputError("after", "must be the number of an event", checks.short(after))
        name = campaign.desk.name
        pages = self._host.events(campaign, int(after))
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
        campaign, number = await self._host.campaign_of(request.path_params["id"])
        about = Event(CANCEL, 0.0, ref=number)
        return await self._done(
            campaign, about, lambda: campaign.desk.cancel(number, self._host.now())
        )

    async def _add_arm(self, request: Request) -> Response:
        campaign, arm = await self._campaign(request), _arm(request)
        about = Event(ARM, 0.0, arm=arm)
        return await self._done(
            campaign, about, lambda: campaign.desk.add_arm(arm, self._host.now())
        )

    async def _retire_arm(self, request: Request) -> Response:
        campaign, arm = await self._campaign(request), _arm(request)
        about = Event(RETIRE, 0.0, arm=arm)
        return await self._done(
            campaign, about, lambda: campaign.desk.retire_arm(arm, self._host.now())
        )

    async def _done(
        self, campaign: ServedCampaign, about: Event, request: Callable[[], Event | None]
    ) -> Response:
        found = await self._host.do(campaign, about, request)
        return Response(DUPLICATE if found is None else APPLIED, media_type="application/json")

    async def _backup(self, request: Request) -> Response:
        # The file is gone with its folder, and its content when it is closed, whatever happens.
        with TemporaryDirectory(prefix="fallow-backup-", ignore_cleanup_errors=True) as folder:
            path = os.path.join(folder, "backup.db")
            await self._host.backup(path)
            file = open(path, "rb")  # noqa: SIM115, closed by the last page

        async def pages() -> AsyncIterator[bytes]:
            with file:
                while page := await asyncio.to_thread(file.read, BACKUP_BYTES):
                    yield page

        return _streamed(request, pages(), "application/vnd.sqlite3")

    async def _health(self, _request: Request) -> Response:
        return json_answer(Health("alive"))

    async def _ready(self, _request: Request) -> Response:
        if self._host.committer.failure is not None:
            raise HTTPException(503, "events cannot be kept now; the log of the service says why")
        return json_answer(Health("ready"))

    async def _metrics(self, _request: Request) -> Response:
        campaigns = self._host.campaigns.values()
        now = self._loop.time()
        refusals = sum(campaign.desk.state.kinds[REFUSAL] for campaign in campaigns)
        waiting = sum(campaign.open for campaign in campaigns)
        age = max((now - campaign.planned_at for campaign in campaigns), default=0.0)
        text = self._host.metrics.text(
            {
                "fallow_open_decisions": ("Decisions without a reward.", waiting),
                "fallow_refusals": ("Requests that rules refused.", refusals),
                "fallow_plan_age_seconds": ("Age of the oldest plan in use.", age),
            }
        )
        return Response(text, media_type="text/plain; version=0.0.4")

    async def _openapi(self, _request: Request) -> Response:
        return json_answer(document())

    async def _page(self, _request: Request) -> Response:
        return FileResponse(PAGE / "index.html", headers=PAGE_HEADERS)

    async def _campaign(self, request: Request) -> ServedCampaign:
        return await self._host.campaign(request.path_params["name"])

    async def _watch(self, request: Request) -> Watched:
        campaign = await self._campaign(request)
        watched = self._watched.get(campaign.desk.name)
        if watched is None or watched.campaign is not campaign:  # it was loaded again
            watched = self._watched[campaign.desk.name] = Watched(self._host, campaign)
        return watched


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
