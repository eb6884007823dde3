"""Keeps the events of many campaigns in few transactions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from fallow.live.events import Event
from fallow.live.service.metrics import Metrics
from fallow.live.service.served import Proposal, ServedCampaign
from fallow.live.stores import Batch, HistoryError, Kept, Store, StoreError
from fallow.text import visible

logger = logging.getLogger("fallow.service")

Work = dict[ServedCampaign, tuple[Batch, list[Proposal]]]
"""What is written in one transaction."""
SLOW_SECONDS = 15.0
SLOW = f"the store has not answered for {SLOW_SECONDS:g} s"
RELOADING = "the campaign is being loaded again; ask again"


class Committer:
    """Writes whatever was proposed while the last transaction was under way, in the next one.

    An event is kept first, then applied, then acknowledged. What goes wrong with one campaign
    leaves all others, and the next transaction, as they are.

    Parameters
    ----------
    store
        Where events are kept.
    call
        Calls a function in the thread that has the store.
    when_kept
        Called for each campaign whose state has changed.
    when_dropped
        Called for a campaign that must be loaded again.
    metrics
        Counts transactions.

    Attributes
    ----------
    failure
        Why the last transaction failed, None if it did not.
    """

    def __init__(
        self,
        store: Store,
        call: Callable[..., Awaitable[list[Kept]]],
        when_kept: Callable[[ServedCampaign], None],
        when_dropped: Callable[[ServedCampaign], None],
        metrics: Metrics,
    ) -> None:
        self._store, self._call, self._metrics = store, call, metrics
        self._when_kept, self._when_dropped = when_kept, when_dropped
        self._loop = asyncio.get_running_loop()
        self._pending: dict[ServedCampaign, None] = {}
        self._writing: asyncio.Task[None] | None = None
        self._lost: HistoryError | None = None
        self.failure: str | None = None

    def keep(self, campaign: ServedCampaign, event: Event | None) -> Proposal:
        """Propose an event, or None to hear of the events of other processes."""
        self.check(campaign)
        proposal = Proposal(event, self._loop.create_future())
        campaign.queue.append(proposal)
        self._pending[campaign] = None
        if self._store.is_instant:
            self._write_now()
        elif self._writing is None:
            self._writing = self._loop.create_task(self._write())
        return proposal

    def check(self, campaign: ServedCampaign) -> None:
        """Check that what is known of a campaign can be trusted."""
        if campaign.is_dropped:
            raise StoreError(RELOADING)
        if self._lost is not None:
            raise StoreError(str(self._lost))

    async def drain(self, seconds: float) -> bool:
        """Wait until everything that was proposed is settled; return whether it was in time."""
        if self._writing is not None:
            await asyncio.wait([self._writing], timeout=seconds)
        return self._writing is None

    def report(self, error: Exception) -> None:
        """Log once why events cannot be kept."""
        if self.failure != str(error):
            logger.error("events cannot be kept: %s", visible(str(error)))
        self.failure = str(error)

    def succeed(self) -> None:
        """Forget why events could not be kept, unless that is so for good."""
        if self._lost is None:
            self.failure = None

    def _write_now(self) -> None:
        """Write to a store that never waits."""
        work = self._next()
        kept = self._store.append([batch for batch, _ in work.values()])
        self._settle(work, kept)

    async def _write(self) -> None:
        try:
            while self._pending:
                await self._write_once()
        finally:
            self._writing = None

    async def _write_once(self) -> None:
        work = self._next()
        batches = [batch for batch, _ in work.values()]
        begun = self._loop.time()
        alarm = self._loop.call_later(SLOW_SECONDS, self.report, StoreError(SLOW))
        try:
            kept = await self._call(self._store.append, batches)
        except Exception as error:
            if isinstance(error, HistoryError):
                self._lost = error
            self.report(error)
            for _, proposals in work.values():
                for proposal in proposals:
                    proposal.settle(error)
            return
        finally:
            alarm.cancel()
        self.succeed()
        events = sum(len(batch.events) for batch in batches)
        self._metrics.committed(events, self._loop.time() - begun)
        self._settle(work, kept)

    def _next(self) -> Work:
        """Take everything that was proposed, by campaign."""
        pending = (campaign for campaign in self._pending if not campaign.is_dropped)
        work = {campaign: campaign.next_batch() for campaign in pending}
        self._pending.clear()
        return work

    def _settle(self, work: Work, kept: list[Kept]) -> None:
        for (campaign, (_, proposals)), each in zip(work.items(), kept, strict=True):
            self._take_in(campaign, proposals, each)

    def _take_in(self, campaign: ServedCampaign, proposals: list[Proposal], kept: Kept) -> None:
        try:
            campaign.take_in(proposals, kept)
            self._when_kept(campaign)
        except Exception:  # what is known here may not be what is kept
            logger.exception("events of %r were kept but not applied", campaign.desk.name)
            campaign.drop(proposals, StoreError(RELOADING))
            self._when_dropped(campaign)
