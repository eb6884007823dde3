"""Stores the events of many clients in few transactions, and gives each request its turn."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from fallow.live.committer import Committer, OpenCampaign, Proposal, Work
from fallow.live.decider import Decider
from fallow.live.events import FEEDBACK, Claim, Event
from fallow.live.service.metrics import Metrics
from fallow.live.stores import Kept, Store, StoreError
from fallow.text import visible

logger = logging.getLogger("fallow.service")

SLOW_SECONDS = 15.0
SLOW = f"the store has not answered for {SLOW_SECONDS:g} s"


class Done(NamedTuple):
    """An event that was stored, and its number."""

    number: int
    event: Event


class AwaitedProposal(Proposal):
    """A proposal that a request waits for.

    Attributes
    ----------
    future
        The outcome.
    when_settled
        Called when the outcome is known, even if the request does not wait for it any more.
    """

    def __init__(self, event: Event | None, future: asyncio.Future[int | None]) -> None:
        super().__init__(event)
        self.future = future
        self.when_settled: Callable[[], None] | None = None

    def settle(self, outcome: int | Exception | None) -> None:
        """Set the outcome, and let the request go on."""
        super().settle(outcome)
        if self.when_settled is not None:
            self.when_settled()
        if self.future.done():  # the request does not wait any more
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)


class Turns:
    """Gives each claim to one request at a time, in the order in which they came.

    Two requests for one user, or under one key, must not be answered from the same state.
    """

    def __init__(self) -> None:
        self._waiting: dict[Claim, deque[asyncio.Future[None]]] = {}

    def __len__(self) -> int:
        """Return how many claims are taken."""
        return len(self._waiting)

    def are_free(self, claims: Sequence[Claim]) -> bool:
        """Tell whether nobody has any of these claims."""
        return self._waiting.keys().isdisjoint(claims)

    def take_free(self, claims: Sequence[Claim]) -> None:
        """Take claims that are free."""
        for claim in claims:
            self._waiting[claim] = deque()

    async def take(self, claims: Sequence[Claim]) -> None:
        """Wait for claims, one after the other, and take them.

        All requests ask in the same order, a user before a key, so no two wait for each other.
        """
        for position, claim in enumerate(claims):
            line = self._waiting.get(claim)
            if line is None:
                self._waiting[claim] = deque()
                continue
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            line.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                has_come = turn.done() and not turn.cancelled()
                self.release(claims[: position + has_come])
                raise

    def release(self, claims: Sequence[Claim]) -> None:
        """Hand claims on to those who wait longest."""
        for claim in claims:
            line = self._waiting[claim]
            while line and line[0].done():  # who was cancelled
                line.popleft()
            if line:
                line.popleft().set_result(None)
            else:
                del self._waiting[claim]


class ServedCampaign(OpenCampaign):
    """A campaign in the service.

    Attributes
    ----------
    turns
        Which requests are under way.
    feedback_seconds
        How long the latest feedback took to come.
    planning
        The making of a new policy, if it is under way.
    planned_at
        When the policy was made, by the clock of the event loop.
    """

    def __init__(self, number: int, decider: Decider) -> None:
        super().__init__(number, decider)
        self.turns = Turns()
        self.feedback_seconds: deque[float] = deque(maxlen=999)
        self.planned_at = 0.0
        self.planning: asyncio.Task[None] | None = None

    @property
    def open(self) -> int:
        """How many decisions are without a reward."""
        return sum(map(sum, self.decider.state.waiting))

    def apply(self, number: int, event: Event) -> int:
        """Apply an event that was stored; return the row of its decision, -1 if none."""
        row = super().apply(number, event)
        if event.kind == FEEDBACK and row >= 0:
            self.feedback_seconds.append(event.at - self.decider.state.at[row])
        return row


class GroupCommitter(Committer[ServedCampaign]):
    """Writes what was proposed while the last transaction was under way, in the next one.

    Parameters
    ----------
    store
        Where events are stored.
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

    dropped = "the campaign is being loaded again; ask again"

    def __init__(
        self,
        store: Store,
        call: Callable[..., Awaitable[list[Kept]]],
        when_kept: Callable[[ServedCampaign], None],
        when_dropped: Callable[[ServedCampaign], None],
        metrics: Metrics,
    ) -> None:
        super().__init__(store, when_kept)
        self._call, self._when_dropped, self._metrics = call, when_dropped, metrics
        self._loop = asyncio.get_running_loop()
        self._writing: asyncio.Task[None] | None = None
        self.failure: str | None = None

    def keep(self, campaign: ServedCampaign, event: Event | None) -> AwaitedProposal:
        """Propose an event, or None to hear of the events of other processes."""
        proposal = AwaitedProposal(event, self._loop.create_future())
        self.propose(campaign, proposal)
        if self._store.is_instant:
            self.commit()
        elif self._writing is None:
            self._writing = self._loop.create_task(self._write())
        return proposal

    async def drain(self, seconds: float) -> bool:
        """Wait until everything that was proposed is settled; return whether it was in time."""
        if self._writing is not None:
            await asyncio.wait([self._writing], timeout=seconds)
        return self._writing is None

    def report(self, error: Exception) -> None:
        """Log once why events cannot be stored."""
        if self.failure != str(error):
            logger.error("events cannot be kept: %s", visible(str(error)))
        self.failure = str(error)

    def succeed(self) -> None:
        """Forget why events could not be stored, unless they never can be again."""
        if self._lost is None:
            self.failure = None

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
            self._fail(work, error)
            return
        finally:
            alarm.cancel()
        self.succeed()
        events = sum(len(batch.events) for batch in batches)
        self._metrics.committed(events, self._loop.time() - begun)
        self._settle(work, kept)

    def _fail(self, work: Work[ServedCampaign], error: Exception) -> None:
        super()._fail(work, error)
        self.report(error)

    def _drop(self, campaign: ServedCampaign, proposals: list[Proposal]) -> None:
        super()._drop(campaign, proposals)
        self._when_dropped(campaign)
