"""SQLite in bad weather: killed, full, damaged, not alone."""

import os
import random
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pytest
from live_helpers import batch, decisions, kept_users, kill_appender

from fallow.live.stores import Store, StoreError, open_store

KILLS = 50 if os.environ.get("FALLOW_NIGHTLY") else 5


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A store with 5,000 decisions."""
    path = tmp_path / "radio.db"
    store = open_store(f"sqlite:///{path}")
    number = store.create("morning", "{}")[0].number
    store.append([batch(store, number, 0, decisions(*range(5000)))])
    store.close()
    return path


def refusal(path: Path) -> str:
    with pytest.raises(StoreError) as refused:
        open_store(f"sqlite:///{path}")
    assert str(path) in str(refused.value)
    return str(refused.value)


def test_a_second_process_is_refused_at_once_and_the_first_goes_on(file: Path) -> None:
    store = open_store(f"sqlite:///{file}")
    script = f"from fallow.live.stores import open_store; open_store('sqlite:///{file}')"
    second = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=100
    )
    assert second.returncode == 1
    assert "could not be opened: database is locked; it is open already, here or" in second.stderr
    assert "it is open already, here or in another process; close it there" in refusal(file)
    store.append([batch(store, 1, 5000, decisions("more"))])
    store.close()
    with closing(open_store(f"sqlite:///{file}")) as again:
        assert again.campaigns()[0].head == 5001


@pytest.mark.usefixtures("hasty_threads")
def test_of_many_that_make_the_file_at_once_one_has_it(tmp_path: Path) -> None:
    barrier = Barrier(8)

    def opened(path: Path) -> Store | None:
        barrier.wait(timeout=100)
        try:
            return open_store(f"sqlite:///{path}")
        except StoreError:
            return None

    with ThreadPoolExecutor(8) as pool:
        for number in range(6):
            (store,) = filter(None, pool.map(opened, [tmp_path / f"{number}.db"] * 8))
            assert store.create("morning", "{}")[0].head == 0
            store.close()


def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    text, foreign = tmp_path / "notes.txt", tmp_path / "photos.db"
    text.write_text("no database at all\n" * 1000)
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE events (number)")
    connection.close()
    before = foreign.read_bytes()
    assert "file is not a database; take another file" in refusal(text)
    assert "must be a store of fallow, got a database of something else" in refusal(foreign)
    assert foreign.read_bytes() == before
    assert "unable to open database file; it must be a file in a folder" in refusal(tmp_path)
    assert "unable to open database file" in refusal(tmp_path / "nowhere" / "radio.db")


def test_a_store_of_a_newer_version_is_refused(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 3")
    connection.close()
    assert "must be a store of version 2 or older, got 3; install a newer fallow" in refusal(file)


def test_damage_is_said_when_it_is_met(file: Path) -> None:
    content = bytearray(file.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = bytes([0xA5]) * 4096
    file.write_bytes(content)
    store = open_store(f"sqlite:///{file}")
    with pytest.raises(StoreError, match=rf"{file} could not be read: .*; restore it from a copy"):
        list(store.read(1))
    store.close()
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(StoreError, match="malformed; restore it from a copy"):
        list(open_store(f"sqlite:///{file}").read(1))


def test_events_that_are_missing_are_said(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("DELETE FROM events WHERE seq = 1700")
    connection.close()
    store = open_store(f"sqlite:///{file}")
    with pytest.raises(StoreError, match=r"numbered without a gap, got 1000 and then up to 2001"):
        list(store.read(1))
    store.close()


def test_a_batch_that_cannot_be_kept_leaves_nothing(file: Path) -> None:
    """Half of a batch is in, then one event cannot be written: a lone half of a character."""
    store = open_store(f"sqlite:///{file}")
    with pytest.raises(UnicodeEncodeError):
        store.append([batch(store, 1, 5000, decisions("fine", "\ud800"))])
    assert store.append([batch(store, 1, 5000, decisions("next"))])[0].numbers == [5001]
    assert [event.user for _, event in store.read(1, 5000)] == ["next"]
    store.close()
    with pytest.raises(StoreError, match="could not be read: Cannot operate on a closed database"):
        store.campaigns()


@pytest.mark.slow
@pytest.mark.parametrize("durable", [False, True])
def test_a_full_disk_keeps_what_was_acknowledged(disk: Path, durable: bool) -> None:
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(500_000))
    path = disk / "radio.db"
    store = open_store(f"sqlite:///{path}", durable)
    number = store.create("morning", "{}")[0].number
    acknowledged = 0

    def append_hundreds(times: int) -> None:
        nonlocal acknowledged
        for _ in range(times):
            users = range(acknowledged, acknowledged + 100)
            store.append([batch(store, number, acknowledged, decisions(*users))])
            acknowledged += 100

    message = rf"{path} could not be written to, and nothing of the batch was kept: .*; free some"
    with pytest.raises(StoreError, match=message):
        append_hundreds(1000)
    assert acknowledged > 1000
    with pytest.raises(StoreError, match="nothing of the batch was kept"):
        store.append(
            [batch(store, number, acknowledged, [])]
        )  # so that it is known to be full still
    with pytest.raises(StoreError, match="the snapshot was not kept"):
        store.keep_snapshot(number, acknowledged, bytes(500_000))
    assert store.campaigns()[0].head == acknowledged
    assert path.stat().st_mode & 0o777 == 0o600
    ballast.unlink()
    append_hundreds(1)
    store.close()
    again = open_store(f"sqlite:///{path}", durable)
    assert [event.user for _, event in again.read(number)] == list(map(str, range(acknowledged)))
    again.close()


@pytest.mark.slow
def test_a_read_only_disk_is_said(disk: Path) -> None:
    path = disk / "radio.db"
    open_store(f"sqlite:///{path}").close()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert "could not be opened: disk I/O error; it and its folder must be writable" in refusal(
        path
    )
    assert "could not be opened: unable to open database file" in refusal(disk / "new.db")
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    open_store(f"sqlite:///{path}").close()


@pytest.mark.slow
@pytest.mark.parametrize("durable", ["normal", "durable"])
def test_killed_processes_lose_nothing_that_they_acknowledged(tmp_path: Path, durable: str) -> None:
    url = f"sqlite:///{tmp_path}/radio.db"
    generator = random.Random(1)
    for _ in range(KILLS):
        safe = kill_appender(generator, url, durable, "after")
        store = open_store(url)
        users = kept_users(store)
        store.close()
        assert len(users) >= safe
        assert users == [str(number) for number in range(1, len(users) + 1)]


@pytest.mark.slow
def test_a_process_that_acknowledges_early_does_lose_events(tmp_path: Path) -> None:
    """The control: the test above can fail."""
    generator = random.Random(1)

    def lost(kill: int) -> bool:
        url = f"sqlite:///{tmp_path}/radio-{kill}.db"
        safe = kill_appender(generator, url, "durable", "early")
        store = open_store(url)
        users = kept_users(store)
        store.close()
        return len(users) < safe

    assert any(map(lost, range(20)))
