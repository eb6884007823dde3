"""A campaign that is served, and events that are to be kept in it."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import NamedTuple

from fallow.live.desk import Desk
from fallow.live.events import DECISION, FEEDBACK, Claim, Event


class Hosted:
    """A campaign that is served.

    Attributes
    ----------
    number
        What the store calls it.
    desk
        What answers.
    claims
        What events that are being kept are about, and when they are.
    feedback_seconds
        How long the latest feedback took to come.
    planning
        The making of a new policy, if it is under way.
    planned_at
        When the policy was made, by the monotonic clock.
    """

    def __init__(self, number: int, desk: Desk) -> None:
        self.number, self.desk = number, desk
        self.claims: dict[Claim, asyncio.Future[int | None]] = {}
        self.feedback_seconds: deque[float] = deque(maxlen=999)
        self.planned_at = time.monotonic()
        self.planning: asyncio.Task[None] | None = None
        self.snapshot_at = desk.state.snapshot_at

    def apply(self, number: int, event: Event) -> None:
        """Take in an event that was kept."""
        place = self.desk.apply(number, event)
        if event.kind == FEEDBACK:
            self.feedback_seconds.append(event.at - self.desk.state.at[place])

    def retired(self, event: Event | None) -> bool:
        """Tell whether an event is the decision for an arm that is no longer chosen."""
        if event is None or event.kind != DECISION:
            return False
        state = self.desk.state
        return state.retired[state.places[event.arm or ""]]

    @property
    def open(self) -> int:
        """How many decisions are without a reward."""
        return sum(map(sum, self.desk.state.waiting))


class Done(NamedTuple):
    """An event that was kept, and its number."""

    number: int
    event: Event


class Proposal(NamedTuple):
    """An event to keep, or None to hear of others' events; and who waits for its number."""

    hosted: Hosted
    event: Event | None
    future: asyncio.Future[int | None]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What no other event may be about until this is settled."""
        return () if self.event is None else self.event.claims

    def settle(self, outcome: int | Exception | None) -> None:
        """Tell who waits the number, None to ask the desk again, or why nothing was kept."""
        for claim in self.claims:
            del self.hosted.claims[claim]
        if self.future.done():  # nobody waits any more
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)
