"""Events in memory, gone with the process."""

from collections.abc import Iterator, Sequence
from threading import Lock
from zlib import crc32

from fallow.live.errors import ConflictError
from fallow.live.events import Event
from fallow.live.stores import EventBatch, Kept, Record, numbered


class MemoryStore:
    """Keeps events in lists."""

    shared = False
    is_instant = True

    def __init__(self) -> None:
        self._campaigns: list[tuple[str, str]] = []
        self._checksums: list[int] = []
        self._events: list[list[Event]] = []
        self._lock = Lock()
        self._snapshots: dict[int, tuple[int, bytes]] = {}

    def campaigns(self) -> list[Record]:
        """Return all campaigns, oldest first."""
        with self._lock:
            return [
                Record(number, name, settings, len(self._events[number]), self._checksums[number])
                for number, (name, settings) in enumerate(self._campaigns)
            ]

    def create(self, name: str, settings: str) -> tuple[Record, bool]:
        """Return the campaign of this name, made if there is none, and whether it was."""
        with self._lock:
            is_new = name not in (known for known, _ in self._campaigns)
            if is_new:
                self._campaigns.append((name, settings))
                self._events.append([])
                self._checksums.append(crc32(settings.encode()))
        return next(record for record in self.campaigns() if record.name == name), is_new

    def append(self, batches: Sequence[EventBatch]) -> list[Kept]:
        """Keep events."""
        kept = []
        for batch in batches:
            events = self._events[batch.campaign]
            is_known = batch.head == len(events)
            news = () if is_known else tuple(self.read(batch.campaign, batch.head))
            kept.append(numbered(batch, len(events), self._checksums[batch.campaign], news))
            pairs = zip(kept[-1].numbers, batch.events, strict=True)
            events.extend(event for number, event in pairs if number is not None)
            self._checksums[batch.campaign] = kept[-1].checksum
        return kept

    def read(self, campaign: int, after: int = 0) -> Iterator[tuple[int, Event]]:
        """Yield a campaign's events behind a number, oldest first."""
        events = self._events[campaign]
        return ((index + 1, events[index]) for index in range(after, len(events)))

    def snapshot(self, campaign: int) -> tuple[int, bytes] | None:
        """Return the latest snapshot and the number of the last event in it."""
        return self._snapshots.get(campaign)

    def keep_snapshot(self, campaign: int, head: int, content: bytes) -> None:
        """Keep a snapshot instead of the one before."""
        self._snapshots[campaign] = head, content

    def backup(self, path: str) -> None:  # noqa: ARG002, there is nothing to copy
        """Refuse: memory is gone with the process anyway."""
        raise ConflictError("a store in memory has no backup; use sqlite:///FILE")

    def close(self) -> None:
        """Do nothing."""
