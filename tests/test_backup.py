"""A copy of a store, made while it is used or by a command."""

from __future__ import annotations

import stat
import threading
import time
from pathlib import Path

import pytest
from helpers import runner
from live_helpers import batch, decisions
from service_helpers import SECRETS, Asked, play

from fallow.cli import app
from fallow.live.service.tokens import READER, WRITER
from fallow.live.stores import Store, StoreError, open_store
from fallow.live.stores.sqlite import SQLiteStore


def _events(path: Path) -> list[tuple[int, object]]:
    store = open_store(f"sqlite:///{path}")
    try:
        return [pair for record in store.campaigns() for pair in store.read(record.number)]
    finally:
        store.close()


def _filled(path: Path, count: int) -> Store:
    store = open_store(f"sqlite:///{path}")
    number = store.create("morning", "{}")[0].number
    store.append([batch(store, number, 0, decisions(*range(count)))])
    return store


def test_a_backup_has_all_events_while_others_append(tmp_path: Path) -> None:
    store = _filled(tmp_path / "store.db", 30_000)
    number = store.campaigns()[0].number
    appended = 0
    is_over = threading.Event()

    first = batch(store, number, 30_000, decisions("late"))

    def append() -> None:
        nonlocal appended
        late = first
        while not is_over.is_set():
            (kept,) = store.append([late])
            appended += 1
            late = late._replace(head=late.head + 1, checksum=kept.checksum)

    thread = threading.Thread(target=append)
    thread.start()
    while appended == 0:
        time.sleep(0.001)
    try:
        store.backup(str(tmp_path / "copy.db"))
    finally:
        is_over.set()
        thread.join()
    store.close()
    whole, copied = _events(tmp_path / "store.db"), _events(tmp_path / "copy.db")
    assert appended > 0
    assert len(whole) == 30_000 + appended
    assert 30_000 <= len(copied) <= len(whole)
    assert copied == whole[: len(copied)]
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600


def test_a_backup_never_overwrites(tmp_path: Path) -> None:
    store = _filled(tmp_path / "store.db", 1)
    (tmp_path / "copy.db").write_text("precious")
    with pytest.raises(StoreError, match="already exists"):
        store.backup(str(tmp_path / "copy.db"))
    store.close()
    assert (tmp_path / "copy.db").read_text() == "precious"


def test_the_command_copies_a_store_and_says_what_it_did(tmp_path: Path) -> None:
    _filled(tmp_path / "store.db", 100).close()
    url, copy = f"sqlite:///{tmp_path}/store.db", tmp_path / "copy.db"
    result = runner.invoke(app, ["backup", url, str(copy)])
    assert result.exit_code == 0, result.output
    assert f"copied {url} to {copy}" in result.output
    assert len(_events(copy)) == 100
    again = runner.invoke(app, ["backup", url, str(copy)])
    assert (again.exit_code, "already exists" in again.stderr) == (2, True)
    missing = runner.invoke(app, ["backup", f"sqlite:///{tmp_path}/none.db", str(tmp_path / "b")])
    assert (missing.exit_code, "must be a store that exists" in missing.stderr) == (2, True)
    assert not (tmp_path / "none.db").exists()


def test_the_command_says_how_to_copy_a_store_that_is_served(tmp_path: Path) -> None:
    store = _filled(tmp_path / "store.db", 1)
    result = runner.invoke(app, ["backup", f"sqlite:///{tmp_path}/store.db", str(tmp_path / "c")])
    store.close()
    assert result.exit_code == 2
    assert "GET /v1/backup" in result.stderr


def test_a_service_sends_its_store_to_an_admin(tmp_path: Path) -> None:
    async def scene(asked: Asked) -> None:
        for role in (READER, WRITER):
            assert (await asked.ask("GET", "/v1/backup", secret=SECRETS[role])).status == 403
        await asked.decide("ann", "key")
        answer = await asked.ask("GET", "/v1/backup")
        assert answer.status == 200
        (tmp_path / "copy.db").write_bytes(answer.body)
        await asked.decide("bob")

    play(scene, SQLiteStore(str(tmp_path / "store.db"), False))
    whole, copied = _events(tmp_path / "store.db"), _events(tmp_path / "copy.db")
    assert len(whole) == 2
    assert copied == whole[:1]


def test_a_store_in_memory_has_no_backup(tmp_path: Path) -> None:
    result = runner.invoke(app, ["backup", "memory:", str(tmp_path / "copy.db")])
    assert (result.exit_code, "has no backup" in result.stderr) == (2, True)

    async def scene(asked: Asked) -> None:
        assert (await asked.ask("GET", "/v1/backup")).status == 409

    play(scene)
