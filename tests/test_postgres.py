"""PostgreSQL: several processes, connections that are lost, and servers that are killed."""

import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier

import psycopg
import pytest
from helpers import python_path
from live_helpers import acknowledged, batch, kept_users, kill_appender, run_appender

from benchmarks.postgres import Postgres
from fallow.live.events import DECISION, FEEDBACK, Event
from fallow.live.loading import load_state
from fallow.live.stores import PAGE_EVENTS, Store, StoreError, open_store

pytestmark = pytest.mark.slow
KILLS = 10 if os.environ.get("FALLOW_NIGHTLY") else 2


@pytest.fixture
def url(postgres: Postgres) -> str:
    return postgres.emptied()


@pytest.fixture
def stores(url: str) -> Iterator[tuple[Store, Store]]:
    """Two that share a database, as two processes would."""
    pair = open_store(url), open_store(url)
    yield pair
    for store in pair:
        store.close()


def decision(user: str, key: str | None = None) -> Event:
    return Event(DECISION, 0.5, user=user, key=key)


def kill_connections(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid != pg_backend_pid()"
        )


def test_news_come_in_order_and_what_they_get_in_the_way_of_is_not_kept(
    stores: tuple[Store, Store],
) -> None:
    one, other = stores
    number = one.create("shared", "{}")[0].number
    theirs = [decision("ann", "k"), decision("bob"), Event(FEEDBACK, 0.5, ref=1, reward=0.5)]
    one.append([batch(one, number, 0, theirs)])
    ours = [
        decision("ann"),
        decision("carl"),
        decision("dora", "k"),
        Event(FEEDBACK, 0.5, ref=1, reward=0.5),
        Event(FEEDBACK, 0.5, ref=2, reward=0.5),
    ]
    (kept,) = other.append([batch(other, number, 0, ours)])
    assert list(kept.news) == list(enumerate(theirs, 1))
    assert kept.numbers == [None, 4, None, None, 5]
    (kept,) = one.append([batch(one, number, 3, [])])
    assert list(kept.news) == [(4, ours[1]), (5, ours[4])]
    assert list(one.read(number)) == list(enumerate([*theirs, ours[1], ours[4]], 1))
    assert one.campaigns() == other.campaigns()
    assert one.campaigns()[0].head == 5


def test_many_news_come_in_pages(stores: tuple[Store, Store]) -> None:
    one, other = stores
    number = one.create("shared", "{}")[0].number
    theirs = [decision(str(user)) for user in range(2 * PAGE_EVENTS + 1)]
    one.append([batch(one, number, 0, theirs)])
    (kept,) = other.append([batch(other, number, 0, [decision("7"), decision("new")])])
    assert list(kept.news) == list(enumerate(theirs, 1))
    assert kept.numbers == [None, 2 * PAGE_EVENTS + 2]


def test_processes_that_append_to_the_same_campaigns_do_not_wait_for_each_other(
    stores: tuple[Store, Store],
) -> None:
    numbers = [stores[0].create(name, "{}")[0].number for name in "ab"]
    barrier = Barrier(2)

    def append(store: Store, ordered: list[int], mine: str) -> None:
        barrier.wait(timeout=100)
        heads = dict.fromkeys(ordered, 0)
        for step in range(100):
            events = [decision(f"{mine}{step}")]
            kept = store.append([batch(store, number, heads[number], events) for number in ordered])
            for number, each in zip(ordered, kept, strict=True):
                heads[number] += len(each.news) + 1
                assert each.numbers == [heads[number]]

    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(append, stores[0], numbers, "x"),
            pool.submit(append, stores[1], numbers[::-1], "y"),
        ]
        for job in jobs:
            job.result(timeout=100)
    assert [record.head for record in stores[0].campaigns()] == [200, 200]


def test_of_many_that_make_the_tables_at_once_none_fails(url: str) -> None:
    barrier = Barrier(8)

    def opened(_: int) -> int:
        barrier.wait(timeout=100)
        store = open_store(url)
        number = store.create("shared", "{}")[0].number
        store.close()
        return number

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(opened, range(8)))) == 1


def test_a_lost_connection_is_said_and_made_anew(url: str) -> None:
    store = open_store(url)
    number = store.create("shared", "{}")[0].number
    store.append([batch(store, number, 0, [decision("ann")])])
    next_one = batch(store, number, 1, [decision("bob")])
    kill_connections(url)
    with pytest.raises(StoreError, match=r"PostgreSQL could not be written to: .*connection"):
        store.append([next_one])
    assert store.append([next_one])[0].numbers == [2]
    reading = store.read(number)
    next(reading)
    kill_connections(url)
    with pytest.raises(StoreError, match="PostgreSQL could not be read"):
        store.campaigns()
    assert [event.user for _, event in store.read(number)] == ["ann", "bob"]
    store.close()


