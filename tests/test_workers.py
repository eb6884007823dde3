"""Who plays, in which tasks, and what happens when a run or a worker fails."""

import multiprocessing
import os
import re
import shlex
import subprocess
import sys
import time
from collections import deque
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from test_cli import runner
from test_experiments import Recorder, contents, written

from fallow.cli import app
from fallow.studies import workers
from fallow.studies.folder import Piece, read_results
from fallow.studies.hand_out import AHEAD, RUNS, SECONDS, played, task_size
from fallow.studies.read import load_spec
from fallow.studies.run import run
from fallow.studies.summarize import summarize
from fallow.studies.tally import BLOCK
from fallow.studies.workers import LocalWorkers, Workers, local_workers

FAILING = """\
title = "Some draws have too many delay vectors for this planner"
horizon = 2
runs = 6
seed = 3

[instance]
catalog = "random_geometric"
arms = 4
max_delay = 40

[learners.exact]
learner = "rotation"
planner = "optimal"
"""


def test_tasks_are_sized_by_cost_and_shrink_towards_the_end() -> None:
    runs = range(1000, 10**6)
    assert task_size(runs, None, 10**6, 2) == 1
    assert task_size(runs, 1e-2, 10**6, 2) == round(SECONDS / 1e-2)
    assert task_size(runs, 60.0, 10**6, 2) == 1
    large = task_size(runs, 1e-4, 10**6, 2)
    assert (runs.start + large) % BLOCK == 0  # ends with a block, which is summarised at once
    assert SECONDS / 1e-4 - BLOCK < large <= SECONDS / 1e-4
    assert task_size(range(10**9), 1e-9, 10**9, 2) == RUNS
    sizes, left = [], 100
    while left:
        sizes.append(task_size(range(100 - left, 100), 1e-3, left, 2))
        left -= sizes[-1]
    assert sizes[:3] == [25, 18, 14]
    assert sizes[-1] == 1


def test_workers_have_tasks_ahead_and_results_come_in_order(tmp_path: Path) -> None:
    spec = load_spec(written(tmp_path, horizon=10, runs=40))
    handed_in: list[range] = []

    class AtOnce(Executor):
        def submit(self, function: Any, /, *arguments: Any, **_: Any) -> Future[Any]:
            handed_in.append(arguments[0].runs)
            future: Future[Any] = Future()
            future.set_result(function(*arguments)._replace(seconds=len(handed_in[-1]) * 0.1))
            return future

    pieces = [Piece(0, None, range(5, 40))]
    parts = played(spec, pieces, rows=True, workers=Workers(AtOnce(), lambda: 2))
    next(parts)
    assert len(handed_in) == AHEAD * 2
    rest = [part for _, part in parts]
    assert [run for runs in handed_in for run in runs] == list(range(5, 40))
    assert [part.rows.runs for part in rest if part.rows] == [tuple(runs) for runs in handed_in[1:]]
    assert max(map(len, handed_in)) == SECONDS / 0.1


class Clock:
    """Stands in for the module `time`."""

    def __init__(self) -> None:
        self.now = self.worked = 0.0

    def monotonic(self) -> float:
        return self.now

    def process_time(self) -> float:
        return self.worked


@pytest.mark.parametrize(("busy_cores", "kind"), [(0.9, "processes"), (1.9, "threads")])
def test_processes_take_over_where_threads_keep_one_core_busy(
    monkeypatch: pytest.MonkeyPatch, busy_cores: float, kind: str
) -> None:
    clock = Clock()
    monkeypatch.setattr(workers, "time", clock)
    monkeypatch.setattr(workers, "cores", lambda: 2)
    with local_workers(2) as crew:
        assert isinstance(crew.executor, LocalWorkers)
        sleeper = Event()
        crew.executor.submit(sleeper.wait)  # so that work is always under way
        clock.now = 100.0  # a first task that compiles, on one core
        crew.executor.submit(int).result()
        while crew.executor._window is None:
            pass
        for _ in range(4):
            clock.now += 1.0
            clock.worked += busy_cores
            assert crew.executor.submit(int, "7").result() == 7
        sleeper.set()
        assert crew.executor.kind == kind


def test_plain_python_is_played_by_processes() -> None:
    """Adding up holds Python's lock, so two threads keep one core busy, on any machine."""
    with local_workers(2) as crew:
        assert isinstance(crew.executor, LocalWorkers)
        deadline = time.monotonic() + 60
        ahead = deque(crew.executor.submit(sum, range(2_000_000)) for _ in range(4))
        while crew.executor.kind == "threads":
            assert time.monotonic() < deadline
            assert ahead.popleft().result() == 1999999000000
            ahead.append(crew.executor.submit(sum, range(2_000_000)))
        assert crew.executor.submit(os.getpid).result() != os.getpid()


def test_one_worker_stays_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(workers, "time", clock)
    with local_workers(1) as crew:
        for _ in range(3):
            clock.now += 10
            clock.worked += 1
            assert crew.executor.submit(os.getpid).result() == os.getpid()


def test_processes_play_the_same_runs(tmp_path: Path) -> None:
    spec = load_spec(written(tmp_path, horizon=500))
    run(spec, tmp_path / "threads", rows=True)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, context) as executor:
        run(spec, tmp_path / "processes", Workers(executor, lambda: 2), rows=True)
    assert contents(tmp_path / "processes") == contents(tmp_path / "threads")


