"""What several test files need."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from typer import Typer
from typer.testing import CliRunner

from fallow import Block, Log, Outcome
from fallow.arrays import FloatArray
from fallow.cli import app
from fallow.drawing.colours import luminance
from fallow.frames import frame
from fallow.kernels import FILES
from fallow.studies.read import load_spec
from fallow.studies.run import Progress, Watcher, run

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXPERIMENTS = ROOT / "reproduction" / "experiments"
SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
SPEC = """\
title = "A test"
horizon = {horizon}
runs = {runs}
seed = 1
switching_costs = [0, 2]

[instance]
catalog = "figure2"

[learners.pi_ucb]
learner = "ranking-ucb"

[learners.nothing]
learner = "{learner}"
"""

runner = CliRunner()


def run_command(*words: str, app: Typer = app) -> str:
    """Return what a command prints that must succeed."""
    result = runner.invoke(app, words)
    assert result.exit_code == 0, result.output
    return result.stdout


def command(*words: object) -> list[str]:
    """Return a command for a process of its own."""
    module = "reproduction" if words[0] == "report" else "fallow"
    return [sys.executable, "-m", module, *map(str, words)]


def python_path() -> str:
    """Return the path on which child processes find the tests' own modules.

    Not sys.path: there other tests leave folders, one with a json.py that is not Python's.
    """
    return os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])


def write_log(path: Path, log: Log, names: Sequence[str]) -> Path:
    """Write a simulated log to a file, with arms by name and a column p0, p1, ... for each."""
    lengths = np.diff(log.starts)
    assert log.propensities is not None
    assert log.propensity is not None
    columns = {
        "user": np.repeat(np.arange(log.users), lengths),
        "time": np.concatenate([np.arange(length) for length in lengths]),
        "arm": np.array(names)[log.arms],
        "reward": log.rewards,
        "propensity": log.propensity,
        **{f"p{arm}": chances for arm, chances in enumerate(log.propensities.T)},
    }
    rows = frame(columns)
    if path.suffix == ".csv":
        rows.write_csv(path)
    else:
        rows.write_parquet(path)
    return path


def all_kernels() -> set[str]:
    """Return all kernels by their full names."""
    return {f"{module}.{name}" for module, file in FILES.items() for name in file.functions}


def reached(called: Iterable[str]) -> set[str]:
    """Return kernels that were called, and those that they call."""
    found: set[str] = set()
    waiting = set(called)
    while waiting:
        kernel = waiting.pop()
        found.add(kernel)
        module, _, name = kernel.rpartition(".")
        names = FILES[module].functions[name].__code__.co_names
        waiting |= ({f"{module}.{each}" for each in names} & all_kernels()) - found
    return found


def write_spec(
    folder: Path, horizon: int = 2000, runs: int = 23, learner: str = "rank-then-cut"
) -> Path:
    """Write a spec whose learners are partly compiled; with another learner, all may be."""
    path = folder / "test.toml"
    path.write_text(SPEC.format(horizon=horizon, runs=runs, learner=learner), encoding="utf-8")
    return path


def contents(folder: Path) -> dict[str, bytes]:
    """Return tallies and rows, without those set aside."""
    paths = (*folder.glob("tally-*.bin"), *folder.glob("rows-*.parquet"))
    return {path.name: path.read_bytes() for path in paths}


def random_tables(
    count: int, arms: int, width: int
) -> Iterator[tuple[np.random.Generator, FloatArray]]:
    """Random tables of means that rise with the delay, and what else to draw from."""
    for seed in range(count):
        generator = np.random.default_rng(seed)
        shape = generator.integers(1, arms + 1), generator.integers(1, width + 1)
        means = np.sort(generator.random(shape), axis=1)
        means.setflags(write=False)
        yield generator, means


class Recorder(Watcher):
    """Keeps the numbers of runs that it hears of, found ones first, and messages."""

    def __init__(self) -> None:
        self.runs: list[int] = []
        self.messages: list[str] = []

    def found(self, progress: Progress) -> None:
        self.runs.append(progress.runs)

    def done(self, progress: Progress) -> None:
        self.runs.append(progress.runs)

    def damaged(self, message: str) -> None:
        self.messages.append(message)


class Stopper(Watcher):
    """Stops the run that it watches as soon as it has heard what was done before."""

    def found(self, progress: Progress) -> None:
        raise StopIteration(progress.runs)


def kept_runs(file: Path, folder: Path) -> int:
    """Return how many runs of a spec a new start finds done in a folder."""
    try:
        run(load_spec(file), folder, watcher=Stopper())
    except StopIteration as found:
        return int(found.value)
    raise AssertionError


class Scripted:
    """A learner that plays a list of blocks, then its last block for ever."""

    def __init__(self, blocks: list[Block]) -> None:
        self.blocks = blocks
        self.asked = 0
        self.outcomes: list[Outcome] = []

    def ask(self) -> Block:
        self.asked += 1
        return self.blocks[min(self.asked, len(self.blocks)) - 1]

    def tell(self, block: Block, outcome: Outcome) -> None:
        self.outcomes.append(outcome)


class TakeTurns:
    """A learner in plain Python that pulls one arm after the other."""

    def __init__(self, arms: int) -> None:
        self.arms, self.pulls = arms, 0

    def ask(self) -> Block:
        return Block((self.pulls % self.arms,))

    def tell(self, block: Block, outcome: Outcome) -> None:
        self.pulls += 1


def wait_until(there: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait for something that happens while a process is at work."""
    deadline = time.monotonic() + 100
    while not there():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)


def end_by_signal(
    number: signal.Signals, words: list[object], ready: Callable[[subprocess.Popen[str]], bool]
) -> str:
    """Send a signal to a command and all its processes, as a terminal does; return its message."""
    process = subprocess.Popen(
        command(*words), stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    wait_until(lambda: ready(process), process)
    os.killpg(process.pid, number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + number, errors
    assert re.fullmatch(rf"fallow: {SIGNALS[number]}[^\n]*\n", errors), errors
    deadline = time.monotonic() + 20
    while any(session == process.pid for session in sessions()):
        assert time.monotonic() < deadline  # no process is left behind
        time.sleep(0.05)
    return errors


def sessions() -> Iterator[int]:
    """Return the sessions of all processes that are alive."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            yield int(fields[3])


def contrast(colour: str, other: str) -> float:
    """Return the contrast as WCAG 2.2 counts it."""
    low, high = sorted((luminance(colour), luminance(other)))
    return (high + 0.05) / (low + 0.05)
