"""Bugs that the service once had, to be put back one at a time: a simulator must find them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from unittest.mock import patch

import numpy as np

from fallow.limits import Past
from fallow.live.arm_search import Ages, ArmSearch
from fallow.live.events import Claim, Event, checksum_after
from fallow.live.service.committer import GroupCommitter, ServedCampaign
from fallow.live.service.messages import Bucket
from fallow.live.state import OPEN, State
from fallow.live.stores import EventBatch, Kept, StoreError, numbered
from fallow.planners.past_pulls import past_of

SERVED: list[ServedCampaign] = []
"""All campaigns, as one queue for all of them would see them."""
_keep, _give_back = GroupCommitter.keep, ServedCampaign._give_back


def _kept_in_one_queue(
    self: GroupCommitter, campaign: ServedCampaign, event: Event | None
) -> object:
    SERVED.append(campaign)
    return _keep(self, campaign, event)


def _looks_at_others(self: ServedCampaign, taken: set[Claim]) -> None:
    for campaign in SERVED:
        for proposal in campaign.queue:
            if proposal.event is not None:
                self._is_late(proposal.event, taken)  # before asking whose it is
    _give_back(self, taken)


def _with_fresh_deadlines(self: ArmSearch, ages: Ages) -> Past:
    return past_of(self._problem, self._pulled(ages), 0)


def _without_checksum(
    batch: EventBatch, head: int, _checksum: int | None, news: Sequence[tuple[int, Event]]
) -> Kept:
    if head < batch.head:
        raise StoreError("simulated: it was restored from an older copy")
    known = batch.checksum
    for _, event in news:
        known = checksum_after(known, event)
    return numbered(batch, batch.head + len(news), known, news)


def _without_own_retirements(
    batch: EventBatch, head: int, checksum: int | None, news: Sequence[tuple[int, Event]]
) -> Kept:
    kept = numbered(batch, head, checksum, news)
    numbers = [head + index for index in range(1, len(batch.events) + 1)]
    known = batch.checksum
    for _, event in news:
        known = checksum_after(known, event)
    for event in batch.events:
        known = checksum_after(known, event)
    return kept if news else Kept(news, numbers, known)


def _stops_at_the_first_that_is_not_due(self: State, now: float) -> Iterator[int]:
    wait = self.settings.wait
    if wait is None:
        return
    for row in range(len(self.at)):
        if self.at[row] + wait > now:
            return
        if self.status[row] == OPEN:
            yield row


def _every_second_a_bucket(state: State, now: float) -> list[Bucket]:
    at = np.array(state.at)
    if len(at) == 0:
        return []
    length = max((now - float(at.min())) / 119, 1.0)
    count = min(int((at.max() - at.min()) / length) + 1, 10_000)  # enough to be found
    return [Bucket(0.0, length, 0, 0, 0.0, 0.0)] * count


def faults() -> dict[str, list[AbstractContextManager[object]]]:
    """Return what puts each bug back, by its number in the report that found it."""
    return {
        "1: one queue for all campaigns": [
            patch.object(GroupCommitter, "keep", _kept_in_one_queue),
            patch.object(ServedCampaign, "_give_back", _looks_at_others),
        ],
        "2: deadlines begin again at every decision": [
            patch.object(ArmSearch, "_past", _with_fresh_deadlines),
        ],
        "3: history without bounds": [
            patch("fallow.live.service.overview._history", _every_second_a_bucket),
        ],
        "5: restored copies are noticed for a moment only": [
            patch("fallow.live.stores.memory.numbered", _without_checksum),
        ],
        "6: one decision dated ahead blocks the others": [
            patch.object(State, "overdue", _stops_at_the_first_that_is_not_due),
        ],
        "9: decisions behind the retirement of their arm": [
            patch("fallow.live.stores.memory.numbered", _without_own_retirements),
        ],
    }
