"""Ctrl-C, SIGTERM and SIGKILL at any moment of `fallow run`, for threads, processes and a cluster.

`make fuzz` sends 133 signals; the tests of every change send 14 of them.
"""

import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

import pytest
from helpers import SIGNALS, command, contents, kept_runs, write_spec

from fallow.studies.read import load_spec
from fallow.studies.run import run

pytestmark = pytest.mark.slow

SECONDS = 5
"""Within which a command ends, and after that all of its processes."""
NOISE = re.compile("Traceback|Exception|Error|Warning|leaked|resource_tracker")
WAYS: list[tuple[signal.Signals, Callable[[int, int], None]]] = [
    (signal.SIGINT, os.killpg),  # as a terminal does
    (signal.SIGTERM, os.kill),
    (signal.SIGKILL, os.kill),
    (signal.SIGINT, os.kill),
    (signal.SIGTERM, os.killpg),
]


class Command:
    """A command in a process group of its own, all of whose processes can be found."""

    def __init__(self, words: list[str], folder: Path, **environment: str) -> None:
        name = str(uuid.uuid4())
        self.mark = f"FALLOW_TEST={name}".encode()
        self.output, self.errors = folder / f"{name}.out", folder / f"{name}.err"
        with self.output.open("w") as output, self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                words,
                stdout=output,
                stderr=errors,
                start_new_session=True,
                env={**os.environ, **environment, "FALLOW_TEST": name},
            )

    def processes(self) -> Iterator[Path]:
        """Return the places in /proc of its processes that are alive, its workers' too."""
        for place in Path("/proc").glob("[0-9]*"):
            if self.mark in read(place / "environ").split(b"\0"):
                yield place

    def has_loaded(self, library: bytes) -> bool:
        return any(library in read(place / "maps") for place in self.processes())

    def workers(self) -> list[Path]:
        starts = b"popen_loky_posix", b"spawn_main"
        found = [(place, read(place / "cmdline")) for place in self.processes()]
        return [place for place, words in found if any(start in words for start in starts)]

    def wait_until(self, there: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 100
        while not there():
            assert self.process.poll() is None, self.errors.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.001)

    def wait(self) -> Iterator[str]:
        """Wait for the end, and return what is wrong with it."""
        try:
            self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            yield f"no end within {SECONDS} s"
        deadline = time.monotonic() + SECONDS
        while left := list(self.processes()):
            if time.monotonic() > deadline:
                yield f"left behind: {[read(place / 'cmdline') for place in left]}"
                self.kill()
            time.sleep(0.02)

    def kill(self) -> None:
        """Kill what is left of it."""
        if any(self.processes()):
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(SECONDS)

    def faults(self, number: signal.Signals) -> Iterator[str]:
        """Wait for the end by a signal, and return all that is wrong with it."""
        yield from self.wait()
        errors = self.errors.read_text()
        is_caught = number in SIGNALS
        if self.process.returncode != (128 + number if is_caught else -number):
            yield f"exit code {self.process.returncode}"
        if NOISE.search(errors + self.output.read_text()):
            yield "noise"
        if not re.fullmatch(rf"fallow: {SIGNALS[number]}[^\n]*\n" if is_caught else "", errors):
            yield "not one line"


Start = Callable[..., Command]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts commands, none of which outlives its test."""
    with ExitStack() as stack:

        def start_command(words: list[str], **environment: str) -> Command:
            started = Command(words, tmp_path, **environment)
            stack.callback(started.kill)
            return started

        yield start_command


def read(path: Path) -> bytes:
    """Return what the system knows of a process; nothing if it has ended."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def is_saving(command: Command, folder: Path) -> bool:
    return any(folder.glob(f".tally-*.{command.process.pid}.unfinished"))


@dataclass(frozen=True)
class Moment:
    """When a signal is sent: when something is so, or up to some seconds later."""

    ready: Callable[[Command, Path], bool]
    later: float = 0.0


IMPORT = Moment(lambda command, _: command.has_loaded(b"_multiarray_umath"), 0.2)
WORKERS = Moment(lambda command, _: bool(command.workers()), 0.7)
COMPILE = Moment(lambda command, _: command.has_loaded(b"llvmlite"), 2.0)
SAVING = Moment(is_saving)
ANY = Moment(IMPORT.ready, 2.0)


@dataclass(frozen=True)
class Kind:
    """Who plays, how long that takes, and when to send signals, as often as they are all sent."""

    options: list[str]
    learner: str
    horizon: int
    moments: list[Moment]
    chains: int

    def spec(self, folder: Path) -> Path:
        return write_spec(folder, self.horizon, 600, self.learner)


PLAIN = "rank-then-cut", 10_000
KINDS = {
    "threads": Kind(["--workers", "2"], "ucb1", 500_000, [IMPORT, COMPILE, ANY, SAVING], 12),
    "processes": Kind(["--workers", "2"], *PLAIN, [IMPORT, WORKERS, COMPILE, ANY, SAVING], 12),
    "cluster": Kind(["--cluster", "local:2"], *PLAIN, [IMPORT, WORKERS, COMPILE, ANY, SAVING], 5),
}
CHAINS = [
    (name, chain)
    for name, kind in KINDS.items()
    for chain in range(kind.chains if os.environ.get("FALLOW_NIGHTLY") else 1)
]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Kind], dict[str, bytes]]:
    """What each kind writes if no signal is sent."""
    found: dict[str, dict[str, bytes]] = {}

    def whole(kind: Kind) -> dict[str, bytes]:
        if kind.learner not in found:
            folder = tmp_path_factory.mktemp("whole")
            run(load_spec(kind.spec(folder)), folder)
            found[kind.learner] = contents(folder)
        return found[kind.learner]

    return whole