def test_a_commit_that_is_not_answered_comes_as_news(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(url)
    number = store.create("shared", "{}")[0].number
    whole = psycopg.Connection.transaction

    @contextmanager
    def unanswered(connection: psycopg.Connection) -> Iterator[None]:
        with whole(connection):
            yield
        raise psycopg.OperationalError("the server went away")

    monkeypatch.setattr(psycopg.Connection, "transaction", unanswered)
    with pytest.raises(StoreError, match="could not be written to: the server went away"):
        store.append([batch(store, number, 0, [decision("ann")])])
    monkeypatch.undo()
    (kept,) = store.append([batch(store, number, 0, [decision("ann"), decision("bob")])])
    assert list(kept.news) == [(1, decision("ann"))]
    assert kept.numbers == [None, 2]
    store.close()


@pytest.mark.parametrize(
    ("text", "error"), [("\0", StoreError), ("\ud800", UnicodeEncodeError)], ids=["nul", "half"]
)
def test_a_batch_that_cannot_be_kept_leaves_nothing(
    url: str, text: str, error: type[Exception]
) -> None:
    store = open_store(url)
    first, second = store.create("a", "{}")[0].number, store.create("b", "{}")[0].number
    batches = [batch(store, first, 0, [decision("ann")]), batch(store, second, 0, [decision(text)])]
    with pytest.raises(error):
        store.append(batches)
    assert [record.head for record in store.campaigns()] == [0, 0]
    assert list(store.read(first)) == []
    assert store.append([batch(store, first, 0, [decision("ann")])])[0].numbers == [1]
    store.close()


def test_a_store_that_has_lost_events_is_refused(url: str) -> None:
    """As after a move to a copy that lags behind: its next numbers were given out before."""
    store = open_store(url)
    number = store.create("shared", "{}")[0].number
    with pytest.raises(StoreError, match="another history than this process, which knows 7 events"):
        store.append([batch(store, number, 7, [decision("ann")])])
    assert store.campaigns()[0].head == 0
    store.close()


def test_a_store_of_a_newer_version_is_refused(url: str) -> None:
    open_store(url).close()
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE fallow.version SET number = 3")
    with pytest.raises(StoreError, match="must be of version 2 or older, got 3"):
        open_store(url)


def test_an_older_snapshot_of_a_slower_process_does_not_count(stores: tuple[Store, Store]) -> None:
    number = stores[0].create("shared", "{}")[0].number
    stores[0].keep_snapshot(number, 5, b"new")
    stores[1].keep_snapshot(number, 3, b"old")
    assert stores[1].snapshot(number) == (5, b"new")


def test_a_server_that_is_not_there_and_a_bad_url_are_said() -> None:
    with pytest.raises(StoreError, match="PostgreSQL could not be opened: connection"):
        open_store("postgresql://nobody:secret@127.0.0.1:1/none")
    with pytest.raises(ValueError, match=r"store must be a URL of PostgreSQL, got .*colour"):
        open_store("postgresql://127.0.0.1/none?colour=blue")


def test_a_password_is_not_told(postgres: Postgres) -> None:
    url = postgres.emptied().replace("postgres@", "nobody:secret@")
    with pytest.raises(StoreError) as refused:
        open_store(url)
    assert "secret" not in str(refused.value)


def test_killed_servers_and_processes_lose_nothing_that_was_acknowledged(
    postgres: Postgres, url: str
) -> None:
    """Every second time the process is killed, too; otherwise it goes on when the server does."""
    generator = random.Random(1)
    for kill in range(KILLS):
        with run_appender(url, "durable", "after") as process:
            safe = acknowledged(process, generator.randint(1, 100))
            if kill % 2:
                process.kill()
            postgres.stop("immediate")
            postgres.start()
            if kill % 2 == 0:
                safe = acknowledged(process, 200)
        store = open_store(url)
        users = kept_users(store)
        store.close()
        assert len(users) >= safe
        assert users == [str(number) for number in range(1, len(users) + 1)]


def test_a_process_that_acknowledges_early_does_lose_events(postgres: Postgres, url: str) -> None:
    """The control: the test above can fail."""
    generator = random.Random(1)

    def lost(_: int) -> bool:
        safe = kill_appender(generator, postgres.emptied(), "durable", "early")
        store = open_store(url)
        users = kept_users(store)
        store.close()
        return len(users) < safe

    assert any(map(lost, range(20)))


def test_two_processes_that_decide_for_the_same_users_make_one_chain(url: str) -> None:
    open_store(url).close()
    environment = {**os.environ, "PYTHONPATH": python_path()}
    rounds = 100
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "decider_process", url, seed, str(rounds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for seed in "12"
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "done\n"
    known = {process.communicate("\n", timeout=100)[0] for process in processes}
    store = open_store(url)
    (record,) = store.campaigns()
    state = load_state(store, record)
    pairs = list(store.read(record.number))
    store.close()
    assert record.head == len(pairs) == 2 * 2 * rounds + 1
    assert known == {f"{record.head} {hashlib.sha256(state.to_bytes()).hexdigest()}\n"}
    shown: dict[str | None, list[str | None]] = {}
    for _, event in pairs:
        if event.kind == DECISION:
            past = shown.setdefault(event.user, [])
            rested = [delay for delay, arm in enumerate(reversed(past), 1) if arm == event.arm]
            assert event.delay == min([*rested, 4])
            past.append(event.arm)
    assert sum(map(len, shown.values())) == 2 * rounds
