"""Who plays, in which batches, and what happens when a run or a worker fails."""

import gc
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import ref

import pytest
from helpers import Recorder, TakeTurns, contents, runner, write_spec

from fallow import LowSwitch, RankingUCB, catalog
from fallow.cli import app
from fallow.studies.batch import pack, play_batch
from fallow.studies.engine import AHEAD, RUNS, SECONDS, Part, batch_size, play_parts
from fallow.studies.folder import read_results
from fallow.studies.read import load_spec
from fallow.studies.run import run
from fallow.studies.study import Study
from fallow.studies.summarize import summarize
from fallow.studies.workers import Workers, local_workers

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


def study_of(*learners: str) -> Study:
    makers = {
        "pi_ucb": lambda instance, _: RankingUCB(instance.order),
        "pi_low": lambda instance, _: LowSwitch(instance.order, 100),
    }
    return Study(catalog.figure2, {name: makers[name] for name in learners}, 100, seed=0)


def test_batches_are_sized_by_cost_and_shrink_towards_the_end() -> None:
    assert batch_size(10**6, None, 10**6, workers=2) == 1
    assert batch_size(10**6, 1e-2, 10**6, workers=2) == round(SECONDS / 1e-2)
    assert batch_size(10**6, 60.0, 10**6, workers=2) == 1
    assert batch_size(10**9, 1e-9, 10**9, workers=2) == RUNS
    sizes, left = [], 100
    while left:
        sizes.append(batch_size(left, 1e-3, left, workers=2))
        left -= sizes[-1]
    assert sizes[0] == 25
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1


class AtOnce(Executor):
    """Plays a batch when it is handed in, and says that a run took a tenth of a second."""

    def __init__(self) -> None:
        self.handed_in: list[range] = []

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        self.handed_in.append(arguments[1])
        future: Future[Any] = Future()
        future.set_result(function(*arguments)._replace(seconds=len(arguments[1]) * 0.1))
        return future


def test_workers_have_batches_ahead_and_results_come_in_order() -> None:
    executor = AtOnce()
    workers = Workers(lambda _: executor, lambda: 2)
    parts = [Part(study_of("pi_low"), range(5, 40)), Part(study_of("pi_ucb"), range(3))]
    batches = play_parts(parts, workers)
    first = next(batches)
    assert len(executor.handed_in) == AHEAD * 2
    played = [first, *batches]
    assert [place for place, _ in played] == sorted(place for place, _ in played)
    assert [run for _, batch in played for run in batch.runs] == [*range(5, 40), *range(3)]
    for _, batch in played:
        assert batch.result.runs == tuple(batch.runs)
    assert max(map(len, executor.handed_in)) == SECONDS / 0.1


@pytest.mark.parametrize(
    ("learners", "workers", "threads"),
    [
        (["pi_ucb"], 2, True),
        (["pi_ucb", "pi_low"], 2, False),
        (["pi_low"], 1, True),
    ],
)
def test_threads_play_compiled_loops_and_processes_all_else(
    learners: list[str], workers: int, threads: bool
) -> None:
    study = study_of(*learners)
    with local_workers(workers) as crew:
        assert isinstance(crew.executor(study), ThreadPoolExecutor) == threads
        played_by = crew.executor(study).submit(os.getpid).result()
    assert (played_by == os.getpid()) == threads


def test_no_thread_plays_what_drifts_or_is_drawn_one_by_one() -> None:
    """There a compiled learner is played block by block, in plain Python."""
    study = study_of("pi_ucb")
    assert study.is_compiled
    assert not replace(study, rewards="beta").is_compiled
    assert not replace(study, instance=lambda _: [catalog.figure3()] * 2).is_compiled


@pytest.mark.slow
def test_a_script_without_a_guard_uses_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, fallow\n"
        "def say_process():\n"
        "    os.write(1, f'{os.getpid()}\\n'.encode())  # at once: two processes share the pipe\n"
        "def draw(seed):\n"
        "    say_process()\n"
        "    return fallow.catalog.figure2(seed)\n"
        "low = lambda instance, _: fallow.LowSwitch(instance.order, 100)\n"
        "say_process()\n"
        "fallow.replicate(draw, low, 100, runs=20, seed=0, workers=2)\n"
    )
    result = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=100, check=True
    )
    assert result.stderr == ""
    first, *drawn = result.stdout.split()
    assert drawn.count(first) == 1  # to see whether the learner is compiled
    assert len(drawn) == 21


