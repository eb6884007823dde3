"""The campaigns of one store: loads them, answers for many clients at once, looks at the clock.

All state is asked and changed on the event loop's thread. The store is written by one other thread,
plans are made in a few others, and what only those see who watch in one more.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from itertools import islice
from typing import TypeVar

from fallow.live.committer import SNAPSHOT_EVENTS
from fallow.live.compile_ahead import needs_compiler
from fallow.live.decider import Decider
from fallow.live.errors import RefusedError, UncheckedArmsError, UnknownError
from fallow.live.events import Event, parse_decision_id
from fallow.live.loading import load_state, make_campaign
from fallow.live.service.background import USUAL_INTERVALS, Background, Intervals
from fallow.live.service.committer import AwaitedProposal, Done, GroupCommitter, ServedCampaign
from fallow.live.service.metrics import Metrics
from fallow.live.settings import CampaignSettings, check_name
from fallow.live.stores import PAGE_EVENTS, Record, Store, StoreError
from fallow.text import visible

logger = logging.getLogger("fallow.service")

LATE_EVENTS = 1000
"""Events for overdue feedback that are stored at a time."""
CLOSE_SECONDS = 10.0
"""After this time, a store that does not answer is given up at the end."""
T = TypeVar("T")


class Host:
    """Campaigns of one store.

    Made on the thread of a running event loop, to be used there.

    Parameters
    ----------
    store
        Where their events are kept.
    now
        The clock, in seconds since 1970.
    intervals
        How often things are done.
    snapshot_events
        Events after which a snapshot is due, or a quarter of all events, if that is more.

    Attributes
    ----------
    background
        Its threads and tasks.
    campaigns
        Those that are loaded, by name.
    committer
        Keeps their events.
    compiling
        The compiling of kernels, if that is under way.
    metrics
        What was done.
    """

    def __init__(
        self,
        store: Store,
        now: Callable[[], float] = time.time,
        intervals: Intervals = USUAL_INTERVALS,
        snapshot_events: int = SNAPSHOT_EVENTS,
    ) -> None:
        self._store, self.now, self.intervals = store, now, intervals
        self._snapshot_events = snapshot_events
        self._loop = asyncio.get_running_loop()
        self.background = Background()
        self._records: dict[str, Record] = {}
        self._loading: dict[str, asyncio.Task[ServedCampaign]] = {}
        self.campaigns: dict[str, ServedCampaign] = {}
        self.compiling: asyncio.Task[None] | None = None
        self.metrics = Metrics()
        self.committer = GroupCommitter(
            store, self.background.use_store, self._look_after, self._forget, self.metrics
        )

    def start(self) -> None:
        """Begin to load campaigns and to look at the clock."""
        self.background.spawn(self._load_all())
        self.background.spawn(self._tick())

    async def close(self) -> None:
        """Keep what was proposed, and release the store, unless it does not answer."""
        if not await self.committer.drain(CLOSE_SECONDS):
            self.background.abandon()
            return
        for task in self._loading.values():
            task.cancel()
        await asyncio.gather(*self._loading.values(), return_exceptions=True)
        await self.background.cancel_tasks()
        await self.background.use_store(self._store.close)
        self.background.close()

    async def all_campaigns(self) -> Collection[ServedCampaign]:
        """Return all campaigns that can be loaded, oldest first."""
        await self._read_records()
        found = []
        for name in list(self._records):
            try:
                found.append(await self.campaign(name))
            except StoreError as error:
                self._report_load(name, error)
        return found

    async def campaign(self, name: str) -> ServedCampaign:
        """Return a campaign by name, loaded if it was not."""
        served = self.campaigns.get(name)
        if served is not None:
            return served
        if name not in self._records:
            await self._read_records()
        if name not in self._records:
            raise UnknownError(f"campaign must be one that was made, got {name!r}")
        return await self._load(self._records[name])

    async def campaign_of(self, identity: str) -> tuple[ServedCampaign, int]:
        """Return the campaign and the number of a decision."""
        name, number = parse_decision_id(identity)
        return await self.campaign(name), number

    async def create(self, name: str, settings: CampaignSettings) -> tuple[bool, bool]:
        """Make a campaign; return whether it is new, and whether its rules are proved possible."""
        check_name(name)
        record, is_new, is_proved = await self.background.think(
            make_campaign, self._store, name, settings
        )
        self._records.setdefault(name, record)
        self.committer.check(await self.campaign(name))
        return is_new, is_proved

    async def backup(self, path: str) -> None:
        """Write a copy of the store to a file, while it is used."""
        await asyncio.to_thread(self._store.backup, path)

    async def do(
        self, campaign: ServedCampaign, about: Event, request: Callable[[], Event | T]
    ) -> Done | T:
        """Return the answer of a decider; if that is an event, when it is kept.

        Parameters
        ----------
        campaign
            Whose decider.
        about
            An event as the request may answer with; nothing else that claims the same is under way
            meanwhile.
        request
            Asks the decider. It is called again if something else came first that may change the
            answer.
        """
        claims = about.claims
        await campaign.turns.take(claims)
        proposal: AwaitedProposal | None = None
        try:
            has_caught_up = not self._store.shared
            while True:
                self.committer.check(campaign)
                try:
                    answer = request()
                except UnknownError:
                    if has_caught_up:
                        raise
                    has_caught_up = True
                    await self.committer.keep(campaign, None).future
                    continue
                except UncheckedArmsError as unchecked:
                    await self.background.think(campaign.decider.check_arms, unchecked.arms)
                    continue
                except RefusedError as refused:
                    await self.committer.keep(campaign, refused.event).future
                    raise
                if not isinstance(answer, Event):
                    return answer
                proposal = self.committer.keep(campaign, answer)
                number = await proposal.future
                if number is not None:
                    return Done(number, answer)
        finally:
            if proposal is not None and not proposal.is_settled:  # nobody waits for it any more
                proposal.when_settled = lambda: campaign.turns.release(claims)
            else:
                campaign.turns.release(claims)

    async def planned(self, campaign: ServedCampaign) -> None:
        """Wait for the first policy of a campaign, or for one that is overdue."""
        decider = campaign.decider
        while not decider.has_policy or (decider.is_overdue and campaign.planning is not None):
            if campaign.planning is None:
                campaign.planning = self.background.spawn(self._plan(campaign))
            await asyncio.wait([campaign.planning])
            if not decider.has_policy and campaign.planning is None:
                raise RuntimeError(f"campaign {decider.name!r} has no plan; the log says why")

    def _look_after(self, campaign: ServedCampaign) -> None:
        """Plan and keep a snapshot, where that is due."""
        if campaign.decider.is_due and campaign.planning is None:
            campaign.planning = self.background.spawn(self._plan(campaign))
        make = None if self._store.is_instant else campaign.due_snapshot(self._snapshot_events)
        if make is not None:
            self.background.spawn(self._keep_snapshot(campaign.number, campaign.snapshot_at, make))

    async def _plan(self, campaign: ServedCampaign) -> None:
        decider = campaign.decider
        columns = decider.state.settings.columns
        try:
            if self.compiling is not None and needs_compiler(len(decider.state.arms), columns):
                await asyncio.wait([self.compiling])
            while decider.is_due or not decider.has_policy:
                decider.renew(await self.background.think(decider.plan()))
                campaign.planned_at = self._loop.time()
        except Exception:  # a fault of the planner, so go on with the policy before
            logger.exception("a plan could not be made for %r", decider.name)
            decider.postpone()
        finally:
            campaign.planning = None

    async def _keep_snapshot(self, number: int, head: int, make: Callable[[], bytes]) -> None:
        try:
            content = await self.background.study(make)
            await self.background.use_store(self._store.keep_snapshot, number, head, content)
        except StoreError as error:  # the events are kept, so only the next start is slower
            self.committer.report(error)

    async def _tick(self) -> None:
        """Look at the clock and at the store, as long as the service runs."""
        is_behind = False
        while True:
            await asyncio.sleep(0 if is_behind else self.intervals.tick)
            is_behind = False
            try:
                is_behind = await self._look_around()
            except StoreError as error:
                self.committer.report(error)
            except Exception:
                logger.exception("looking for overdue feedback failed, and will be tried again")

    async def _look_around(self) -> bool:
        """Look for overdue feedback, events of other processes, and a store that works again.

        Returns whether more is overdue than is kept at once.
        """
        if self._store.shared or self.committer.failure is not None:
            await self._read_records()
        if not self.campaigns:
            self.committer.succeed()
        waits = []
        is_behind = False
        is_failing = self.committer.failure is not None
        for name, campaign in list(self.campaigns.items()):
            if is_failing or (self._store.shared and self._has_news(name)):
                waits.append(self.committer.keep(campaign, None).future)
            self.committer.check(campaign)
            late = list(islice(campaign.decider.late(self.now()), LATE_EVENTS))
            is_behind |= len(late) == LATE_EVENTS
            for event in late:
                if campaign.turns.are_free(event.claims):
                    waits.append(self._keep_late(campaign, event).future)
        await asyncio.gather(*waits, return_exceptions=True)
        return is_behind and self.committer.failure is None

    def _has_news(self, name: str) -> bool:
        """Tell whether the store has another history than the one that is known here."""
        state, record = self.campaigns[name].decider.state, self._records.get(name)
        return record is None or (record.head, record.checksum) != (state.head, state.checksum)

    def _keep_late(self, campaign: ServedCampaign, event: Event) -> AwaitedProposal:
        campaign.turns.take_free(event.claims)
        proposal = self.committer.keep(campaign, event)
        if proposal.is_settled:
            campaign.turns.release(event.claims)
        else:
            proposal.when_settled = lambda: campaign.turns.release(event.claims)
        return proposal

    async def _read_records(self) -> None:
        """Ask the store which campaigns there are, and for their last events."""
        records = await self.background.use_store(self._store.campaigns)
        self._records = {record.name: record for record in records}

    async def _load_all(self) -> None:
        """Load all campaigns and make their policies, small ones first."""
        while True:
            try:
                await self._read_records()
                break
            except StoreError as error:
                self.committer.report(error)
                await asyncio.sleep(self.intervals.tick)
        for record in sorted(self._records.values(), key=lambda each: len(each.settings)):
            try:
                await self.planned(await self._load(record))
            except Exception as error:  # those who ask for the campaign get it, too
                self._report_load(record.name, error)

    def _report_load(self, name: str, error: Exception) -> None:
        logger.error("campaign %r could not be loaded: %s", name, visible(str(error)))

    async def _load(self, record: Record) -> ServedCampaign:
        """Return a campaign, loaded once for all who wait for it."""
        name = record.name
        if name in self.campaigns:
            return self.campaigns[name]
        if name not in self._loading:
            task = self._loop.create_task(self._load_now(record))
            self._loading[name] = task
            task.add_done_callback(lambda _: self._loading.pop(name, None))
        return await asyncio.shield(self._loading[name])

    async def _load_now(self, record: Record) -> ServedCampaign:
        state = await self.background.think(load_state, self._store, record)
        campaign = ServedCampaign(record.number, Decider(record.name, state))
        self.campaigns[record.name] = campaign
        return campaign

    def _forget(self, campaign: ServedCampaign) -> None:
        """Let a campaign be loaded again when it is next asked for."""
        if self.campaigns.get(campaign.decider.name) is campaign:
            del self.campaigns[campaign.decider.name]

    async def events(
        self, campaign: ServedCampaign, after: int
    ) -> AsyncIterator[list[tuple[int, Event]]]:
        """Yield the events behind a number up to the present one, some at a time."""
        end = campaign.decider.state.head
        while after < end:
            page = await self.background.think(self._read, campaign.number, after)
            if not page:
                return
            after = page[-1][0]
            yield page

    def _read(self, campaign: int, after: int) -> list[tuple[int, Event]]:
        events: Iterator[tuple[int, Event]] = self._store.read(campaign, after)
        return list(islice(events, PAGE_EVENTS))
