"""What every store promises; and SQLite in bad weather: killed, full, damaged, not alone."""

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from live_helpers import kept_users, kill_appender

from fallow.live.events import ARM, CANCEL, DECISION, FEEDBACK, Event
from fallow.live.folding import load_state
from fallow.live.settings import Settings
from fallow.live.state import State
from fallow.live.stores import PAGE, Batch, Store, StoreError, open_store

KILLS = 50 if os.environ.get("FALLOW_NIGHTLY") else 5
EVENTS = (
    Event(DECISION, 1.7e9 + 0.1, None, "Zoë 😀", "polka", 4, 0.1 + 0.2, None, 1 / 3, "key 1"),
    Event(FEEDBACK, 1.7e9 + 1e-6, ref=1, reward=0.1),
    Event(CANCEL, 0.0, ref=2**53 + 1),
    Event(ARM, 5e-324, arm="'; DROP TABLE events; --\t\\N\n"),
)
Reopen = Callable[[], Store]


def decisions(*users: object) -> list[Event]:
    return [Event(DECISION, 0.5, user=str(user)) for user in users]


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres").emptied())
    return "memory:" if request.param == "memory" else f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def reopen(url: str) -> Iterator[Reopen]:
    """Close the store and open it again; in memory it stays as it is."""
    stores = [open_store(url)]

    def again() -> Store:
        if url != "memory:":
            stores[-1].close()
            stores.append(open_store(url))
        return stores[-1]

    yield again
    stores[-1].close()


def test_events_come_back_as_they_were_also_after_reopening(reopen: Reopen) -> None:
    store = reopen()
    first, second = store.create("a", "{}"), store.create("b", "[]")
    assert (first.head, second.head, second.settings) == (0, 0, "[]")
    batches = [Batch(second.number, 0, EVENTS[:2]), Batch(first.number, 0, EVENTS)]
    kept = store.append(batches)
    assert [each.numbers for each in kept] == [[1, 2], [1, 2, 3, 4]]
    assert not any(each.news for each in kept)
    assert store.append([Batch(second.number, 2, EVENTS[2:])])[0].numbers == [3, 4]
    store = reopen()
    assert [(each.name, each.head) for each in store.campaigns()] == [("a", 4), ("b", 4)]
    for campaign in store.campaigns():
        assert list(store.read(campaign.number)) == list(enumerate(EVENTS, 1))
        assert list(store.read(campaign.number, 3)) == [(4, EVENTS[3])]
        assert list(store.read(campaign.number, 4)) == []
    assert all(type(event) is Event for _, event in store.read(first.number))


def test_a_campaign_is_made_once(reopen: Reopen) -> None:
    store = reopen()
    first = store.create("morning", "{}")
    store.append([Batch(first.number, 0, EVENTS)])
    again = store.create("morning", '{"other": 1}')
    assert again == first._replace(head=4)
    assert store.campaigns() == [again]


def test_the_latest_snapshot_counts(reopen: Reopen) -> None:
    store = reopen()
    one, other = store.create("one", "{}").number, store.create("other", "{}").number
    assert store.snapshot(one) is None
    store.keep_snapshot(one, 3, b"old")
    store.keep_snapshot(one, 5, b"new\0" + bytes(range(256)) * 10_000)
    store = reopen()
    assert store.snapshot(one) == (5, b"new\0" + bytes(range(256)) * 10_000)
    assert store.snapshot(other) is None


def test_reading_lets_others_append_and_sees_what_they_did(reopen: Reopen) -> None:
    store = reopen()
    number = store.create("long", "{}").number
    store.append([Batch(number, 0, decisions(*range(2 * PAGE)))])
    reading = store.read(number)
    assert next(reading)[0] == 1
    store.append([Batch(number, 2 * PAGE, decisions("late"))])
    assert sum(1 for _ in reading) >= 2 * PAGE - 1
    assert [event.user for _, event in store.read(number, 2 * PAGE)] == ["late"]


