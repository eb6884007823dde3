"""Where events are kept: in memory, in a file of SQLite, or in PostgreSQL.

A store takes events in batches, one transaction each, and says when they are safe. It never changes
or removes an event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from fallow import checks
from fallow.errors import InputError
from fallow.live.events import DECISION, RETIRE, Event, checksum_after

VERSION = 2
"""Of the tables. An older store is brought up to date when it is opened; a newer one is refused."""
FIELDS = ", ".join(f'"{field}"' for field in Event._fields)
"""The columns of an event; "user" is a word of SQL."""
PAGE_EVENTS = 1000
"""Events that are read at once, so that reading does not keep appending waiting."""


NumberedEvent = tuple[int, Event]


class StoreError(Exception):
    """Events could not be kept or read, and why.

    Nothing of a batch was kept. Only where the connection to PostgreSQL is lost may it have been;
    then its events come as news of the next one, as those of other processes do.
    """


class HistoryError(StoreError):
    """The store has another history than the one that this process knows.

    It was restored from an older copy, lost commits in a failover, or is damaged. What this process
    knows is then wrong for good, so only loading the campaign again helps.
    """


class Record(NamedTuple):
    """A campaign as a store knows it.

    Attributes
    ----------
    number, name
        What the store and its users call it.
    settings
        As JSON.
    head
        The number of its last event.
    checksum
        Of its history up to there; None in a store of version 1 to which nothing was appended
        since.
    """

    number: int
    name: str
    settings: str
    head: int
    checksum: int | None


class EventBatch(NamedTuple):
    """Events of one campaign that are to be kept, made by someone who knows all up to `head`.

    `checksum` is that of the history up to there. No two of the events claim the same thing.
    """

    campaign: int
    head: int
    checksum: int
    events: Sequence[Event]


class Kept(NamedTuple):
    """What became of a batch.

    `news` are events that others appended after its `head`, with their numbers. `numbers` are those
    of the batch's own events; None stands for an event that was not kept, because one before it
    claims the same thing or retires its arm. `checksum` is that of the history behind them all.
    """

    news: Sequence[tuple[int, Event]]
    numbers: Sequence[int | None]
    checksum: int


class Store(Protocol):
    """Keeps the events of campaigns. Any thread may call it.

    `shared` says whether other processes may append, too. One that does not append hears of their
    events by `campaigns`, whose heads have grown, and `read` behind the head that it knows.
    `is_instant` says whether `append` returns without waiting for a disk or a network.
    """

    shared: bool
    is_instant: bool

    def campaigns(self) -> list[Record]:
        """Return all campaigns, oldest first."""
        ...

    def create(self, name: str, settings: str) -> tuple[Record, bool]:
        """Return the campaign of this name, made if there is none, and whether it was."""
        ...

    def append(self, batches: Sequence[EventBatch]) -> list[Kept]:
        """Keep events, all in one transaction, and return when they are safe.

        No two batches are of the same campaign.
        """
        ...

    def read(self, campaign: int, after: int = 0) -> Iterator[tuple[int, Event]]:
        """Yield a campaign's events behind a number, oldest first; numbers have no gap.

        Events that are appended meanwhile are yielded, too.
        """
        ...

    def snapshot(self, campaign: int) -> tuple[int, bytes] | None:
        """Return the latest snapshot and the number of the last event in it."""
        ...

    def keep_snapshot(self, campaign: int, head: int, content: bytes) -> None:
        """Keep a snapshot instead of the one before."""
        ...

    def backup(self, path: str) -> None:
        """Write a copy of the whole store to a file that does not exist, while others use it."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


def open_store(url: str, durable: bool = False) -> Store:
    """Return the store that a URL names.

    Parameters
    ----------
    url
        "memory:", "sqlite:///FILE" (relative; "sqlite:////FILE" is absolute), or
        "postgresql://USER@HOST/DATABASE" (extra `postgres`).
    durable
        Of SQLite: wait until the disk has it, so that not even a failure of power loses events.
        Otherwise only a failure of the machine can lose the last ones; one of the program cannot.

    Examples
    --------
    >>> open_store("memory:").campaigns()
    []
    """
    from fallow.live.stores.memory import MemoryStore
    from fallow.live.stores.sqlite import SQLiteStore

    scheme, _, rest = url.partition(":")
    if url == "memory:":
        return MemoryStore()
    if scheme == "sqlite" and rest.startswith("///") and len(rest) > 3:
        return SQLiteStore(rest[3:], durable)
    if scheme in ("postgresql", "postgres"):
        from fallow.live.stores.postgres import PostgresStore

        return PostgresStore(url)
    raise InputError(
        "store",
        "must be memory:, sqlite:///FILE or postgresql://USER@HOST/DATABASE",
        checks.short(url),
    )


def numbered(
    batch: EventBatch, head: int, checksum: int | None, news: Sequence[NumberedEvent]
) -> Kept:
    """Return numbers for the events of a batch, and the checksum of the history behind them.

    Parameters
    ----------
    batch
        What is to be kept.
    head, checksum
        Of the history in the store.
    news
        What it holds behind the head of the batch.
    """
    known = batch.checksum
    for _, event in news:
        known = checksum_after(known, event)
    if head != batch.head + len(news) or checksum not in (known, None):
        raise HistoryError(
            f"the store has another history than this process, which knows {batch.head:,} events "
            f"where the store has {head:,}; it was restored from an older copy, lost commits in a "
            "failover, or is damaged: restart every process that uses it"
        )
    taken = {claim for _, event in news for claim in event.claims}
    retired = {event.arm for _, event in news if event.kind == RETIRE}
    numbers: list[int | None] = []
    for event in batch.events:
        is_gone = event.kind == DECISION and event.arm in retired
        if is_gone or (taken and not taken.isdisjoint(event.claims)):
            numbers.append(None)
            continue
        head += 1
        numbers.append(head)
        known = checksum_after(known, event)
        if event.kind == RETIRE:
            retired.add(event.arm)
    return Kept(news, numbers, known)


def paged(page: Callable[[int], list[tuple[Any, ...]]], after: int) -> Iterator[tuple[int, Event]]:
    """Yield events from pages, each the rows behind a number: the next number, and the fields."""
    while rows := page(after):
        last = after + len(rows)
        if rows[-1][0] != last:
            raise StoreError(
                f"events must be numbered without a gap, got {last - len(rows)} and then up to "
                f"{rows[-1][0]} in {len(rows)} rows; the store is damaged, restore it from a copy"
            )
        for row in rows:
            yield row[0], Event._make(row[1:])
        after = last
