"""A campaign that is served: its state, whose turn it is, and what is to be kept."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fallow.live.desk import Desk
from fallow.live.events import DECISION, FEEDBACK, RETIRE, Claim, Event
from fallow.live.stores import Batch, Kept


class Done(NamedTuple):
    """An event that was kept, and its number."""

    number: int
    event: Event


class Proposal:
    """An event to keep, or None to hear of the events of other processes.

    Attributes
    ----------
    future
        Its number when it is kept; None if the request is to be made again, because something else
        came first.
    is_settled
        Whether that is known, even if nobody waits for it any more.
    when_settled
        Called then.
    """

    def __init__(self, event: Event | None, future: asyncio.Future[int | None]) -> None:
        self.event, self.future = event, future
        self.is_settled = False
        self.when_settled: Callable[[], None] | None = None

    def settle(self, outcome: int | Exception | None) -> None:
        """Set the number, None to ask again, or why nothing was kept."""
        self.is_settled = True
        if self.when_settled is not None:
            self.when_settled()
        if self.future.done():  # nobody waits any more
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


class ServedCampaign:
    """A campaign in the service.

    Attributes
    ----------
    number
        What the store calls it.
    desk
        What answers.
    turns
        Which requests are under way.
    queue
        What is to be kept, of this campaign alone.
    is_dropped
        Whether it was replaced, because its state could not be trusted any more.
    feedback_seconds
        How long the latest feedback took to come.
    planning
        The making of a new policy, if it is under way.
    planned_at
        When the policy was made, by the clock of the event loop.
    snapshot_at
        The last event of the latest snapshot.
    """

    def __init__(self, number: int, desk: Desk) -> None:
        self.number, self.desk = number, desk
        self.turns = Turns()
        self.queue: list[Proposal] = []
        self.is_dropped = False
        self.feedback_seconds: deque[float] = deque(maxlen=999)
        self.planned_at = 0.0
        self.planning: asyncio.Task[None] | None = None
        self.snapshot_at = desk.state.snapshot_at

    @property
    def open(self) -> int:
        """How many decisions are without a reward."""
        return sum(map(sum, self.desk.state.waiting))

    def next_batch(self) -> tuple[Batch, list[Proposal]]:
        """Take everything out of the queue, as a batch for the store."""
        proposals, self.queue = self.queue, []
        state = self.desk.state
        events = [each.event for each in proposals if each.event is not None]
        return Batch(self.number, state.head, state.checksum, events), proposals

    def take_in(self, proposals: Sequence[Proposal], kept: Kept) -> None:
        """Apply what was kept, and settle the proposals that it came from."""
        for number, event in kept.news:
            self.apply(number, event)
        numbers = iter(kept.numbers)
        for proposal in proposals:
            own = None if proposal.event is None else next(numbers)
            if own is not None and proposal.event is not None:
                self.apply(own, proposal.event)
            proposal.settle(own)
        own_kinds = {proposal.event.kind for proposal in proposals if proposal.event is not None}
        if kept.news or RETIRE in own_kinds:
            self._give_back({claim for _, event in kept.news for claim in event.claims})

    def drop(self, proposals: Sequence[Proposal], error: Exception) -> None:
        """Answer everybody who waits with an error: the state cannot be trusted any more."""
        self.is_dropped = True
        for proposal in (*proposals, *self.queue):
            if not proposal.is_settled:
                proposal.settle(error)
        self.queue.clear()

    def apply(self, number: int, event: Event) -> None:
        """Apply an event that was kept."""
        index = self.desk.apply(number, event)
        if event.kind == FEEDBACK and index >= 0:
            self.feedback_seconds.append(event.at - self.desk.state.at[index])

    def _give_back(self, taken: set[Claim]) -> None:
        """Let those ask again whose events claim what news do, or whose arm has been retired."""
        queue, self.queue = self.queue, []
        for proposal in queue:
            if proposal.event is not None and self._is_late(proposal.event, taken):
                proposal.settle(None)
            else:
                self.queue.append(proposal)

    def _is_late(self, event: Event, taken: set[Claim]) -> bool:
        if not taken.isdisjoint(event.claims):
            return True
        state = self.desk.state
        return event.kind == DECISION and state.retired[state.places[event.arm or ""]]
