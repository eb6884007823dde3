"""Events in a file of SQLite, which one process at a time may use."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any
from zlib import crc32

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

APPLICATION = int.from_bytes(b"flow")
"""What marks a database as one of these."""
SCHEMA = (
    "CREATE TABLE campaigns (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
    "settings TEXT NOT NULL, checksum INTEGER)",
    'CREATE TABLE events (campaign INTEGER NOT NULL, seq INTEGER NOT NULL, "kind" TEXT NOT NULL, '
    '"at" REAL NOT NULL, "ref" INTEGER, "user" TEXT, "arm" TEXT, "delay" INTEGER, '
    '"propensity" REAL, "reward" REAL, "expected" REAL, "key" TEXT, "reason" TEXT, '
    "PRIMARY KEY (campaign, seq)) WITHOUT ROWID",
    "CREATE TABLE snapshots (campaign INTEGER PRIMARY KEY, seq INTEGER NOT NULL, "
    "content BLOB NOT NULL)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)
UPGRADES = {
    1: (
        "ALTER TABLE campaigns ADD COLUMN checksum INTEGER",
        'ALTER TABLE events ADD COLUMN "reason" TEXT',
    ),
}
"""What brings the tables of a version to the next one."""
INSERT = f"INSERT INTO events VALUES (?, ?{', ?' * len(Event._fields)})"
HEAD = "SELECT coalesce(max(seq), 0) FROM events WHERE campaign = "
CAMPAIGNS = f"SELECT number, name, settings, ({HEAD} number), checksum FROM campaigns"
STATE = f"SELECT ({HEAD} number), checksum FROM campaigns WHERE number = ?"
READ = (
    f"SELECT seq, {FIELDS} FROM events WHERE campaign = ? AND seq > ? "
    f"ORDER BY seq LIMIT {PAGE_EVENTS}"
)
TRIAL = (
    "INSERT OR REPLACE INTO snapshots VALUES (-1, 0, zeroblob(16384))",
    "DELETE FROM snapshots WHERE campaign = -1",
)
"""Written and removed where nothing is to be kept, to see whether something could be."""
OPEN_SECONDS, RETRY_PAUSE_SECONDS = 0.5, 0.05
"""Seconds in which a file is tried again that others open, too, and at most between two tries."""
BACKUP_PAGES, BACKUP_PAUSE = 256, 0.005
"""Pages that a backup copies at once, and seconds after which it tries again between commits."""
WHAT_TO_DO = {
    sqlite3.SQLITE_BUSY: "it is open already, here or in another process; close it there, take "
    "another file, or PostgreSQL for several at once",
    sqlite3.SQLITE_CANTOPEN: "it must be a file in a folder that is there and can be written to",
    sqlite3.SQLITE_CORRUPT: "restore it from a copy; 'sqlite3 FILE .recover' saves what it can",
    sqlite3.SQLITE_FULL: "free some space and try again",
    sqlite3.SQLITE_IOERR: "it and its folder must be writable, and the disk in order",
    sqlite3.SQLITE_NOTADB: "take another file",
    sqlite3.SQLITE_READONLY: "it and its folder must be writable",
}


class SQLiteStore:
    """Keeps events in a file, in the journal mode WAL.

    Parameters
    ----------
    path
        The file; it is made if it is not there.
    durable
        Wait for the disk at every commit.
    """

    shared = False
    is_instant = False

    def __init__(self, path: str, durable: bool) -> None:
        self._path = path
        self._lock = Lock()
        with self._explained("opened"):
            self._open(durable, time.monotonic() + OPEN_SECONDS)

    def _open(self, durable: bool, give_up_at: float) -> None:
        """Open the file; try again, as those who come at once may keep each other from it."""
        while True:
            self._connection = sqlite3.connect(
                self._path, timeout=0, isolation_level=None, check_same_thread=False
            )
            try:
                return self._set_up(durable)
            except BaseException as error:
                self._connection.close()
                code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
                if code != sqlite3.SQLITE_BUSY or time.monotonic() > give_up_at:
                    raise
            time.sleep(random.uniform(0, RETRY_PAUSE_SECONDS))

    def _set_up(self, durable: bool) -> None:
        execute = self._connection.execute
        execute("PRAGMA locking_mode = EXCLUSIVE")  # kept until the end, even that of kill -9
        with self._transaction("EXCLUSIVE"):
            ((application,),) = execute("PRAGMA application_id")
            ((version,),) = execute("PRAGMA user_version")
            ((tables,),) = execute("SELECT count(*) FROM sqlite_master")
            if application == version == tables == 0:
                for statement in SCHEMA:
                    execute(statement)
                with suppress(OSError):  # where the disk knows no owners
                    os.chmod(self._path, 0o600)  # it will have the names of users
            elif application != APPLICATION:
                raise StoreError(
                    f"{self._path} must be a store of fallow, got a database of something else; "
                    "take another file"
                )
            elif version > VERSION:
                raise StoreError(
                    f"{self._path} must be a store of version {VERSION} or older, got {version}; "
                    "install a newer fallow"
                )
            else:
                for older in range(version, VERSION):
                    for statement in UPGRADES[older]:
                        execute(statement)
                execute(f"PRAGMA user_version = {VERSION}")
        execute("PRAGMA journal_mode = WAL")
        execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")

    @contextmanager
    def _explained(self, done: str) -> Iterator[None]:
        try:
            with self._lock:
                yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            advice = f"; {WHAT_TO_DO[code]}" if code in WHAT_TO_DO else ""
            raise StoreError(f"{self._path} could not be {done}: {error}{advice}") from error

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[None]:
        self._connection.execute(f"BEGIN {kind}")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def campaigns(self) -> list[Record]:
        """Return all campaigns, oldest first."""
        with self._explained("read"):
            rows = self._connection.execute(f"{CAMPAIGNS} ORDER BY number").fetchall()
        return [Record(*row) for row in rows]

    def create(self, name: str, settings: str) -> tuple[Record, bool]:
        """Return the campaign of this name, made if there is none, and whether it was."""
        with self._explained("written to, and nothing was kept"):
            done = self._connection.execute(
                "INSERT OR IGNORE INTO campaigns (name, settings, checksum) VALUES (?, ?, ?)",
                (name, settings, crc32(settings.encode())),
            )
        return self._record(name), done.rowcount == 1

    def _record(self, name: str) -> Record:
        with self._explained("read"):
            row = self._connection.execute(f"{CAMPAIGNS} WHERE name = ?", (name,)).fetchone()
        return Record(*row)

    def append(self, batches: Sequence[EventBatch]) -> list[Kept]:
        """Keep events, all in one transaction."""
        kept = []
        if not any(batch.events for batch in batches):
            self._try_to_write()
        with (
            self._explained("written to, and nothing of the batch was kept"),
            self._transaction("IMMEDIATE"),
        ):
            for batch in batches:
                campaign = batch.campaign
                row = self._connection.execute(STATE, (campaign,)).fetchone()
                head, checksum = (0, 0) if row is None else row  # no such campaign any more
                is_known = batch.head >= head
                news = [] if is_known else list(paged(self._pages(campaign), batch.head))
                kept.append(numbered(batch, head, checksum, news))
                pairs = zip(kept[-1].numbers, batch.events, strict=True)
                rows = [(campaign, seq, *event) for seq, event in pairs if seq is not None]
                self._connection.executemany(INSERT, rows)
                self._connection.execute(
                    "UPDATE campaigns SET checksum = ? WHERE number = ?",
                    (kept[-1].checksum, campaign),
                )
        return kept

    def _try_to_write(self) -> None:
        with self._explained("written to, and nothing of the batch was kept"):
            for statement in TRIAL:
                self._connection.execute(statement)

    def read(self, campaign: int, after: int = 0) -> Iterator[tuple[int, Event]]:
        """Yield a campaign's events behind a number, oldest first."""
        read = self._pages(campaign)

        def page(last: int) -> list[tuple[Any, ...]]:
            with self._explained("read"):
                return read(last)

        return paged(page, after)

    def _pages(self, campaign: int) -> Callable[[int], list[tuple[Any, ...]]]:
        return lambda last: self._connection.execute(READ, (campaign, last)).fetchall()

    def snapshot(self, campaign: int) -> tuple[int, bytes] | None:
        """Return the latest snapshot and the number of the last event in it."""
        with self._explained("read"):
            row: tuple[int, bytes] | None = self._connection.execute(
                "SELECT seq, content FROM snapshots WHERE campaign = ?", (campaign,)
            ).fetchone()
        return row

    def keep_snapshot(self, campaign: int, head: int, content: bytes) -> None:
        """Keep a snapshot instead of the one before."""
        with self._explained("written to, and the snapshot was not kept"):
            self._connection.execute(
                "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", (campaign, head, content)
            )

    def backup(self, path: str) -> None:
        """Write a copy of the whole store to a file that does not exist, while others use it.

        It is copied a few pages at a time, between the transactions of other threads.
        """
        if os.path.exists(path):
            raise StoreError(f"{path} already exists; back up to another file")
        target = sqlite3.connect(path)
        try:
            os.chmod(path, 0o600)  # it has the names of users
            self._connection.backup(target, pages=BACKUP_PAGES, sleep=BACKUP_PAUSE)
        except sqlite3.Error as error:
            raise StoreError(f"{self._path} could not be copied to {path}: {error}") from error
        finally:
            target.close()

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()
