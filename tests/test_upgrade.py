"""Databases that were written by version 0.2.0 open, and nothing in them changes."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any
from zlib import crc32

import psycopg
import pytest

from fallow.live.campaign import Campaign
from fallow.live.events import Event, checksum_after
from fallow.live.loading import load_state
from fallow.live.stores import VERSION, HistoryError, open_store

STORED = Path(__file__).parent / "stored"
EXPECTED: dict[str, Any] = json.loads((STORED / "events-0.2.0.json").read_text())
"""What version 0.2.0 made of the events."""
POSTGRES_1 = """
CREATE SCHEMA fallow;
CREATE TABLE fallow.campaigns (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE,
    settings text NOT NULL, head bigint NOT NULL DEFAULT 0
);
CREATE TABLE fallow.events (
    campaign integer NOT NULL, seq bigint NOT NULL, "kind" text NOT NULL,
    "at" double precision NOT NULL, "ref" bigint, "user" text, "arm" text, "delay" integer,
    "propensity" double precision, "reward" double precision, "expected" double precision,
    "key" text, PRIMARY KEY (campaign, seq)
);
CREATE TABLE fallow.snapshots (
    campaign integer PRIMARY KEY, seq bigint NOT NULL, content bytea NOT NULL
);
CREATE TABLE fallow.version (number integer NOT NULL);
INSERT INTO fallow.version VALUES (1);
"""
"""The tables of version 0.2.0 in PostgreSQL."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return Path(shutil.copy(STORED / "events-0.2.0.db", tmp_path / "store.db"))


def _copy_to_postgres(file: Path, url: str) -> None:
    """Write the same events as version 0.2.0 would have written them to PostgreSQL."""
    with sqlite3.connect(file) as source, psycopg.connect(url) as target:
        target.execute(POSTGRES_1)
        for number, name, settings in source.execute("SELECT * FROM campaigns ORDER BY number"):
            rows = source.execute(
                "SELECT * FROM events WHERE campaign = ? ORDER BY seq", (number,)
            ).fetchall()
            target.execute(
                "INSERT INTO fallow.campaigns (name, settings, head) VALUES (%s, %s, %s)",
                (name, settings, len(rows)),
            )
            with target.cursor().copy("COPY fallow.events FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        for row in source.execute("SELECT * FROM snapshots"):
            target.execute("INSERT INTO fallow.snapshots VALUES (%s, %s, %s)", row)
    source.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, file: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{file}"
    address = str(request.getfixturevalue("postgres").emptied())
    _copy_to_postgres(file, address)
    return address


def test_the_state_is_the_one_that_0_2_0_had(url: str) -> None:
    for _ in range(2):  # also when it is opened again
        store = open_store(url)
        for record in store.campaigns():
            state, expected = load_state(store, record), EXPECTED[record.name]
            for name in ("head", "arms", "retired", "counts", "sums", "waiting", "kinds"):
                assert getattr(state, name) == expected[name], name
            for key, number in expected["keys"].items():
                assert state.keys.get(key) == state.row(number)
            for user, shown in expected["recent"].items():
                recent = [
                    [state.numbers[at], state.arms[state.arm[at]]] for at in state.recent(user)
                ]
                assert recent == shown
        store.close()


def test_a_campaign_goes_on_and_its_history_gets_a_checksum(url: str) -> None:
    with Campaign.open(url, "morning", background=False, now=lambda: 1.8e9) as campaign:
        decision = campaign.decide("ann", key="new")
        assert decision.id == "morning-63"
        assert campaign.feedback(decision.id, 1.0) == "applied"
    store = open_store(url)
    record = next(each for each in store.campaigns() if each.name == "morning")
    checksum = crc32(record.settings.encode())
    for _, event in store.read(record.number):
        checksum = checksum_after(checksum, event)
    assert (record.head, record.checksum) == (64, checksum)
    store.close()


def test_the_settings_of_0_2_0_are_still_the_same(url: str) -> None:
    rules = {"cooldowns": 2, "at_least_once": {"polka": 6}}
    arms = ["hymn", "waltz", "polka"]
    Campaign.open(url, "morning", arms=arms, max_delay=4, explore=0.1, rules=rules).close()
    with pytest.raises(ValueError, match="must be those that it was made with"):
        Campaign.open(url, "morning", arms=arms, max_delay=5, explore=0.1, rules=rules)


def test_the_file_is_of_the_present_version_afterwards(file: Path) -> None:
    open_store(f"sqlite:///{file}").close()
    with sqlite3.connect(file) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
        names = [row[1] for row in connection.execute("PRAGMA table_info(events)")]
    connection.close()
    assert names == ["campaign", "seq", *Event._fields]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE events SET reward = 0.75 WHERE seq = 5 AND campaign = 1",
        "UPDATE events SET user = 'eve' WHERE seq = 1 AND campaign = 1",
        "UPDATE campaigns SET settings = replace(settings, '0.1', '0.2') WHERE number = 1",
        "DELETE FROM events WHERE campaign = 1 AND seq > 60",
    ],
)
def test_damage_is_noticed(file: Path, damage: str) -> None:
    url = f"sqlite:///{file}"
    with Campaign.open(url, "morning", background=False, now=lambda: 1.8e9) as campaign:
        decision = campaign.decide("ann")
        campaign.feedback(decision.id, 1.0)
    with sqlite3.connect(file) as connection:
        connection.execute("DELETE FROM snapshots")
        assert connection.execute(damage).rowcount > 0
    connection.close()
    with pytest.raises(HistoryError, match=r"damaged|another history|cannot be applied"):
        Campaign.open(url, "morning")
