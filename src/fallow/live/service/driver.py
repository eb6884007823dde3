"""Asks desks for many clients at once, and keeps what they answer in few transactions.

All desks are asked and changed on the event loop's thread. The store is used by one other thread,
which keeps at once all that came in while it was busy.
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
from fallow.live.errors import UnknownError
from fallow.live.events import RETIRE, Claim, Event
from fallow.live.folding import load_state, make_campaign, needs_snapshot
from fallow.live.service.hosted import Done, Hosted, Proposal
from fallow.live.service.metrics import Metrics
from fallow.live.settings import Settings, check_name
from fallow.live.stores import Batch, Kept, Record, Store, StoreError
from fallow.live.stores.memory import MemoryStore
from fallow.signals import end_process
from fallow.text import visible

logger = logging.getLogger("fallow.service")

PAGE = 1000
"""Events that are read at a time."""
TICK = 1.0
"""Seconds after which overdue feedback and other processes' events are looked for."""

T = TypeVar("T")


class Driver:
    """Campaigns of one store.

    Made on the thread of a running event loop, to be used there.

    Attributes
    ----------
    hosted
        The campaigns by name.
    failure
        Why the last commit failed, None if it did not.
    warming
        What compiles, if that is under way.
    metrics
        What was done.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._memory = store if isinstance(store, MemoryStore) else None
        self._store_thread = ThreadPoolExecutor(1, "store")
        self._planning_thread = ThreadPoolExecutor(1, "plans")
        self._study_thread = ThreadPoolExecutor(1, "studies")
        self._queue: list[Proposal] = []
        self._writing: asyncio.Task[None] | None = None
        self._creating = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self.hosted: dict[str, Hosted] = {}
        self.failure: str | None = None
        self.warming: asyncio.Task[None] | None = None
        self.metrics = Metrics()

    async def start(self) -> None:
        """Load all campaigns, and begin to look at the clock."""
        await self._load_new()
        self.spawn(self._tick())

    async def close(self) -> None:
        """Keep what was proposed, and let go of the store."""
        if self._writing is not None:
            await self._writing
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.use_store(self._store.close)
        self._planning_thread.shutdown(wait=False, cancel_futures=True)
        self._study_thread.shutdown(wait=False, cancel_futures=True)
        self._store_thread.shutdown()

    async def use_store(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in the thread that has the store."""
        return await self._loop.run_in_executor(self._store_thread, function, *arguments)

    async def think(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in the thread that plans: decisions may wait for it, so not for long."""
        return await self._loop.run_in_executor(self._planning_thread, function, *arguments)

    async def study(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in the thread for what may take long: only who watches waits for it."""
        if self.warming is not None:
            await asyncio.wait([self.warming])
        return await self._loop.run_in_executor(self._study_thread, function, *arguments)

    async def campaigns(self) -> Collection[Hosted]:
        """Return all campaigns, oldest first."""
        if self._store.shared:
            await self._load_new()
        return self.hosted.values()

    async def campaign(self, name: str) -> Hosted:
        """Return a campaign by name."""
        hosted = self.hosted.get(name)
        if hosted is None and self._store.shared:
            await self._load_new()
            hosted = self.hosted.get(name)
        if hosted is None:
            raise UnknownError(f"campaign must be one that was made, got {name!r}")
        return hosted

    async def campaign_of(self, identity: str) -> tuple[Hosted, int]:
        """Return the campaign and the number of a decision."""
        parsed = parse_decision_id(identity)
        if parsed is None:
            raise unknown_decision(identity)
        return await self.campaign(parsed[0]), parsed[1]

    async def create(self, name: str, settings: Settings) -> bool:
        """Make a campaign, and tell whether it is new."""
        async with self._creating:
            check_name(name)
            record, is_new = await self.use_store(make_campaign, self._store, name, settings)
            if name not in self.hosted:
                await self._load(record)
        return is_new

    async def do(self, hosted: Hosted, request: Callable[[], Event | T]) -> Done | T:
        """Return the answer of a desk; if that is an event, when it is kept.

        The request is made again if something else came first that may change the answer.
        """
        has_caught_up = not self._store.shared
        while True:
            try:
                answer = request()
            except UnknownError:
                if has_caught_up:
                    raise
                has_caught_up = True
                await self._queued(hosted, None)
                continue
            if not isinstance(answer, Event):
                return answer
            if self._memory is not None:
                return Done(self._keep_now(hosted, answer), answer)
            number = await self._free_and_queued(hosted, answer)
            if number is not None:
                return Done(number, answer)

    def _keep_now(self, hosted: Hosted, event: Event) -> int:
        """Return the number of an event that is kept in memory."""
        assert self._memory is not None
        number = self._memory.append_one(hosted.number, event)
        hosted.apply(number, event)
        self._look_after(hosted)
        return number

    async def _free_and_queued(self, hosted: Hosted, event: Event) -> int | None:
        """Return the number of an event when it is kept, None if something else came first."""
        for claim in event.claims:
            if busy := hosted.claims.get(claim):
                await asyncio.wait([busy])
                return None
        return await self._queued(hosted, event)

    def _queued(self, hosted: Hosted, event: Event | None) -> asyncio.Future[int | None]:
        future: asyncio.Future[int | None] = self._loop.create_future()
        proposal = Proposal(hosted, event, future)
        self._queue.append(proposal)
        hosted.claims |= dict.fromkeys(proposal.claims, future)
        if self._writing is None:
            self._writing = self.spawn(self._write())
        return future

    async def _write(self) -> None:
        """Keep all that is proposed, until nothing is."""
        while self._queue:
            queue, self._queue = self._queue, []
            by_campaign: dict[Hosted, list[Proposal]] = {}
            for proposal in queue:
                by_campaign.setdefault(proposal.hosted, []).append(proposal)
            batches = [
                Batch(
                    hosted.number,
                    hosted.desk.state.head,
                    hosted.desk.state.checksum,
                    [each.event for each in proposals if each.event is not None],
                )
                for hosted, proposals in by_campaign.items()
            ]
            begun = time.perf_counter()
            try:
                kept = await self.use_store(self._store.append, batches)
            except Exception as error:
                self.tell_failure(error)
                for proposal in queue:
                    proposal.settle(error)
                continue
            self.failure = None
            events = sum(len(batch.events) for batch in batches)
            self.metrics.committed(events, time.perf_counter() - begun)
            try:
                for (hosted, proposals), each in zip(by_campaign.items(), kept, strict=True):
                    self._take_in(hosted, proposals, each)
            except Exception:  # what is known here is not what is kept: start anew
                logger.exception("events that were kept could not be taken in")
                end_process(1)
        self._writing = None

    def _take_in(self, hosted: Hosted, proposals: list[Proposal], kept: Kept) -> None:
        for news_number, news in kept.news:
            hosted.apply(news_number, news)
        numbers = iter(kept.numbers)
        for proposal in proposals:
            number = None
            if proposal.event is not None:
                number = next(numbers)
                if number is not None:
                    hosted.apply(number, proposal.event)
            proposal.settle(number)
        own = (proposal.event for proposal in proposals if proposal.event is not None)
        if kept.news or any(event.kind == RETIRE for event in own):
            self._give_back(hosted, {claim for _, event in kept.news for claim in event.claims})
        self._look_after(hosted)

    def _give_back(self, hosted: Hosted, taken: set[Claim]) -> None:
        """Let those ask again whose events claim what news do, or whose arm is retired by now."""
        queue, self._queue = self._queue, []
        for proposal in queue:
            is_late = not taken.isdisjoint(proposal.claims) or hosted.retired(proposal.event)
            if proposal.hosted is hosted and is_late:
                proposal.settle(None)
            else:
                self._queue.append(proposal)

    def tell_failure(self, error: Exception) -> None:
        """Say once in the log why events cannot be kept."""
        if self.failure != str(error):
            logger.error("events cannot be kept: %s", visible(str(error)))
        self.failure = str(error)

    def _look_after(self, hosted: Hosted) -> None:
        """Plan and keep a snapshot, where that is due."""
        if hosted.desk.is_due and hosted.planning is None:
            hosted.planning = self.spawn(self._plan(hosted))
        head = hosted.desk.state.head
        if needs_snapshot(head, hosted.snapshot_at):
            hosted.snapshot_at = head
            if self._memory is None:
                make = hosted.desk.state.snapshot()
                self.spawn(self._keep_snapshot(hosted.number, head, make))

    async def _plan(self, hosted: Hosted) -> None:
        desk = hosted.desk
        try:
            while desk.is_due:
                try:
                    policy = await self.think(desk.plan())
                    hosted.planned_at = time.monotonic()
                except Exception:  # a fault of the planner's, so go on as before
                    logger.exception("a plan could not be made")
                    policy = desk.policy
                desk.renew(policy)
        finally:
            hosted.planning = None

    async def _keep_snapshot(self, number: int, head: int, make: Callable[[], bytes]) -> None:
        try:
            content = await self.study(make)
            await self.use_store(self._store.keep_snapshot, number, head, content)
        except StoreError as error:  # the events are kept, so only the next start is slower
            self.tell_failure(error)

    async def _tick(self) -> None:
        """Look at the clock and at the store, for ever."""
        while True:
            await asyncio.sleep(TICK)
            try:
                await self._look_around()
            except StoreError as error:
                self.tell_failure(error)
            except Exception:
                logger.exception("looking for overdue feedback failed, and is tried again")

    async def _look_around(self) -> None:
        """Look for overdue feedback, events of other processes, and a store that works again."""
        heads = await self._load_new() if self._store.shared else {}
        if not self.hosted:
            self.failure = None
        waits = []
        for name, hosted in self.hosted.items():
            if self.failure is not None or heads.get(name, 0) > hosted.desk.state.head:
                waits.append(self._queued(hosted, None))
            for event in list(hosted.desk.late(time.time())):
                if self._memory is not None:
                    self._keep_now(hosted, event)
                elif hosted.claims.keys().isdisjoint(event.claims):
                    waits.append(self._queued(hosted, event))
        await asyncio.gather(*waits, return_exceptions=True)

    async def _load_new(self) -> dict[str, int]:
        """Load campaigns that others made; return the last event of each."""
        records = await self.use_store(self._store.campaigns)
        for record in records:
            if record.name not in self.hosted:
                await self._load(record)
        return {record.name: record.head for record in records}

    async def _load(self, record: Record) -> None:
        state = await self.use_store(load_state, self._store, record)
        desk = await self.think(Desk, record.name, state)
        self.hosted.setdefault(record.name, Hosted(record.number, desk))

    async def events(self, hosted: Hosted, after: int) -> AsyncIterator[list[tuple[int, Event]]]:
        """Yield the events behind a number up to the present one, some at a time."""
        end = hosted.desk.state.head
        while after < end:
            page = await self.use_store(self._read, hosted.number, after)
            if not page:
                return
            after = page[-1][0]
            yield page

    def _read(self, campaign: int, after: int) -> list[tuple[int, Event]]:
        events: Iterator[tuple[int, Event]] = self._store.read(campaign, after)
        return list(islice(events, PAGE))

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do something beside all else, until the driver is closed."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("something beside the requests failed", exc_info=error)
