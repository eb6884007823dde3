"""The same runs on a real scheduler with worker processes, on loopback."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import polars
import pytest
from helpers import TakeTurns, contents, write_spec

import fallow
from fallow import LowSwitch, catalog, replicate
from fallow.source import code_version
from fallow.studies.read import load_spec
from fallow.studies.run import run
from fallow.studies.study import Factory
from fallow.studies.workers import cluster_workers

pytestmark = pytest.mark.slow

QUIET = {"DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def started(*words: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a part of a cluster, and end it, and only it, by its own process."""
    command = [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **QUIET, **variables},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def scheduler() -> Iterator[str]:
    port = free_port()
    words = ["dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    with started(*words):
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        yield f"tcp://127.0.0.1:{port}"


def worker(address: str, **variables: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
    words = ["dask_worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard"]
    return started(*words, **variables)


def command(file: Path, out: Path, address: str) -> list[str]:
    words = ["run", str(file), "--out", str(out), "--cluster", address, "--rows"]
    return [sys.executable, "-m", "fallow", *words]


def test_a_worker_is_killed_and_every_row_arrives_once(tmp_path: Path) -> None:
    file = write_spec(tmp_path, horizon=10_000, runs=120)
    run(load_spec(file), tmp_path / "local", rows=True)
    folder = tmp_path / "out" / "test"
    with ExitStack() as stack:
        address = stack.enter_context(scheduler())
        doomed, _ = (stack.enter_context(worker(address)) for _ in range(2))
        study = subprocess.Popen(command(file, tmp_path / "out", address))
        deadline = time.monotonic() + 120
        while len(contents(folder)) < 2:
            assert time.monotonic() < deadline
            assert study.poll() is None
            time.sleep(0.01)
        assert doomed.poll() is None
        doomed.send_signal(signal.SIGKILL)
        assert len(contents(folder)) < 12  # in the middle
        assert study.wait(timeout=120) == 0
    assert contents(folder) == contents(tmp_path / "local")
    rows = polars.concat(map(polars.read_parquet, sorted(folder.glob("rows-*"))))
    assert len(rows) == 2 * 120 * rows["round"].n_unique()
    assert not rows.select("learner", "run", "round").is_duplicated().any()


def test_a_scheduler_that_is_not_there_is_an_error_within_seconds(tmp_path: Path) -> None:
    address = f"tcp://127.0.0.1:{free_port()}"
    start = time.monotonic()
    result = subprocess.run(
        command(write_spec(tmp_path), tmp_path / "out", address), capture_output=True, text=True
    )
    assert time.monotonic() - start < 30  # five of waiting; the rest is for a busy machine
    assert result.returncode == 2
    assert re.fullmatch(
        r"fallow: cluster must be the address of a Dask scheduler with workers, got .*: .*\n",
        result.stderr,
    )


def test_a_scheduler_without_workers_is_an_error(tmp_path: Path) -> None:
    with scheduler() as address:
        result = subprocess.run(
            command(write_spec(tmp_path), tmp_path / "out", address), capture_output=True, text=True
        )
    assert result.returncode == 2
    assert "must be the address of a Dask scheduler with workers" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_cluster_that_goes_away_keeps_what_was_done(tmp_path: Path) -> None:
    file = write_spec(tmp_path, horizon=10_000, runs=120)
    folder = tmp_path / "out" / "test"
    with ExitStack() as stack:
        with scheduler() as address:
            stack.enter_context(worker(address))
            study = subprocess.Popen(
                command(file, tmp_path / "out", address), stderr=subprocess.PIPE, text=True
            )
            deadline = time.monotonic() + 120
            while len(contents(folder)) < 2:
                assert time.monotonic() < deadline
                time.sleep(0.01)
        _, errors = study.communicate(timeout=60)
    assert study.returncode == 2
    assert "the connection to the cluster was lost; start the same command again" in errors
    kept = {name: content for name, content in contents(folder).items() if name.startswith("rows")}
    assert kept
    run(load_spec(file), folder, rows=True)
    assert kept.items() < contents(folder).items()


def test_workers_with_other_code_are_refused(tmp_path: Path) -> None:
    """A worker that finds another fallow first on its path, of the same version by its number."""
    changed = tmp_path / "changed" / "fallow"
    shutil.copytree(Path(fallow.__file__).parent, changed)
    with (changed / "decay.py").open("a") as file:
        file.write("# another line\n")
    with scheduler() as address, worker(address, PYTHONPATH=str(changed.parent)):
        result = subprocess.run(
            command(write_spec(tmp_path), tmp_path / "out", address), capture_output=True, text=True
        )
    assert result.returncode == 2
    found = re.fullmatch(
        r"fallow: workers must have fallow (\S+), as here, got (\S+) on tcp://.*\n", result.stderr
    )
    assert found
    assert found[1] == code_version() != found[2]
    assert found[1].partition("+")[0] == found[2].partition("+")[0]
    assert not contents(tmp_path / "out" / "test")


def test_a_cluster_is_started_and_ended_on_this_machine(tmp_path: Path) -> None:
    file = write_spec(tmp_path, horizon=200)
    run(load_spec(file), tmp_path / "local", rows=True)
    result = subprocess.run(
        command(file, tmp_path / "out", "local:2"), capture_output=True, text=True, timeout=120
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert contents(tmp_path / "out" / "test") == contents(tmp_path / "local")


def test_a_task_that_ends_its_workers_again_and_again_is_said(tmp_path: Path) -> None:
    """Workers are started anew each time, until the scheduler gives up on the task."""
    study = load_spec(write_spec(tmp_path)).study()
    message = "workers were ended by the same runs again and again, .* start the same command again"
    with pytest.raises(OSError, match=message), cluster_workers("local:1") as crew:
        crew.executor(study).submit(os._exit, 1).result()


def test_lambdas_are_played_on_a_cluster() -> None:
    learners: dict[str, Factory] = {
        "low": lambda instance, _: LowSwitch(instance.order, 200),
        "turns": lambda instance, _: TakeTurns(instance.arms),
    }
    where_to_play: list[dict[str, Any]] = [{"workers": 1}, {"cluster": "local:2"}]
    here, there = (
        replicate(catalog.figure2, learners, 200, runs=7, seed=2, **where)
        for where in where_to_play
    )
    assert there.runs == here.runs
    assert there.rewards.tobytes() == here.rewards.tobytes()
