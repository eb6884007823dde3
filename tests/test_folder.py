"""What a run leaves in its folder, also when it is killed or a file is damaged."""

import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers import EXPERIMENTS, Recorder, command, contents, write_spec

from fallow.studies.folder import read_results
from fallow.studies.read import load_spec
from fallow.studies.run import run
from fallow.studies.summarize import summarize


@pytest.mark.slow
@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("files", [0, 1])
def test_a_killed_run_goes_on_to_the_same_files(tmp_path: Path, files: int, rows: bool) -> None:
    """Killed by SIGKILL before the first file and after it, always while at work."""
    file = write_spec(tmp_path, horizon=20_000, runs=100)
    run(load_spec(file), tmp_path / "whole", rows=rows)
    folder = tmp_path / "cut" / "test"
    words = ["run", file, "--out", tmp_path / "cut", *["--rows"] * rows]
    process = subprocess.Popen(command(*words))
    deadline = time.monotonic() + 60
    while not (folder / "manifest.json").exists() or len(contents(folder)) < files:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=10) == -signal.SIGKILL
    kept = contents(folder)
    assert len(kept) >= files
    assert kept != contents(tmp_path / "whole")
    with pytest.raises(ValueError, match=r"must hold all 100 runs, got \d+ .*; start `fallow run`"):
        summarize(folder)
    recorder = Recorder()
    run(load_spec(file), folder, rows=rows, watcher=recorder)
    assert contents(folder) == contents(tmp_path / "whole")
    assert sum(recorder.runs) == 100
    assert not list(folder.glob(".*.unfinished"))


DAMAGES = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:500]),
    "empty": lambda path: path.write_bytes(b""),
    "a byte": lambda path: path.write_bytes(flipped(path.read_bytes())),
}


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_tally_is_found_and_run_again(tmp_path: Path, damage: str) -> None:
    spec = load_spec(write_spec(tmp_path, horizon=100))
    folder = tmp_path / "cut[1]"  # a folder's name is no pattern
    run(spec, folder)
    whole = contents(folder)
    DAMAGES[damage](folder / "tally-000.npz")
    with pytest.raises(ValueError, match=r"tally-000.npz must .* a damaged file; start `fallow"):
        summarize(folder)
    recorder = Recorder()
    run(spec, folder, watcher=recorder)
    assert contents(folder) == whole
    (message,) = recorder.messages
    assert re.search(r"tally-000.npz must .*a damaged file.*; its runs are played again", message)


def test_damaged_rows_are_found_and_run_again(tmp_path: Path) -> None:
    spec = load_spec(write_spec(tmp_path, horizon=100))
    run(spec, tmp_path, rows=True)
    whole = contents(tmp_path)
    first, second, third = sorted(tmp_path.glob("rows-*"))
    kept = third.stat().st_mtime_ns
    second.write_bytes(second.read_bytes()[:500])
    first.write_bytes(third.read_bytes())
    with pytest.raises(ValueError, match=r"rows-000-0000000-\w+.parquet must .*; start `fallow"):
        read_results(tmp_path)
    recorder = Recorder()
    run(spec, tmp_path, rows=True, watcher=recorder)
    assert contents(tmp_path) == whole
    assert third.stat().st_mtime_ns == kept
    assert [re.sub("-\\w+.parquet", "", Path(each).name) for each in recorder.messages] == [
        f"rows-000-00000{place} must have the digest in its name, got a damaged file; its runs are "
        "played again"
        for place in ("00", "10")
    ]


def test_rows_are_of_their_own_place(tmp_path: Path) -> None:
    """A file under the name of another piece, with its right digest."""
    spec = load_spec(write_spec(tmp_path, horizon=100))
    run(spec, tmp_path, rows=True)
    first, second, _ = sorted(tmp_path.glob("rows-*"))
    first.write_bytes(second.read_bytes())
    first.rename(tmp_path / second.name.replace("0000010", "0000000"))
    with pytest.raises(ValueError, match="must hold runs of its own place, got others"):
        read_results(tmp_path)


def test_a_renamed_file_of_rows_is_played_again_and_removed(tmp_path: Path) -> None:
    spec = load_spec(write_spec(tmp_path, horizon=100))
    run(spec, tmp_path, rows=True)
    whole = contents(tmp_path)
    first, *_ = sorted(tmp_path.glob("rows-*"))
    first.rename(first.with_name(f"{first.stem.rpartition('-')[0]}-{'0' * 16}.parquet"))
    run(spec, tmp_path, rows=True)
    assert contents(tmp_path) == whole
    read_results(tmp_path)