@pytest.mark.parametrize(("name", "chain"), CHAINS)
def test_signals_end_a_command_and_the_next_start_goes_on(
    tmp_path: Path,
    start: Start,
    undisturbed: Callable[[Kind], dict[str, bytes]],
    name: str,
    chain: int,
) -> None:
    kind, random = KINDS[name], Random(f"{name} {chain}")
    file, folder = kind.spec(tmp_path), tmp_path / "out" / "test"
    words = command("run", file, *kind.options, "--out", tmp_path / "out")
    for place, moment in enumerate(kind.moments):
        number, send = WAYS[(place + chain) % len(WAYS)]
        cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")} if moment is COMPILE else {}
        started = start(words, **cache)
        started.wait_until(partial(moment.ready, started, folder))
        time.sleep(random.uniform(0, moment.later))
        send(started.process.pid, number)
        faults = list(started.faults(number))
        print(name, chain, place, number.name, send.__name__, faults)
        assert not faults, started.errors.read_text() + started.output.read_text()
        said = re.search(r"after (\d+) of 600 runs of test, finished", started.errors.read_text())
        kept = kept_runs(file, folder)
        assert kept >= (int(said[1]) if said else 0)
        assert kept > 0 or moment is not SAVING or number not in SIGNALS
    last = start(words)
    assert last.process.wait(300) == 0, last.errors.read_text()
    assert contents(folder) == undisturbed(kind)


@pytest.mark.parametrize("number", SIGNALS)
def test_the_installed_command_answers_while_it_is_imported(
    tmp_path: Path, start: Start, number: signal.Signals
) -> None:
    started = start([str(Path(sys.executable).with_name("fallow")), "catalog"])
    started.wait_until(lambda: IMPORT.ready(started, tmp_path))
    os.killpg(started.process.pid, number)
    assert not list(started.faults(number)), started.errors.read_text()


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_in_a_finalizer_is_not_lost(start: Start, number: signal.Signals) -> None:
    """Python drops what is raised in a finalizer or in a callback of the garbage collector."""
    program = f"""
import signal, time
from fallow.signals import end_at_signals, save_at_signals

class Finalized:
    def __del__(self):
        signal.raise_signal({int(number)})

end_at_signals()
with save_at_signals():
    Finalized()
    time.sleep(60)
"""
    started = start([sys.executable, "-c", program])
    assert not list(started.faults(number)), started.errors.read_text()


@pytest.mark.parametrize("name", ["processes", "cluster"])
def test_workers_do_not_get_ctrl_c_from_their_first_moment(
    tmp_path: Path, start: Start, name: str
) -> None:
    kind = KINDS[name]
    words = command("run", kind.spec(tmp_path), *kind.options, "--out", tmp_path / "out")
    started = start(words)
    started.wait_until(lambda: len(started.workers()) == 2)
    for worker in started.workers():
        blocked = re.search(rb"SigBlk:\s+(\w+)", read(worker / "status"))
        assert blocked
        assert int(blocked[1], 16) >> (signal.SIGINT - 1) & 1
    started.process.terminate()
    assert not list(started.faults(signal.SIGTERM)), started.errors.read_text()


@pytest.fixture
def signal_at_second_start(tmp_path: Path) -> Callable[[signal.Signals], str]:
    """A PYTHONPATH on which a program gets a signal right when its second worker is started."""

    def path(number: signal.Signals) -> str:
        (tmp_path / "sitecustomize.py").write_text(f"""\
import os
from multiprocessing.process import BaseProcess

start, started = BaseProcess.start, []

def start_and_signal(process):
    start(process)
    started.append(process)
    if len(started) == 2:
        os.kill(os.getpid(), {int(number)})

BaseProcess.start = start_and_signal
""")
        return os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])

    return path


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("name", ["processes", "cluster"])
def test_a_signal_between_the_starts_of_two_workers(
    tmp_path: Path,
    start: Start,
    signal_at_second_start: Callable[[signal.Signals], str],
    name: str,
    number: signal.Signals,
) -> None:
    kind = KINDS[name]
    words = command("run", kind.spec(tmp_path), *kind.options, "--out", tmp_path / "out")
    started = start(words, PYTHONPATH=signal_at_second_start(number))
    started.process.wait(100)  # for ever, once
    faults = list(started.faults(number))
    assert not faults, started.errors.read_text() + started.output.read_text()


def test_ctrl_c_between_the_starts_of_two_workers_of_a_program(
    start: Start, signal_at_second_start: Callable[[signal.Signals], str]
) -> None:
    """It is a KeyboardInterrupt as anywhere else, and the next study has workers."""
    program = """\
from helpers import TakeTurns
from fallow import catalog, replicate

learners = {"turns": lambda instance, _: TakeTurns(instance.arms)}
for _ in range(2):
    try:
        replicate(catalog.figure3(), learners, 100, runs=4, seed=1, workers=2)
        print("done")
    except KeyboardInterrupt:
        print("interrupted")
"""
    path = signal_at_second_start(signal.SIGINT) + os.pathsep + str(Path(__file__).parent)
    started = start([sys.executable, "-c", program], PYTHONPATH=path)
    assert started.process.wait(100) == 0, started.errors.read_text()
    assert started.output.read_text() == "interrupted\ndone\n"
    assert started.errors.read_text() == ""