def test_threads_may_append_and_read_at_once(reopen: Reopen) -> None:
    """What is read was committed: numbers never take back what they stood for."""
    store = reopen()
    records = [store.create(name, "{}") for name in "ab"]

    def append(number: int) -> None:
        for head in range(0, 300, 3):
            store.append([Batch(number, head, decisions(head, head + 1, head + 2))])

    def read(number: int, appending: Future[None]) -> int:
        seen = 0
        is_over = False
        while not is_over:
            is_over = appending.done()
            for seq, event in store.read(number, seen):
                assert (seq, event.user) == (seen + 1, str(seen))
                seen = seq
        return seen

    with ThreadPoolExecutor(4) as pool:
        appending = [pool.submit(append, record.number) for record in records]
        reading = map(pool.submit, [read] * 2, [record.number for record in records], appending)
        assert [job.result(timeout=100) for job in list(reading)] == [300, 300]


def test_a_damaged_snapshot_is_left_alone_and_all_events_are_read(reopen: Reopen) -> None:
    store = reopen()
    settings = Settings(("polka", "waltz"), max_delay=3)
    record = store.create("morning", settings.to_json())
    store.append([Batch(record.number, 0, EVENTS[:2])])
    state = load_state(store, record)
    assert (state.head, state.counts[0]) == (2, [0, 0, 0, 1])
    content = state.to_bytes()
    assert State.from_bytes(content).to_bytes() == content
    store.keep_snapshot(record.number, 2, content[:-1] + bytes([content[-1] ^ 1]))
    assert load_state(store, record).to_bytes() == content


def test_the_oldest_open_decision_is_found_again() -> None:
    settings = Settings(("polka",), max_delay=3, wait=1.0)
    state = State(settings)
    assert list(state.overdue(9.0)) == []
    for number in range(1, 4):
        state.apply(number, Event(DECISION, 1.0, None, "ann", "polka", 1))
    state.apply(4, Event(FEEDBACK, 1.5, ref=1, reward=1.0))
    content = state.to_bytes()
    assert list(state.overdue(2.0)) == [1, 2]
    assert state.to_bytes() == content
    assert list(State.from_bytes(content).overdue(2.0)) == [1, 2]


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:radio.db", "mysql://there", "radio.db", ""])
def test_a_url_of_no_store_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"store must be memory:, sqlite:///FILE or postgresql"):
        open_store(url)


# SQLite alone.


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A store with 5,000 decisions."""
    path = tmp_path / "radio.db"
    store = open_store(f"sqlite:///{path}")
    number = store.create("morning", "{}").number
    store.append([Batch(number, 0, decisions(*range(5000)))])
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
    assert "could not be opened: database is locked; another process has it open" in second.stderr
    assert "another process has it open; end that one" in refusal(file)
    store.append([Batch(1, 5000, decisions("more"))])
    store.close()
    assert open_store(f"sqlite:///{file}").campaigns()[0].head == 5001


def test_of_many_that_make_the_file_at_once_one_has_it(tmp_path: Path) -> None:
    barrier = Barrier(8)

    def opened(_: int) -> Store | None:
        barrier.wait(timeout=100)
        try:
            return open_store(f"sqlite:///{tmp_path}/new.db")
        except StoreError:
            return None

    with ThreadPoolExecutor(8) as pool:
        (store,) = filter(None, pool.map(opened, range(8)))
    assert store.create("morning", "{}").head == 0
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
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    assert "must be a store of version 1 or older, got 2; install a newer fallow" in refusal(file)


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
        store.append([Batch(1, 5000, decisions("fine", "\ud800"))])
    assert store.append([Batch(1, 5000, decisions("next"))])[0].numbers == [5001]
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
    number = store.create("morning", "{}").number
    acknowledged = 0

    def append_hundreds(times: int) -> None:
        nonlocal acknowledged
        for _ in range(times):
            users = range(acknowledged, acknowledged + 100)
            store.append([Batch(number, acknowledged, decisions(*users))])
            acknowledged += 100

    message = rf"{path} could not be written to, and nothing of the batch was kept: .*; free some"
    with pytest.raises(StoreError, match=message):
        append_hundreds(1000)
    assert acknowledged > 1000
    with pytest.raises(StoreError, match="the snapshot was not kept"):
        store.keep_snapshot(number, acknowledged, bytes(500_000))
    assert store.campaigns()[0].head == acknowledged
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
