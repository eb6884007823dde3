"""Where events are kept: in memory, in a file of SQLite, or in PostgreSQL.

A store takes events in batches, one transaction each, and says when they are safe. It never changes
or removes an event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from fallow import checks
from fallow.live.events import DECISION, RETIRE, Event

VERSION = 1
"""Of the tables; a store of a newer version is refused."""
FIELDS = ", ".join(f'"{field}"' for field in Event._fields)
"""The columns of an event; "user" is a word of SQL."""
PAGE = 1000
"""Events that are read at once, so that reading does not keep appending waiting."""


class StoreError(Exception):
    """Events could not be kept or read, and why.

    Nothing of a batch was kept. Only where the connection to PostgreSQL is lost may it have been;
    then its events come as news of the next one, as those of other processes do.
    """


class Record(NamedTuple):
    """A campaign as a store knows it: its number, name, settings as JSON, and its last event."""

    number: int
    name: str
    settings: str
    head: int


class Batch(NamedTuple):
    """Events of one campaign that are to be kept, made by someone who knows all up to `head`.

    No two of them claim the same thing.
    """

    campaign: int
    head: int
    events: Sequence[Event]


class Kept(NamedTuple):
    """What became of a batch.

    `news` are events that others appended after its `head`, with their numbers. `numbers` are those
    of the batch's own events; None stands for an event that the news get in the way of, because
    they claim the same thing or retire its arm, and that was not kept.
    """

    news: Sequence[tuple[int, Event]]
    numbers: Sequence[int | None]


class Store(Protocol):
    """Keeps the events of campaigns. Any thread may call it.

    `shared` says whether other processes may append, too. One that does not append hears of their
    events by `campaigns`, whose heads have grown, and `read` behind the head that it knows.
    """

    shared: bool

    def campaigns(self) -> list[Record]:
        """Return all campaigns, oldest first."""
        ...

    def create(self, name: str, settings: str) -> Record:
        """Return the campaign of this name, and make it if there is none."""
        ...

    def append(self, batches: Sequence[Batch]) -> list[Kept]:
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
        """Keep a snapshot in place of the one before."""
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
    raise ValueError(
        "store must be memory:, sqlite:///FILE or postgresql://USER@HOST/DATABASE, "
        f"got {checks.short(url)}"
    )


def numbered(head: int, events: Sequence[Event], news: Sequence[tuple[int, Event]]) -> Kept:
    """Return numbers for events behind `head`, but for those that the news get in the way of."""
    taken = {claim for _, event in news for claim in event.claims}
    retired = {event.arm for _, event in news if event.kind == RETIRE}
    numbers: list[int | None] = []
    for event in events:
        is_gone = event.kind == DECISION and event.arm in retired
        if is_gone or (taken and not taken.isdisjoint(event.claims)):
            numbers.append(None)
        else:
            head += 1
            numbers.append(head)
    return Kept(news, numbers)


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