@pytest.mark.slow
@pytest.mark.parametrize("busy", [False, True])
def test_processes_end_with_their_parent(tmp_path: Path, busy: bool) -> None:
    """Also when it is killed; they would otherwise wait for ever."""
    script = tmp_path / "parent.py"
    script.write_text(
        "import os, sys, time; from fallow.studies.workers import start_processes\n"
        "executor = start_processes(2)\n"
        "list(executor.map(time.sleep, [0.5, 0.5]))\n"
        "print(*set(executor.map(lambda _: os.getpid(), range(50))), flush=True)\n"
        f"tasks = [executor.submit(time.sleep, 60) for _ in range({2 * busy})]\n"
        "time.sleep(60)\n"
    )
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    words = [sys.executable, str(script)]
    with subprocess.Popen(words, stdout=pipe, stderr=nowhere, text=True) as parent:
        assert parent.stdout is not None
        children = parent.stdout.readline().split()
        parent.kill()
    assert children
    deadline = time.monotonic() + 20
    while any(is_alive(child) for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_alive(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


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
        r"fallow: a run of some fail failed: InputError: planner 'optimal' must .* "
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


@pytest.mark.parametrize("error", [ImportError, MemoryError])
def test_what_is_wrong_with_a_worker_is_no_failure_of_its_runs(error: type[Exception]) -> None:
    """It would be kept with the results, though the runs may do well elsewhere."""

    def lack(*_: object) -> TakeTurns:
        raise error("not here")

    with pytest.raises(error, match="not here"):
        play_batch(Study(catalog.figure3(), {"lacking": lack}, 10, seed=0), range(3))


@pytest.mark.slow
@pytest.mark.parametrize("daemon", [False, True])
def test_a_study_in_a_child_process_does_not_keep_it_waiting(tmp_path: Path, daemon: bool) -> None:
    """Processes that wait a minute for the next study would hold up the end of the child."""
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing, fallow\n"
        "def play():\n"
        "    low = lambda instance, _: fallow.LowSwitch(instance.order, 100)\n"
        "    found = fallow.replicate(fallow.catalog.figure2, low, 100, 6, seed=0, workers=2)\n"
        "    print(len(found.runs))\n"
        "if __name__ == '__main__':\n"
        f"    child = multiprocessing.Process(target=play, daemon={daemon})\n"
        "    child.start()\n"
        "    child.join()\n"
    )
    words = [sys.executable, str(script)]
    result = subprocess.run(words, capture_output=True, text=True, timeout=40)
    assert (result.stdout, result.returncode) == ("6\n", 0)


def test_replay_plays_the_run_of_the_study(tmp_path: Path) -> None:
    file = write_spec(tmp_path, horizon=300)
    run(load_spec(file), tmp_path / "out", rows=True)
    _, (study,) = read_results(tmp_path / "out")
    result = runner.invoke(app, ["replay", str(file), "17"])
    assert result.exit_code == 0
    found = re.search(r"^pi_ucb +300 +([\d.]+) +([\d]+) ", result.stdout, re.MULTILINE)
    assert found
    assert float(found[1]) == pytest.approx(study.rewards[17, 0, -1], abs=5e-4)
    assert int(found[2]) == study.switches[17, 0, -1]


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
    file = write_spec(tmp_path)
    result = runner.invoke(app, [str(file) if word == "{file}" else word for word in words])
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_worker_process_that_is_killed_ends_the_run_with_a_message(tmp_path: Path) -> None:
    spec = load_spec(write_spec(tmp_path, horizon=500))

    def run_and_kill_one() -> None:
        with local_workers(2) as crew:
            processes = crew.executor(spec.study())
            processes.submit(os.kill, processes.submit(os.getpid).result(), signal.SIGKILL)
            run(spec, tmp_path / "out", crew)

    with pytest.raises(OSError, match=r"a worker process was ended from outside.* fewer workers"):
        run_and_kill_one()
    recorder = Recorder()
    run(spec, tmp_path / "out", watcher=recorder)
    assert sum(recorder.runs) == 23
    run(spec, tmp_path / "whole")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


@pytest.mark.slow
def test_an_error_does_not_wait_for_runs_in_threads(tmp_path: Path) -> None:
    """The disk fails while two runs of minutes are under way."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, time; from fallow.cli import main; from fallow.studies import engine\n"
        "def fail(*_, **__): raise OSError('the disk fails')\n"
        "engine.wait = fail\n"
        "main()\n"
    )
    file = write_spec(tmp_path, horizon=10**12, learner="ucb1")
    words = [sys.executable, str(script), "run", str(file), "--out", str(tmp_path / "out")]
    result = subprocess.run(words, capture_output=True, text=True, timeout=50)
    assert (result.returncode, result.stderr) == (2, "fallow: the disk fails\n")


def test_a_study_that_was_sent_is_not_held_in_memory() -> None:
    study = Study(catalog.figure3(), {"mine": lambda *_: RankingUCB([0, 1])}, 10, seed=0)
    assert pack(study) is pack(study)  # pickled once
    held = ref(study)
    del study
    gc.collect()
    assert held() is None
