"""The campaigns of one store: loads them, answers for many clients at once, looks at the clock.

All state is asked and changed on the event loop's thread. The store is written by one other thread,
plans are made in a few others, and what only those see who watch in one more.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

from fallow.live.decision import parse_decision_id, unknown_decision
from fallow.live.desk import Desk
from fallow.live.errors import RefusedError, UncheckedArmsError, UnknownError
from fallow.live.events import Event
from fallow.live.folding import load_state, make_campaign, needs_snapshot
from fallow.live.service.committer import Committer
from fallow.live.service.metrics import Metrics
from fallow.live.service.served import Done, Proposal, ServedCampaign
from fallow.live.service.warm import needs_compiler
from fallow.live.settings import Settings, check_name
from fallow.live.stores import Record, Store, StoreError
from fallow.text import visible

logger = logging.getLogger("fallow.service")

PAGE = 1000
"""Events that are read at a time."""
TICK_SECONDS = 1.0
"""After this time, overdue feedback and other processes' events are looked for."""
CLOSE_SECONDS = 10.0
"""After this time, a store that does not answer is given up at the end."""
PLANNING_THREADS = 4
"""So that a small campaign does not wait for a large one."""

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

    Attributes
    ----------
    campaigns
        Those that are loaded, by name.
    committer
        Keeps their events.
    warming
        The compiling of kernels, if that is under way.
    metrics
        What was done.
    """

    def __init__(self, store: Store, now: Callable[[], float] = time.time) -> None:
        self._store, self.now = store, now
        self._loop = asyncio.get_running_loop()
        self._store_thread = ThreadPoolExecutor(1, "store")
        self._planning_threads = ThreadPoolExecutor(PLANNING_THREADS, "plans")
        self._study_thread = ThreadPoolExecutor(1, "studies")
        self._tasks: set[asyncio.Task[None]] = set()
        self._records: dict[str, Record] = {}
        self._loading: dict[str, asyncio.Task[ServedCampaign]] = {}
        self.campaigns: dict[str, ServedCampaign] = {}
        self.warming: asyncio.Task[None] | None = None
        self.metrics = Metrics()
        self.committer = Committer(
            store, self.use_store, self._look_after, self._forget, self.metrics
        )

    def start(self) -> None:
        """Begin to load campaigns and to look at the clock."""
        self.spawn(self._load_all())
        self.spawn(self._tick())

    async def close(self) -> None:
        """Keep what was proposed, and release the store, unless it does not answer."""
        if not await self.committer.drain(CLOSE_SECONDS):
            self._store_thread.shutdown(wait=False, cancel_futures=True)
            return
        tasks = [*self._tasks, *self._loading.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.use_store(self._store.close)
        self._planning_threads.shutdown(wait=False, cancel_futures=True)
        self._study_thread.shutdown(wait=False, cancel_futures=True)
        self._store_thread.shutdown()

    async def use_store(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in the thread that writes to the store."""
        return await self._loop.run_in_executor(self._store_thread, function, *arguments)

    async def think(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in a thread that plans or loads."""
        return await self._loop.run_in_executor(self._planning_threads, function, *arguments)

    async def study(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in the thread for slow work, which only those wait for who watch."""
        return await self._loop.run_in_executor(self._study_thread, function, *arguments)

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
        parsed = parse_decision_id(identity)
        if parsed is None:
            raise unknown_decision(identity)
        return await self.campaign(parsed[0]), parsed[1]

    async def create(self, name: str, settings: Settings) -> tuple[bool, bool]:
        """Make a campaign; return whether it is new, and whether its rules are proved possible."""
        check_name(name)
        record, is_new, is_proved = await self.think(make_campaign, self._store, name, settings)
        self._records.setdefault(name, record)
        self.committer.check(await self.campaign(name))
        return is_new, is_proved

    async def backup(self, path: str) -> None:
        """Write a copy of the store to a file, while it is used."""
        await asyncio.to_thread(self._store.backup, path)

    async def do(
        self, campaign: ServedCampaign, about: Event, request: Callable[[], Event | T]
    ) -> Done | T:
        """Return the answer of a desk; if that is an event, when it is kept.

        Parameters
        ----------
        campaign
            Whose desk.
        about
            An event as the request may answer with; nothing else that claims the same is under way
            meanwhile.
        request
            Asks the desk. It is called again if something else came first that may change the
            answer.
        """
        claims = about.claims
        await campaign.turns.take(claims)
        proposal: Proposal | None = None
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
                    await self.think(campaign.desk.check_arms, unchecked.arms)
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
        desk = campaign.desk
        while not desk.has_policy or (desk.is_overdue and campaign.planning is not None):
            if campaign.planning is None:
                campaign.planning = self.spawn(self._plan(campaign))
            await asyncio.wait([campaign.planning])
            if not desk.has_policy and campaign.planning is None:
                raise RuntimeError(f"campaign {desk.name!r} has no plan; the log says why")

    def _look_after(self, campaign: ServedCampaign) -> None:
        """Plan and keep a snapshot, where that is due."""
        if campaign.desk.is_due and campaign.planning is None:
            campaign.planning = self.spawn(self._plan(campaign))
        head = campaign.desk.state.head
        if needs_snapshot(head, campaign.snapshot_at):
            campaign.snapshot_at = head
            if not self._store.is_instant:
                make = campaign.desk.state.snapshot()
                self.spawn(self._keep_snapshot(campaign.number, head, make))

    async def _plan(self, campaign: ServedCampaign) -> None:
        desk = campaign.desk
        settings = desk.state.settings
        try:
            if self.warming is not None and needs_compiler(len(desk.state.arms), settings.columns):
                await asyncio.wait([self.warming])
            while desk.is_due or not desk.has_policy:
                desk.renew(await self.think(desk.plan()))
                campaign.planned_at = self._loop.time()
        except Exception:  # a fault of the planner, so go on with the policy before
            logger.exception("a plan could not be made for %r", desk.name)
            desk.postpone()
        finally:
            campaign.planning = None

    async def _keep_snapshot(self, number: int, head: int, make: Callable[[], bytes]) -> None:
        try:
            content = await self.study(make)
            await self.use_store(self._store.keep_snapshot, number, head, content)
        except StoreError as error:  # the events are kept, so only the next start is slower
            self.committer.report(error)

    async def _tick(self) -> None:
        """Look at the clock and at the store, as long as the service runs."""
        is_behind = False
        while True:
            await asyncio.sleep(0 if is_behind else TICK_SECONDS)
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
            late = list(islice(campaign.desk.late(self.now()), PAGE))
            is_behind |= len(late) == PAGE
            for event in late:
                if campaign.turns.are_free(event.claims):
                    waits.append(self._keep_late(campaign, event).future)
        await asyncio.gather(*waits, return_exceptions=True)
        return is_behind and self.committer.failure is None

    def _has_news(self, name: str) -> bool:
        """Tell whether the store has another history than the one that is known here."""
        state, record = self.campaigns[name].desk.state, self._records.get(name)
        return record is None or (record.head, record.checksum) != (state.head, state.checksum)

    def _keep_late(self, campaign: ServedCampaign, event: Event) -> Proposal:
        campaign.turns.take_free(event.claims)
        proposal = self.committer.keep(campaign, event)
        if proposal.is_settled:
            campaign.turns.release(event.claims)
        else:
            proposal.when_settled = lambda: campaign.turns.release(event.claims)
        return proposal

    async def _read_records(self) -> None:
        """Ask the store which campaigns there are, and for their last events."""
        records = await self.use_store(self._store.campaigns)
        self._records = {record.name: record for record in records}

    async def _load_all(self) -> None:
        """Load all campaigns and make their policies, small ones first."""
        while True:
            try:
                await self._read_records()
                break
            except StoreError as error:
                self.committer.report(error)
                await asyncio.sleep(TICK_SECONDS)
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
        state = await self.think(load_state, self._store, record)
        campaign = ServedCampaign(record.number, Desk(record.name, state))
        self.campaigns[record.name] = campaign
        return campaign

    def _forget(self, campaign: ServedCampaign) -> None:
        """Let a campaign be loaded again when it is next asked for."""
        if self.campaigns.get(campaign.desk.name) is campaign:
            del self.campaigns[campaign.desk.name]

    async def events(
        self, campaign: ServedCampaign, after: int
    ) -> AsyncIterator[list[tuple[int, Event]]]:
        """Yield the events behind a number up to the present one, some at a time."""
        end = campaign.desk.state.head
        while after < end:
            page = await self.think(self._read, campaign.number, after)
            if not page:
                return
            after = page[-1][0]
            yield page

    def _read(self, campaign: int, after: int) -> list[tuple[int, Event]]:
        events: Iterator[tuple[int, Event]] = self._store.read(campaign, after)
        return list(islice(events, PAGE))

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do something in the background, until the host is closed."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a background task failed", exc_info=error)
