"""Bad weather: full and read-only disks, signals in every stage, two runs at once."""

import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from helpers import (
    SIGNALS,
    Recorder,
    command,
    contents,
    end_by_signal,
    wait_until,
    write_spec,
)

from fallow.studies.read import load_spec
from fallow.studies.run import run
from fallow.studies.summarize import summarize

pytestmark = pytest.mark.slow


def in_one_line(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 2, result.stderr
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr


def invoke(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words), capture_output=True, text=True, timeout=100)


@pytest.mark.parametrize("rows", [False, True])
def test_a_disk_that_fills_up_keeps_what_was_written(
    tmp_path: Path, disk: Path, rows: bool
) -> None:
    file = write_spec(tmp_path, horizon=500, runs=100)
    run(load_spec(file), tmp_path / "whole", rows=rows)
    whole = contents(tmp_path / "whole")
    # Room for a part of the results only.
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(2**20 - sum(map(len, whole.values())) // 2))
    words = ["run", file, "--out", disk, *["--rows"] * rows]
    message = in_one_line(invoke(*words))
    assert re.search(
        r"could not be written: No space left on device; what was written before is whole, and the "
        r"same command can be started again",
        message,
    )
    kept = contents(disk / "test")
    assert kept != whole
    if rows:
        finished = {name: content for name, content in kept.items() if name.startswith("rows")}
        assert finished
        assert finished.items() < whole.items()
    assert not list((disk / "test").glob(".*.unfinished"))
    ballast.unlink()
    assert invoke(*words).returncode == 0
    assert contents(disk / "test") == whole


def test_a_read_only_folder_is_said_and_left_alone(tmp_path: Path, disk: Path) -> None:
    file = write_spec(tmp_path, horizon=100)
    run(load_spec(file), disk / "test")
    before = contents(disk / "test")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for out in (disk, disk / "new"):
        message = in_one_line(invoke("run", file, "--out", out))
        assert f"{out / 'test'} must be a folder that can be written to, got Read-only" in message
    assert "summary.parquet could not be written: Read-only" in in_one_line(
        invoke("summarize", disk)
    )
    assert contents(disk / "test") == before
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    recorder = Recorder()
    run(load_spec(file), disk / "test", watcher=recorder)
    assert recorder.runs == [23]


def test_two_runs_in_one_folder_do_not_get_in_each_others_way(tmp_path: Path) -> None:
    file = write_spec(tmp_path, horizon=20_000, runs=60)
    run(load_spec(file), tmp_path / "whole")
    words = ["run", file, "--out", tmp_path / "out"]
    folder = tmp_path / "out" / "test"
    first = subprocess.Popen(command(*words), text=True)
    wait_until(lambda: (folder / "manifest.json").exists(), first)
    message = in_one_line(invoke(*words))
    assert "must not be in use, got another run at work in it; wait until that one" in message
    assert first.wait(timeout=100) == 0
    assert contents(folder) == contents(tmp_path / "whole")
    assert invoke(*words).returncode == 0


def has_loaded(process: int | str, library: str) -> bool:
    return library in Path(f"/proc/{process}/maps").read_text()


@pytest.mark.parametrize("number", SIGNALS)
def test_signals_while_a_cluster_plays(tmp_path: Path, number: signal.Signals) -> None:
    file = write_spec(tmp_path, horizon=10_000, runs=100_000)
    words = ["run", file, "--rows", "--cluster", "local:2", "--out", tmp_path / "out"]
    folder = tmp_path / "out" / "test"
    message = end_by_signal(number, words, lambda _: len(contents(folder)) > 1)
    assert re.search(r"after \d+ of 100000 runs of test, finished runs are kept", message)
    assert contents(folder)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(
    ("words", "library", "results"),
    [
        (["summarize"], "polars", ["summary.parquet"]),
        (["figure"], "ft2font", ["figure.png", "figure.svg"]),
    ],
)
def test_signals_while_results_are_written(
    tmp_path: Path, number: signal.Signals, words: list[object], library: str, results: list[str]
) -> None:
    file = write_spec(tmp_path, horizon=100)
    folder = tmp_path / "out" / "test"
    run(load_spec(file), folder)
    before = sorted(folder.iterdir())
    message = end_by_signal(
        number, [*words, folder], lambda process: has_loaded(process.pid, library)
    )
    assert "no file is half written" in message
    assert sorted(folder.iterdir()) == before
    assert invoke(*words, folder).returncode == 0
    whole = {name: (folder / name).read_bytes() for name in results}
    assert invoke(*words, folder).returncode == 0
    assert {name: (folder / name).read_bytes() for name in results} == whole


@pytest.mark.parametrize("number", SIGNALS)
def test_signals_in_the_stages_of_a_report(tmp_path: Path, number: signal.Signals) -> None:
    """While claims are checked, after the runs: the runs are there for the next start."""
    file = write_spec(tmp_path, horizon=100)
    out = tmp_path / "out"
    folder = out / "results" / "test"
    words: list[object] = ["report", file, "--out", out]

    def claims_are_checked(_: subprocess.Popen[str]) -> bool:
        ready = (folder / "figure.png").exists()
        time.sleep(0.5 * ready)
        return ready

    message = end_by_signal(number, words, claims_are_checked)
    assert re.search(r"after \d+ of \d+ claims, runs are kept in|no file is half written", message)
    assert not (out / "index.html").exists()
    assert summarize(folder)[1][0].runs == 23
