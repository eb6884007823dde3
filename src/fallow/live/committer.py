"""Stores events of campaigns: each is stored first, then applied, then acknowledged.

`Campaign` commits at every call. The service commits what many clients proposed meanwhile, in one
transaction (`service/committer.py`). Both do the same with what the store answers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from fallow.live.decider import Decider
from fallow.live.events import DECISION, RETIRE, Claim, Event
from fallow.live.stores import EventBatch, HistoryError, Kept, Store, StoreError

logger = logging.getLogger("fallow.live")

SNAPSHOT_EVENTS = 50_000
"""Events after which a snapshot is due, or a quarter of all events, if that is more."""


class Proposal:
    """An event to store, or None to hear of the events of other processes.

    Attributes
    ----------
    is_settled
        Whether the outcome is known.
    outcome
        The number of the event when it is stored; None if the request is to be made again, because
        something else came first; or why nothing was stored.
    """

    def __init__(self, event: Event | None) -> None:
        self.event = event
        self.is_settled = False
        self.outcome: int | Exception | None = None

    def settle(self, outcome: int | Exception | None) -> None:
        """Set the outcome."""
        self.is_settled = True
        self.outcome = outcome


class OpenCampaign:
    """A campaign that is in use, with its proposals.

    Attributes
    ----------
    number
        What the store calls it.
    decider
        What answers.
    queue
        What is to be stored, of this campaign alone.
    is_dropped
        Whether it is to be loaded again, because its state cannot be trusted any more.
    snapshot_at
        The last event of the latest snapshot.
    """

    def __init__(self, number: int, decider: Decider) -> None:
        self.number, self.decider = number, decider
        self.queue: list[Proposal] = []
        self.is_dropped = False
        self.snapshot_at = decider.state.snapshot_at

    def next_batch(self) -> tuple[EventBatch, list[Proposal]]:
        """Take everything out of the queue, as a batch for the store."""
        proposals, self.queue = self.queue, []
        state = self.decider.state
        events = [each.event for each in proposals if each.event is not None]
        return EventBatch(self.number, state.head, state.checksum, events), proposals

    def take_in(self, proposals: Sequence[Proposal], kept: Kept) -> None:
        """Apply what was stored, and settle the proposals that it came from."""
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

    def apply(self, number: int, event: Event) -> int:
        """Apply an event that was stored; return the row of its decision, -1 if none."""
        return self.decider.apply(number, event)

    def drop(self, proposals: Sequence[Proposal], error: Exception) -> None:
        """Answer all requests that wait with an error: the state cannot be trusted any more."""
        self.is_dropped = True
        for proposal in (*proposals, *self.queue):
            if not proposal.is_settled:
                proposal.settle(error)
        self.queue.clear()

    def due_snapshot(self, every: int) -> Callable[[], bytes] | None:
        """Return what makes a snapshot, in any thread, if the next start would be slow without.

        Parameters
        ----------
        every
            Events after which a snapshot is due, or a quarter of all events, if that is more.
        """
        head, last = self.decider.state.head, self.snapshot_at
        if head < last + max(every, last // 4):
            return None
        self.snapshot_at = head
        return self.decider.state.snapshot()

    def _give_back(self, taken: set[Claim]) -> None:
        """Let requests be made again whose events claim what news do, or whose arm has retired."""
        queue, self.queue = self.queue, []
        for proposal in queue:
            if proposal.event is not None and self._is_late(proposal.event, taken):
                proposal.settle(None)
            else:
                self.queue.append(proposal)

    def _is_late(self, event: Event, taken: set[Claim]) -> bool:
        if not taken.isdisjoint(event.claims):
            return True
        state = self.decider.state
        return event.kind == DECISION and state.retired[state.arm_indices[event.arm or ""]]


Campaign = TypeVar("Campaign", bound=OpenCampaign)
Work = dict[Campaign, tuple[EventBatch, list[Proposal]]]
"""What is written in one transaction, by campaign."""


class Committer(Generic[Campaign]):
    """Stores what was proposed, and lets campaigns take it in.

    If something goes wrong with one campaign, all others stay as they are.

    Parameters
    ----------
    store
        Where events are stored.
    when_kept
        Called for each campaign whose state has changed.
    """

    dropped = "events were stored but could not be applied; open the campaign again"
    """The error of requests to a campaign whose state cannot be trusted any more."""

    def __init__(self, store: Store, when_kept: Callable[[Campaign], None]) -> None:
        self._store, self._when_kept = store, when_kept
        self._pending: dict[Campaign, None] = {}
        self._lost: HistoryError | None = None

    def propose(self, campaign: Campaign, proposal: Proposal) -> None:
        """Put a proposal into the queue of its campaign."""
        self.check(campaign)
        campaign.queue.append(proposal)
        self._pending[campaign] = None

    def commit(self) -> None:
        """Store what was proposed, in one transaction, and settle it."""
        work = self._next()
        try:
            kept = self._store.append([batch for batch, _ in work.values()])
        except Exception as error:
            self._fail(work, error)
        else:
            self._settle(work, kept)

    def check(self, campaign: Campaign) -> None:
        """Check that what is known of a campaign can be trusted."""
        if campaign.is_dropped:
            raise StoreError(self.dropped)
        if self._lost is not None:
            raise StoreError(str(self._lost))

    def _next(self) -> Work[Campaign]:
        """Take everything that was proposed."""
        pending = (campaign for campaign in self._pending if not campaign.is_dropped)
        work = {campaign: campaign.next_batch() for campaign in pending}
        self._pending.clear()
        return work

    def _fail(self, work: Work[Campaign], error: Exception) -> None:
        """Settle what could not be stored."""
        if isinstance(error, HistoryError):
            self._lost = error
        for _, proposals in work.values():
            for proposal in proposals:
                proposal.settle(error)

    def _settle(self, work: Work[Campaign], kept: list[Kept]) -> None:
        """Apply and settle what was stored."""
        for (campaign, (_, proposals)), each in zip(work.items(), kept, strict=True):
            try:
                campaign.take_in(proposals, each)
                self._when_kept(campaign)
            except Exception:  # what is known here may not be what is stored
                logger.exception("events of %r were kept but not applied", campaign.decider.name)
                self._drop(campaign, proposals)

    def _drop(self, campaign: Campaign, proposals: list[Proposal]) -> None:
        campaign.drop(proposals, StoreError(self.dropped))
