"""Getting the compiler ready beside the service."""

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

import pytest
from helpers import python_path
from service_helpers import PATIENCE

from fallow import kernels, machine_code
from fallow.live import compile_ahead as ahead
from fallow.live.campaign import Campaign
from fallow.live.compile_ahead import RULES
from fallow.rules import Rules


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what is done in this process; nothing is compiled, and the cache is empty."""
    done: list[str] = []

    def compile_here() -> None:
        assert not kernels.INTERPRETER.compiler_is_ready.is_set()
        done.append("compiled here")

    monkeypatch.setattr(ahead, "compile_decisions", compile_here)
    monkeypatch.setattr(ahead, "has_machine_code", lambda: False)
    return done


def compiled_ahead() -> None:
    asyncio.run(asyncio.wait_for(ahead.compile_ahead(), PATIENCE))
    assert kernels.INTERPRETER.compiler_is_ready.is_set()


def test_another_process_fills_the_cache(monkeypatch: pytest.MonkeyPatch, done: list[str]) -> None:
    async def run(*command: str) -> None:
        assert not kernels.INTERPRETER.compiler_is_ready.is_set()
        assert command[0] == sys.executable
        done.append("compiled elsewhere")

    monkeypatch.setattr(ahead, "_run", run)
    compiled_ahead()
    assert done == ["compiled elsewhere", "compiled here"]
    monkeypatch.setattr(ahead, "has_machine_code", lambda: True)
    compiled_ahead()
    assert done == ["compiled elsewhere", "compiled here", "compiled here"]


def test_it_compiles_here_where_no_process_can_be_had(
    monkeypatch: pytest.MonkeyPatch, done: list[str]
) -> None:
    async def fail(*_: Any, **__: Any) -> NoReturn:
        raise OSError("no memory for it")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", fail)
    compiled_ahead()
    assert done == ["compiled here"]


@pytest.mark.slow
def test_nothing_in_the_folder_is_taken_for_a_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: list[str]
) -> None:
    (tmp_path / "numba.py").write_text("open('executed', 'w')")
    monkeypatch.chdir(tmp_path)
    compiled_ahead()
    assert done == ["compiled here"]
    assert not (tmp_path / "executed").exists()


@pytest.mark.slow
def test_a_process_that_is_not_waited_for_is_ended(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    code = (
        "import os, pathlib, time; "
        f"pathlib.Path({str(begun)!r}).write_text(str(os.getpid())); time.sleep(99)"
    )

    async def whole() -> None:
        running = asyncio.create_task(ahead._run(sys.executable, "-c", code))
        while not begun.exists() or not begun.read_text():
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running  # which waits for the end of the process

    asyncio.run(asyncio.wait_for(whole(), PATIENCE))
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the work of each call that is made, as in a new process."""
    works: list[float] = []

    class Spy(kernels.Interpreter):
        def takes(self, work: float) -> bool:
            works.append(work)
            return super().takes(work)

    monkeypatch.setattr(kernels, "INTERPRETER", Spy())
    for file in kernels.FILES.values():
        monkeypatch.setattr(file, "is_compiled", False)
    return works


@pytest.mark.parametrize("shape", [(4, 39), (14, 10), (53, 2)])
@pytest.mark.parametrize("rules", [Rules(), RULES])
def test_a_campaign_that_needs_no_compiler_waits_for_nothing(
    shape: tuple[int, int], rules: Rules, works: list[float]
) -> None:
    count, max_delay = shape
    arms = ["hymn", "waltz", "polka", "march", *(f"arm {number}" for number in range(count - 4))]
    assert not ahead.needs_compiler(count, max_delay + 1)
    assert ahead.needs_compiler(count * 2, max_delay + 1)
    with (
        kernels.compiler_awaited(),
        Campaign.open(
            "memory:", "c", arms=arms, max_delay=max_delay, rules=rules, background=False
        ) as campaign,
    ):
        campaign.decide("ann")
    assert max(works) <= kernels.LARGE


def test_nor_does_one_by_elapsed_time(works: list[float]) -> None:
    arms = [f"arm {number}" for number in range(17)]
    assert not ahead.needs_compiler(17, columns=9)
    with (
        kernels.compiler_awaited(),
        Campaign.open("memory:", "c", arms=arms, max_delay=1e4, clock="time") as campaign,
    ):
        campaign.decide("ann")
    assert max(works) <= kernels.LARGE


@pytest.mark.usefixtures("works")
def test_a_large_call_waits_and_a_small_one_does_not() -> None:
    interpreter = kernels.INTERPRETER
    answers: list[bool] = []
    with kernels.compiler_awaited():
        for _ in range(10):
            assert interpreter.takes(kernels.LARGE)
        large = threading.Thread(
            target=lambda: answers.append(interpreter.takes(kernels.LARGE + 1))
        )
        large.start()
        large.join(0.05)
        assert large.is_alive()
    large.join(PATIENCE)
    assert answers == [False]
    assert interpreter.steps == kernels.LIMIT  # small calls were not counted
    assert not interpreter.takes(kernels.LARGE)


@pytest.mark.slow
def test_the_stamp_is_of_this_very_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert not machine_code.has_machine_code()
    code = "from fallow.kernels.cycles import own_delays; from fallow import kernels"
    code += "; import numpy as np; kernels.compile_all(); own_delays(np.array([0]), 1)"
    code += "; from fallow.machine_code import keep_stamp; keep_stamp()"
    subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": python_path()},
        check=True,
        timeout=PATIENCE,
    )
    assert machine_code.has_machine_code()
    (stamp,) = tmp_path.rglob(machine_code.STAMP)
    assert list(stamp.parent.glob("*.nbi"))  # where the compiler keeps its files
    with monkeypatch.context() as patch:
        patch.setenv("NUMBA_OPT", "0")
        assert not machine_code.has_machine_code()
    with monkeypatch.context() as patch:
        patch.setattr(machine_code, "_processor", lambda: ["another"])
        assert not machine_code.has_machine_code()
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda folder, _: stamp.parent != folder)
        assert not machine_code.has_machine_code()
    stamp.unlink()
    assert not machine_code.has_machine_code()