def test_processes_end_with_their_parent(tmp_path: Path) -> None:
    """Also when it is killed; they would otherwise wait for ever."""
    code = (
        "import os, time; from fallow.studies import workers\n"
        "if __name__ == '__main__':\n"
        "    executor = workers.LocalWorkers(2)\n"
        "    executor._start_processes()\n"
        "    print(executor.submit(os.getpid).result(), executor.kind, flush=True)\n"
        "    executor.submit(time.sleep, 60).result()\n"
    )
    script = tmp_path / "parent.py"
    script.write_text(code)
    command = [sys.executable, str(script)]
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdout=pipe, stderr=nowhere, text=True) as parent:
        assert parent.stdout is not None
        child, kind = parent.stdout.readline().split()
        parent.kill()
    assert kind == "processes"
    deadline = time.monotonic() + 20
    while Path(f"/proc/{child}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_run_that_raises_is_told_with_its_command_and_the_others_finish(tmp_path: Path) -> None:
    file = tmp_path / "some fail.toml"
    file.write_text(FAILING)
    out = tmp_path / "out"
    result = runner.invoke(app, ["run", str(file), "--out", str(out)])
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert re.fullmatch(r"fallow: \d of 6 runs of some fail failed, .* again, remove .*", lines[-1])
    failed = int(lines[-1].split()[1])
    assert 0 < failed < 6
    assert len(lines) == failed + 1
    told = re.fullmatch(
        r"fallow: a run of some fail failed: ValueError: planner 'optimal' must .* "
        r"\(learner 'exact', run (\d) of seed 3\); to see it alone: fallow (replay .*)",
        lines[0],
    )
    assert told
    _, (curve,) = summarize(out / "some fail")
    assert curve.runs == 6 - failed

    alone = runner.invoke(app, shlex.split(told[2]))
    assert alone.exit_code == 1
    assert "Traceback" in alone.stderr
    assert f"(learner 'exact', run {told[1]} of seed 3)"[1:-1] in alone.stderr

    again = runner.invoke(app, ["run", str(file), "--out", str(out)])
    assert (again.exit_code, again.stderr) == (1, result.stderr)

    for _ in range(2):  # and once more, with nothing left to play
        rows = runner.invoke(app, ["run", str(file), "--out", str(out), "--rows"])
        assert (rows.exit_code, rows.stderr) == (1, result.stderr)
    _, (study,) = read_results(out / "some fail")
    assert len(study.runs) == 6 - failed
    assert summarize(out / "some fail")[1][0].regret.mean == pytest.approx(curve.regret.mean)


def test_replay_plays_the_run_of_the_study(tmp_path: Path) -> None:
    file = written(tmp_path, horizon=300)
    run(load_spec(file), tmp_path / "out", rows=True)
    _, (study,) = read_results(tmp_path / "out")
    result = runner.invoke(app, ["replay", str(file), "17"])
    assert result.exit_code == 0
    found = re.search(r"^pi_ucb +300 +([\d.]+) +([\d]+) ", result.stdout, re.MULTILINE)
    assert found
    assert float(found[1]) == pytest.approx(study.rewards[0, 17, -1], abs=5e-4)
    assert int(found[2]) == study.switches[0, 17, -1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["replay", "{file}", "23"], "RUN must be from 0 to 22, got 23"),
        (["replay", "{file}", "0", "--point", "1"], "--point must be left out, got 1.0"),
        (
            ["run", "{file}", "--out", "x", "--workers", "0"],
            "workers must be a whole number >= 1, got 0",
        ),
        (
            ["run", "{file}", "--out", "x", "--workers", "2", "--cluster", "local:2"],
            "--workers must not be given with --cluster",
        ),
        (["run", "{file}", "--out", "x", "--cluster", "local:no"], "must be like local:4 or an"),
    ],
)
def test_mistakes_end_in_one_line(tmp_path: Path, words: list[str], message: str) -> None:
    file = written(tmp_path)
    result = runner.invoke(app, [str(file) if word == "{file}" else word for word in words])
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_worker_process_that_is_killed_ends_the_run_with_a_message(tmp_path: Path) -> None:
    spec = load_spec(written(tmp_path, horizon=500))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as executor:
        executor.submit(os.getpid).result()
        executor.submit(os._exit, 1)
        with pytest.raises(BrokenExecutor):
            run(spec, tmp_path / "out", Workers(executor, lambda: 1))
    with pytest.raises(OSError, match=r"a worker process was ended.* goes on"), local_workers(1):
        raise BrokenExecutor
    recorder = Recorder()
    run(spec, tmp_path / "out", watcher=recorder)
    assert sum(recorder.runs) == 23


def test_an_error_does_not_wait_for_runs_in_threads(tmp_path: Path) -> None:
    """The disk fails while two runs of a minute are under way."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, time; from fallow.cli import main; from fallow.studies import hand_out\n"
        "def fail(*_, **__): raise OSError('the disk fails')\n"
        "hand_out.play, hand_out.wait = lambda _: time.sleep(60), fail\n"
        "main()\n"
    )
    words = ["run", str(written(tmp_path)), "--out", str(tmp_path / "out")]
    command = [sys.executable, str(script), *words]
    result = subprocess.run(command, capture_output=True, text=True, timeout=50)
    assert (result.returncode, result.stderr) == (2, "fallow: the disk fails\n")