def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    """200 places in each of the two kinds of files, and what it leads to is always the same."""
    spec = load_spec(write_spec(tmp_path, horizon=20, runs=3))
    run(spec, tmp_path, rows=True)
    for path in (tmp_path / "tally-000.npz", *tmp_path.glob("rows-*")):
        whole = path.read_bytes()
        for place in np.linspace(0, len(whole) - 1, 200).astype(int):
            path.write_bytes(
                whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :]
            )
            with pytest.raises(ValueError, match="a damaged file; start `fallow run"):
                (summarize if path.suffix == ".npz" else read_results)(tmp_path)
        path.write_bytes(whole)


def test_rows_can_be_had_later(tmp_path: Path) -> None:
    """With or without rows, before or after: the tally is the same, and so are the rows."""
    spec = load_spec(write_spec(tmp_path, horizon=100))
    run(spec, tmp_path / "first", rows=True)
    run(spec, tmp_path / "later")
    with pytest.raises(ValueError, match=r"later must hold rows, got no rows-000-0000000; start"):
        read_results(tmp_path / "later")
    tally = contents(tmp_path / "later")
    assert list(tally) == ["tally-000.npz"]
    run(spec, tmp_path / "later", rows=True)
    assert contents(tmp_path / "later") == contents(tmp_path / "first")
    assert tally.items() <= contents(tmp_path / "first").items()


def test_rows_of_another_point_are_not_taken(tmp_path: Path) -> None:
    spec = load_spec(EXPERIMENTS / "further-gap.toml")
    spec = replace(spec, runs=2, horizon=50, sweep=("epsilon", (0.05, 0.1)))
    run(spec, tmp_path, rows=True)
    first, second = sorted(tmp_path.glob("rows-*"))
    whole = contents(tmp_path)
    second.write_bytes(first.read_bytes())
    (tmp_path / "tally-001.npz").write_bytes((tmp_path / "tally-000.npz").read_bytes())
    with pytest.raises(ValueError, match=r"rows-001-.* a damaged file; start"):
        read_results(tmp_path)
    with pytest.raises(ValueError, match=r"tally-001.npz must .* belongs to another spec"):
        summarize(tmp_path)
    run(spec, tmp_path, rows=True)
    assert contents(tmp_path) == whole


def test_rows_without_a_manifest_are_not_taken_over(tmp_path: Path) -> None:
    spec = load_spec(write_spec(tmp_path, horizon=100))
    run(spec, tmp_path / "out")
    (tmp_path / "out" / "manifest.json").unlink()
    with pytest.raises(ValueError, match=r"must hold runs with their manifest\.json"):
        run(replace(spec, seed=5), tmp_path / "out")


@pytest.mark.slow
def test_writers_of_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    """Four processes write the same file over and over; whoever looks finds one of their texts."""
    code = (
        "import sys; from pathlib import Path; from fallow.files import write_whole\n"
        "for _ in range(60): write_whole(Path(sys.argv[1]), sys.argv[2].encode() * 100_000)"
    )
    path = tmp_path / "file"
    writers = [subprocess.Popen([sys.executable, "-c", code, str(path), mark]) for mark in "abcd"]
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            found = path.read_bytes()
            assert len(found) == 100_000
            assert len(set(found)) == 1
    assert all(writer.returncode == 0 for writer in writers)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_rows_of_another_spec_or_version_are_refused(tmp_path: Path) -> None:
    spec = load_spec(write_spec(tmp_path, horizon=100))
    run(spec, tmp_path / "out")
    with pytest.raises(ValueError, match=r"must hold runs of this spec, hash .* got hash"):
        run(replace(spec, seed=2), tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.json"
    values = json.loads(manifest.read_text())
    assert set(values) == {"hash", "version", "seed", "started", "spec"}
    manifest.write_text(json.dumps({**values, "version": "0.0.1"}))
    with pytest.raises(ValueError, match=r"runs of this version of fallow, .* got version 0\.0\.1"):
        run(spec, tmp_path / "out")
    for text in ("{}", "[]", json.dumps({**values, "spec": {**values["spec"], "learners": 3}})):
        manifest.write_text(text)
        with pytest.raises(ValueError, match=r"manifest\.json must be a manifest of fallow"):
            read_results(tmp_path / "out")
    with pytest.raises(ValueError, match=r"manifest\.json must be a manifest of fallow"):
        run(spec, tmp_path / "out")


def test_a_new_title_needs_no_new_runs(tmp_path: Path) -> None:
    spec = load_spec(write_spec(tmp_path, horizon=100))
    run(spec, tmp_path / "out")
    started = json.loads((tmp_path / "out" / "manifest.json").read_text())["started"]
    recorder = Recorder()
    run(replace(spec, title="New"), tmp_path / "out", watcher=recorder)
    assert recorder.runs == [23]  # found, not run
    assert summarize(tmp_path / "out")[0].title == "New"
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["started"] == started
