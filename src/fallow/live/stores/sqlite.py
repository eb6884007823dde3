"""Events in a file of SQLite, which one process at a time may use."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fallow.live.events import Event
from fallow.live.stores import Batch, Kept, Record, StoreError, numbered

SCHEMA = """
CREATE TABLE campaigns (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, settings TEXT NOT NULL
);
CREATE TABLE events (
    campaign INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, at REAL NOT NULL,
    ref INTEGER, user TEXT, arm TEXT, delay INTEGER, propensity REAL, reward REAL, expected REAL,
    key TEXT, PRIMARY KEY (campaign, seq)
) WITHOUT ROWID;
CREATE TABLE snapshots (
    campaign INTEGER PRIMARY KEY, seq INTEGER NOT NULL, content BLOB NOT NULL
);
PRAGMA user_version = 1;
"""
INSERT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


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

    def __init__(self, path: str, durable: bool) -> None:
        self._path = path
        with self._explained("opened"):
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            execute = self._connection.execute
            execute("PRAGMA locking_mode = EXCLUSIVE")
            execute("PRAGMA journal_mode = WAL")
            execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            if execute("PRAGMA user_version").fetchone()[0] == 0:
                self._connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
            self._heads = dict(execute("SELECT campaign, max(seq) FROM events GROUP BY campaign"))

    @contextmanager
    def _explained(self, done: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"{self._path} could not be {done}: {error}") from error

    def campaigns(self) -> list[Record]:
        """Return all campaigns, oldest first."""
        with self._explained("read"):
            rows = self._connection.execute("SELECT * FROM campaigns ORDER BY number").fetchall()
        return [
            Record(number, name, settings, self._heads.get(number, 0))
            for number, name, settings in rows
        ]

    def create(self, name: str, settings: str) -> Record:
        """Return the campaign of this name, and make it if there is none."""
        with self._explained("written to"):
            self._connection.execute(
                "INSERT OR IGNORE INTO campaigns (name, settings) VALUES (?, ?)", (name, settings)
            )
        return next(record for record in self.campaigns() if record.name == name)

    def append(self, batches: Sequence[Batch]) -> list[Kept]:
        """Keep events, all in one transaction."""
        kept, rows = [], []
        heads = dict(self._heads)
        for campaign, _, events in batches:
            head = heads.get(campaign, 0)
            kept.append(numbered(head, events, ()))
            rows += [(campaign, seq, *event) for seq, event in enumerate(events, head + 1)]
            heads[campaign] = head + len(events)
        with self._explained("written to"):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.executemany(INSERT, rows)
                self._connection.execute("COMMIT")
            except sqlite3.Error:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        self._heads = heads
        return kept

    def read(self, campaign: int, after: int = 0) -> Iterator[tuple[int, Event]]:
        """Yield a campaign's events behind a number, oldest first."""
        with self._explained("read"):
            rows = self._connection.execute(
                "SELECT seq, kind, at, ref, user, arm, delay, propensity, reward, expected, key "
                "FROM events WHERE campaign = ? AND seq > ? ORDER BY seq",
                (campaign, after),
            )
            for seq, *fields in rows:
                yield seq, Event(*fields)

    def snapshot(self, campaign: int) -> tuple[int, bytes] | None:
        """Return the latest snapshot and the number of the last event in it."""
        with self._explained("read"):
            row: tuple[int, bytes] | None = self._connection.execute(
                "SELECT seq, content FROM snapshots WHERE campaign = ?", (campaign,)
            ).fetchone()
        return row

    def keep_snapshot(self, campaign: int, head: int, content: bytes) -> None:
        """Keep a snapshot in place of the one before."""
        with self._explained("written to"):
            self._connection.execute(
                "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", (campaign, head, content)
            )

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()
