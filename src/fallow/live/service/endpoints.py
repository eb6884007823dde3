"""What the calls of the interface do; `calls` has their table."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from tempfile import TemporaryDirectory

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from fallow import checks
from fallow.errors import InputError
from fallow.live.errors import ConflictError
from fallow.live.events import ARM, CANCEL, DECISION, FEEDBACK, REFUSAL, RETIRE, Event, decision_id
from fallow.live.service.committer import Done, ServedCampaign
from fallow.live.service.host import Host
from fallow.live.service.http import PAGE_FOLDER, PAGE_HEADERS, encode, json_answer, read_body
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
from fallow.live.service.openapi import document
from fallow.live.service.overview import OverviewFeed, line_of
from fallow.live.settings import MAX_USER, CampaignSettings
from fallow.live.stores import StoreError

BACKUP_BYTES = 2**20
"""Bytes of a backup that are sent at a time."""

_decision_body = msgspec.json.Decoder(DecisionBody).decode
_feedback_body = msgspec.json.Decoder(FeedbackBody).decode
_batch_body = msgspec.json.Decoder(BatchBody).decode
_campaign_body = msgspec.json.Decoder(CampaignBody).decode
APPLIED, DUPLICATE = encode(StatusAnswer("applied")), encode(StatusAnswer("duplicate"))


class Endpoints:
    """What answers each call, for one host."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._draining = asyncio.Event()
        self._feeds: dict[str, OverviewFeed] = {}

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
        decider = campaign.decider
        found = await self._host.do(
            campaign,
            Event(FEEDBACK, 0.0, ref=number),
            lambda: decider.feedback(number, reward, self._host.now()),
        )
        return 200, DUPLICATE if found is None else APPLIED

    async def _decision(
        self, campaign: ServedCampaign, asked: DecisionBody
    ) -> tuple[DecisionAnswer, bool]:
        """Return a decision, and whether it is new."""
        decider = campaign.decider
        if not decider.has_policy or decider.is_overdue:
            await self._host.planned(campaign)
        found = await self._host.do(
            campaign,
            Event(DECISION, 0.0, user=asked.user, key=asked.key),
            lambda: decider.decide(asked.user, asked.key, self._host.now()),
        )
        if not isinstance(found, Done):
            return DecisionAnswer(found.id, found.arm, found.delay, found.expected), False
        event = found.event
        assert event.arm is not None
        assert event.delay is not None
        assert event.expected is not None
        identity = decision_id(decider.name, found.number)
        return DecisionAnswer(identity, event.arm, event.delay, event.expected), True

    async def decide_batch(self, request: Request) -> Response:
        """Decide for many users; those of one user one after the other."""
        body = _batch_body(await read_body(request.receive))
        campaign = await self._campaign(request)
        by_user: dict[str, list[int]] = {}
        for position, asked in enumerate(body.decisions):
            checks.name("user", asked.user, MAX_USER)
            if asked.key is not None:
                checks.name("key", asked.key, MAX_USER)
            by_user.setdefault(asked.user, []).append(position)
        answers = [BatchItem()] * len(body.decisions)
        failures: list[StoreError] = []

        async def decide_for_one(positions: list[int]) -> None:
            for position in positions:
                try:
                    made, _ = await self._decision(campaign, body.decisions[position])
                    answers[position] = BatchItem(made.id, made.arm, made.delay, made.expected)
                except StoreError as error:
                    failures.append(error)
                    answers[position] = BatchItem(error=str(error))
                except (InputError, ConflictError) as error:
                    answers[position] = BatchItem(error=str(error))

        await asyncio.gather(*map(decide_for_one, by_user.values()))
        if failures and len(failures) == len(answers):
            raise failures[0]  # nothing was kept, so that clients and alarms notice
        return json_answer(BatchAnswer(answers), 201)

    async def create(self, request: Request) -> Response:
        """Make a campaign."""
        body = _campaign_body(await read_body(request.receive))
        settings = CampaignSettings.from_document(msgspec.to_builtins(body))
        is_new, is_proved = await self._host.create(request.path_params["name"], settings)
        made = {**settings.document(), "rules_proved": is_proved}
        return json_answer(made, 201 if is_new else 200)

    async def list_campaigns(self, _request: Request) -> Response:
        """List all campaigns."""
        campaigns = await self._host.all_campaigns()
        return json_answer(CampaignsAnswer([line_of(campaign) for campaign in campaigns]))

    async def overview(self, request: Request) -> Response:
        """Return everything about a campaign."""
        content = await (await self._feed(request)).overview()
        return Response(content, media_type="application/json")

    async def stream(self, request: Request) -> Response:
        """Send an overview of a campaign whenever it changes."""
        feed = await self._feed(request)

        async def messages() -> AsyncIterator[bytes]:
            seen, sent = None, self._loop.time()
            is_over = request.method == "HEAD"
            while not (is_over or self._draining.is_set() or feed.campaign.is_dropped):
                version, content = await feed.latest()
                if version != seen:
                    seen, sent = version, self._loop.time()
                    yield b"data: " + content + b"\n\n"
                elif self._loop.time() - sent >= self._host.intervals.ping:
                    sent = self._loop.time()
                    yield b": ping\n\n"
                await _at_most(self._host.intervals.stream, self._draining)

        return _streamed(request, messages(), "text/event-stream")

    async def log(self, request: Request) -> Response:
        """Send events, oldest first."""
        campaign = await self._campaign(request)
        after = request.query_params.get("after", "0")
        if not (after.isascii() and after.isdigit() and len(after) <= 18):
            raise InputError("after", "must be the number of an event", checks.short(after))
        name = campaign.decider.name
        pages = self._host.events(campaign, int(after))
        # A store that is away is noticed before the answer begins.
        first: list[tuple[int, Event]] = await anext(pages, [])

        async def lines() -> AsyncIterator[bytes]:
            page: list[tuple[int, Event]] | None = first
            while page:
                yield b"".join(encode(event.document(name, seq)) + b"\n" for seq, event in page)
                page = await anext(pages, None)

        return _streamed(request, lines(), "application/jsonl")

    async def cancel(self, request: Request) -> Response:
        """Record that a decision was not shown."""
        campaign, number = await self._host.campaign_of(request.path_params["id"])
        about = Event(CANCEL, 0.0, ref=number)
        return await self._done(
            campaign, about, lambda: campaign.decider.cancel(number, self._host.now())
        )

    async def add_arm(self, request: Request) -> Response:
        """Add an arm, or bring it back."""
        campaign, arm = await self._campaign(request), request.path_params["arm"]
        about = Event(ARM, 0.0, arm=arm)
        return await self._done(
            campaign, about, lambda: campaign.decider.add_arm(arm, self._host.now())
        )

    async def retire_arm(self, request: Request) -> Response:
        """Choose an arm no more."""
        campaign, arm = await self._campaign(request), request.path_params["arm"]
        about = Event(RETIRE, 0.0, arm=arm)
        return await self._done(
            campaign, about, lambda: campaign.decider.retire_arm(arm, self._host.now())
        )

    async def _done(
        self, campaign: ServedCampaign, about: Event, request: Callable[[], Event | None]
    ) -> Response:
        found = await self._host.do(campaign, about, request)
        return Response(DUPLICATE if found is None else APPLIED, media_type="application/json")

    async def backup(self, request: Request) -> Response:
        """Send a copy of the store."""
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

    async def health(self, _request: Request) -> Response:
        """Answer that the process is alive."""
        return json_answer(Health("alive"))

    async def ready(self, _request: Request) -> Response:
        """Answer whether events can be stored."""
        if self._host.committer.failure is not None:
            raise HTTPException(503, "events cannot be kept now; the log of the service says why")
        return json_answer(Health("ready"))

    async def metrics(self, _request: Request) -> Response:
        """Return counts for Prometheus."""
        campaigns = self._host.campaigns.values()
        now = self._loop.time()
        refusals = sum(campaign.decider.state.kinds[REFUSAL] for campaign in campaigns)
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

    async def openapi(self, _request: Request) -> Response:
        """Describe the interface."""
        return json_answer(document())

    async def page(self, _request: Request) -> Response:
        """Return the page."""
        return FileResponse(PAGE_FOLDER / "index.html", headers=PAGE_HEADERS)

    async def _campaign(self, request: Request) -> ServedCampaign:
        return await self._host.campaign(request.path_params["name"])

    async def _feed(self, request: Request) -> OverviewFeed:
        campaign = await self._campaign(request)
        feed = self._feeds.get(campaign.decider.name)
        if feed is None or feed.campaign is not campaign:  # it was loaded again
            feed = self._feeds[campaign.decider.name] = OverviewFeed(self._host, campaign)
        return feed


def _streamed(request: Request, content: AsyncIterator[bytes], kind: str) -> Response:
    request.scope["is_streaming"] = True
    return StreamingResponse(content, media_type=kind, headers={"cache-control": "no-store"})


async def _at_most(seconds: float, event: asyncio.Event) -> None:
    """Wait for an event, but not for long."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return
