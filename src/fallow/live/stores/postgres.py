"""Events in PostgreSQL, for several processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any
from zlib import crc32

from fallow.errors import InputError
from fallow.extras import needed_by
from fallow.live.errors import ConflictError
from fallow.live.events import Event
from fallow.live.stores import (
    FIELDS,
    PAGE_EVENTS,
    VERSION,
    EventBatch,
    Kept,
    Record,
    StoreError,
    numbered,
    paged,
)

with needed_by("a store in PostgreSQL"):
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

SETTING_UP = int.from_bytes(b"fallow")
"""The advisory lock under which tables are made and brought up to date."""
SCHEMA = f"""
CREATE SCHEMA IF NOT EXISTS fallow;
CREATE TABLE IF NOT EXISTS fallow.campaigns (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE,
    settings text NOT NULL, head bigint NOT NULL DEFAULT 0, checksum bigint
);
CREATE TABLE IF NOT EXISTS fallow.events (
    campaign integer NOT NULL, seq bigint NOT NULL, "kind" text NOT NULL,
    "at" double precision NOT NULL, "ref" bigint, "user" text, "arm" text, "delay" integer,
    "propensity" double precision, "reward" double precision, "expected" double precision,
    "key" text, "reason" text, PRIMARY KEY (campaign, seq)
);
CREATE TABLE IF NOT EXISTS fallow.snapshots (
    campaign integer PRIMARY KEY, seq bigint NOT NULL, content bytea NOT NULL
);
CREATE TABLE IF NOT EXISTS fallow.version (number integer NOT NULL);
INSERT INTO fallow.version SELECT {VERSION} WHERE NOT EXISTS (SELECT FROM fallow.version);
"""
UPGRADES = {
    1: "ALTER TABLE fallow.campaigns ADD COLUMN checksum bigint; "
    'ALTER TABLE fallow.events ADD COLUMN "reason" text; ',
}
"""What brings the tables of a version to the next one."""
CONNECTION_TIMEOUTS: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "tcp_user_timeout": 10_000,
}
"""Seconds, and milliseconds, after which a server that does not answer is given up."""
LIMITS = "SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '10s'"
"""So that no process waits long for one that hangs."""
CAMPAIGNS = "SELECT number, name, settings, head, checksum FROM fallow.campaigns"
READ = (
    f"SELECT seq, {FIELDS} FROM fallow.events WHERE campaign = %s AND seq > %s "
    f"ORDER BY seq LIMIT {PAGE_EVENTS}"
)


class PostgresStore:
    """Keeps events in the schema `fallow` of a database.

    The row of a campaign is the lock under which its events are numbered. It is held until they are
    committed, so numbers are in the order of commits, and a reader of an event sees all before it.
    A connection that is lost is made again at the next call.

    Parameters
    ----------
    url
        As libpq has it: postgresql://USER:PASSWORD@HOST:PORT/DATABASE.
    """

    shared = True
    is_instant = False

    def __init__(self, url: str) -> None:
        try:
            self._conninfo = make_conninfo("", **CONNECTION_TIMEOUTS | conninfo_to_dict(url))
        except psycopg.ProgrammingError as error:
            raise InputError("store", "must be a URL of PostgreSQL", f"{error}") from error
        self._lock = Lock()
        self._connection: psycopg.Connection | None = None
        with self._connected("opened") as connection:
            version = _version(connection)
            if version < VERSION:
                with connection.transaction():
                    connection.execute("SELECT pg_advisory_xact_lock(%s)", (SETTING_UP,))
                    version = _version(connection)  # others may have been faster
                    upgrades = [UPGRADES[older] for older in range(max(version, 1), VERSION)]
                    for statement in [SCHEMA] if version == 0 else upgrades:
                        connection.execute(statement)
                    if upgrades:
                        connection.execute("UPDATE fallow.version SET number = %s", (VERSION,))
        if version > VERSION:
            self.close()
            raise StoreError(
                f"the store in PostgreSQL must be of version {VERSION} or older, got {version}; "
                "install a newer fallow"
            )

    @contextmanager
    def _connected(self, done: str) -> Iterator[psycopg.Connection]:
        """Lend the connection. After an error it is closed, and the next call makes another."""
        with self._lock:
            try:
                if self._connection is None or self._connection.closed:
                    self._connection = psycopg.connect(self._conninfo, autocommit=True)
                    self._connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
                    self._connection.execute(LIMITS)
                yield self._connection
            except psycopg.Error as error:
                if self._connection is not None:
                    self._connection.close()
                reason = " ".join(str(error).split())
                raise StoreError(f"PostgreSQL could not be {done}: {reason}") from error

    def campaigns(self) -> list[Record]:
        """Return all campaigns, oldest first."""
        with self._connected("read") as connection:
            rows = connection.execute(f"{CAMPAIGNS} ORDER BY number").fetchall()
        return [Record(*row) for row in rows]

    def create(self, name: str, settings: str) -> tuple[Record, bool]:
        """Return the campaign of this name, made if there is none, and whether it was."""
        with self._connected("written to") as connection:
            done = connection.execute(
                "INSERT INTO fallow.campaigns (name, settings, checksum) VALUES (%s, %s, %s) "
                "ON CONFLICT DO NOTHING",
                (name, settings, crc32(settings.encode())),
            )
            found = connection.execute(f"{CAMPAIGNS} WHERE name = %s", (name,))
            return Record(*_row(found)), done.rowcount == 1

    def append(self, batches: Sequence[EventBatch]) -> list[Kept]:
        """Keep events, all in one transaction, and return news of other processes."""
        kept = {}
        with self._connected("written to") as connection, connection.transaction():
            # In the same order in every process, so that no two wait for each other.
            for batch in sorted(batches, key=lambda batch: batch.campaign):
                kept[batch.campaign] = self._append(connection, batch)
        return [kept[batch.campaign] for batch in batches]

    def _append(self, connection: psycopg.Connection, batch: EventBatch) -> Kept:
        campaign, known, _, events = batch
        # The row is locked before anything is read, so that the news are all there are.
        lock = "SELECT head, checksum FROM fallow.campaigns WHERE number = %s FOR UPDATE"
        row = connection.execute(lock, (campaign,)).fetchone()
        head, checksum = (0, 0) if row is None else row  # no such campaign any more
        news: list[tuple[int, Event]] = []
        if head > known:
            news += paged(lambda last: _page(connection, campaign, last), known)
        kept = numbered(batch, head, checksum, news)
        pairs = zip(kept.numbers, events, strict=True)
        ours = [(campaign, number, *event) for number, event in pairs if number is not None]
        if ours:
            with connection.cursor().copy("COPY fallow.events FROM STDIN") as copy:
                for row in ours:
                    copy.write_row(row)
        if ours or checksum is None:
            connection.execute(
                "UPDATE fallow.campaigns SET head = %s, checksum = %s WHERE number = %s",
                (head + len(ours), kept.checksum, campaign),
            )
        return kept

    def read(self, campaign: int, after: int = 0) -> Iterator[tuple[int, Event]]:
        """Yield a campaign's events behind a number, oldest first."""

        def page(last: int) -> list[tuple[Any, ...]]:
            with self._connected("read") as connection:
                return _page(connection, campaign, last)

        return paged(page, after)

    def snapshot(self, campaign: int) -> tuple[int, bytes] | None:
        """Return the latest snapshot and the number of the last event in it."""
        with self._connected("read") as connection:
            row: tuple[int, bytes] | None = connection.execute(
                "SELECT seq, content FROM fallow.snapshots WHERE campaign = %s",
                (campaign,),
                binary=True,
            ).fetchone()
        return row

    def keep_snapshot(self, campaign: int, head: int, content: bytes) -> None:
        """Keep a snapshot instead of an older one."""
        with self._connected("written to") as connection:
            connection.execute(
                "INSERT INTO fallow.snapshots AS mine VALUES (%s, %s, %b) ON CONFLICT (campaign) "
                "DO UPDATE SET seq = excluded.seq, content = excluded.content "
                "WHERE mine.seq < excluded.seq",
                (campaign, head, content),
            )

    def backup(self, path: str) -> None:  # noqa: ARG002, PostgreSQL's own tools are better
        """Refuse: PostgreSQL has tools of its own."""
        raise ConflictError(
            "back up a store in PostgreSQL with pg_dump, see the guide to deployment"
        )

    def close(self) -> None:
        """Let go of the connection."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()


def _page(connection: psycopg.Connection, campaign: int, last: int) -> list[tuple[Any, ...]]:
    return connection.execute(READ, (campaign, last), binary=True).fetchall()


def _version(connection: psycopg.Connection) -> int:
    """Return the version of the tables, 0 if there are none."""
    (there,) = _row(connection.execute("SELECT to_regclass('fallow.version')"))
    if there is None:
        return 0
    (version,) = _row(connection.execute("SELECT number FROM fallow.version"))
    return int(version)


def _row(cursor: psycopg.Cursor[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the one row of an answer."""
    (row,) = cursor
    return row
