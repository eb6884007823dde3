"""A store that several simulated processes share, and that fails as the seed decides."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from copy import copy

from fallow.live.events import Event
from fallow.live.stores import EventBatch, Kept, Record, StoreError
from fallow.live.stores.memory import MemoryStore

Watcher = Callable[[int, int, Event], None]


class Database:
    """What is on disk: it outlives processes, and can be set back to an older copy.

    Attributes
    ----------
    content
        All campaigns, events and snapshots.
    epoch
        How often it was set back.
    watch
        Called with campaign, number and event for each one that is committed.
    """

    def __init__(self) -> None:
        self.content = MemoryStore()
        self.epoch = 0
        self.watch: Watcher = lambda _campaign, _number, _event: None

    def copied(self) -> MemoryStore:
        """Return a copy, for a transaction or a backup."""
        content = copy(self.content)
        content._campaigns = list(self.content._campaigns)
        content._checksums = list(self.content._checksums)
        content._events = [list(events) for events in self.content._events]
        content._snapshots = dict(self.content._snapshots)
        return content

    def restore(self, content: MemoryStore) -> None:
        """Lose all that came after a copy was made."""
        self.content = content
        self.epoch += 1


class Connection:
    """The store as one process sees it.

    Parameters
    ----------
    database
        What it is connected to.
    shared
        Whether other processes are, too; then a commit may be kept although it seems to fail.
    generator, failures
        Draws the failures, and how often a call fails.
    """

    is_instant = False

    def __init__(
        self, database: Database, shared: bool, generator: random.Random, failures: float
    ) -> None:
        self._database, self.shared = database, shared
        self._random, self.failures = generator, failures

    def campaigns(self) -> list[Record]:
        self._may_fail("read")
        return self._database.content.campaigns()

    def create(self, name: str, settings: str) -> tuple[Record, bool]:
        self._may_fail("create")
        return self._database.content.create(name, settings)

    def append(self, batches: Sequence[EventBatch]) -> list[Kept]:
        """Keep all or nothing; a failure may come before, in the middle, or behind the commit."""
        database = self._database
        fails = self._random.random() < self.failures
        where = self._random.choice(["before", "middle", "behind"]) if fails else ""
        if where == "before":
            raise StoreError("simulated: the commit failed")
        content = database.copied()
        kept = []
        for position, batch in enumerate(batches):
            if where == "middle" and position == len(batches) // 2:
                raise StoreError("simulated: the commit failed in the middle")
            kept += content.append([batch])
        database.content = content
        for batch, each in zip(batches, kept, strict=True):
            for number, event in zip(each.numbers, batch.events, strict=True):
                if number is not None:
                    database.watch(batch.campaign, number, event)
        if where == "behind" and self.shared:
            raise StoreError("simulated: the connection was lost behind the commit")
        return kept

    def read(self, campaign: int, after: int = 0) -> Iterator[tuple[int, Event]]:
        self._may_fail("read")
        return iter(list(self._database.content.read(campaign, after)))

    def snapshot(self, campaign: int) -> tuple[int, bytes] | None:
        return self._database.content.snapshot(campaign)

    def keep_snapshot(self, campaign: int, head: int, content: bytes) -> None:
        self._may_fail("keep a snapshot")
        known = self._database.content.snapshot(campaign)
        if known is None or known[0] < head:
            self._database.content.keep_snapshot(campaign, head, content)

    def backup(self, path: str) -> None:
        raise StoreError("simulated: no backup")

    def close(self) -> None:
        """Nothing is held."""

    def _may_fail(self, what: str) -> None:
        if self._random.random() < self.failures:
            raise StoreError(f"simulated: failed to {what}")
