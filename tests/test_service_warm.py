"""Compiling beside the service."""

import asyncio
import math
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest
from service_helpers import PATIENCE

from fallow import kernels
from fallow.live.service import warm
from fallow.live.service.host import Host
from fallow.live.stores.memory import MemoryStore


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what is done in this process; nothing is compiled, and nothing stays changed."""
    done: list[str] = []
    monkeypatch.setattr(warm, "compile_decisions", lambda: done.append("compiled here"))
    monkeypatch.setattr(kernels.INTERPRETER, "steps", kernels.INTERPRETER.steps)
    return done


def warmed_up() -> None:
    async def whole() -> None:
        host = Host(MemoryStore())
        await warm.warm_up(host)
        await host.close()

    asyncio.run(asyncio.wait_for(whole(), PATIENCE))


def test_the_interpreter_does_all_until_another_process_has_compiled(
    monkeypatch: pytest.MonkeyPatch, done: list[str]
) -> None:
    async def run(*command: str) -> None:
        assert math.isinf(kernels.INTERPRETER.steps)
        assert command[0] == sys.executable
        done.append("compiled elsewhere")

    monkeypatch.setattr(warm, "_run", run)
    warmed_up()
    assert done == ["compiled elsewhere", "compiled here"]


def test_it_compiles_here_where_no_process_can_be_had(
    monkeypatch: pytest.MonkeyPatch, done: list[str]
) -> None:
    def fail(*_: Any, **__: Any) -> NoReturn:
        raise OSError("no memory for it")

    monkeypatch.setattr(subprocess, "Popen", fail)
    warmed_up()
    assert done == ["compiled here"]


@pytest.mark.slow
def test_nothing_in_the_folder_is_taken_for_a_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: list[str]
) -> None:
    (tmp_path / "numba.py").write_text("open('executed', 'w')")
    monkeypatch.chdir(tmp_path)
    warmed_up()
    assert done == ["compiled here"]
    assert not (tmp_path / "executed").exists()


@pytest.mark.slow
def test_a_process_that_is_not_waited_for_is_ended(tmp_path: Path) -> None:
    code = (
        f"import pathlib, time; pathlib.Path({str(tmp_path / 'begun')!r}).touch(); time.sleep(99)"
    )

    async def whole() -> None:
        running = asyncio.create_task(warm._run(sys.executable, "-c", code))
        while not (tmp_path / "begun").exists():
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running  # which waits for the end of the process

    asyncio.run(asyncio.wait_for(whole(), PATIENCE))
