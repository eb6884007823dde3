"""What a run leaves in its folder, also when it is killed or a file is damaged."""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
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


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def replace_by(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.unlink()
        make(path)

    return damage


A_DAMAGED_FILE = "digest .*must fit the content, got a damaged file"
NO_FILE = "it must be a file, got something else"
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:500]), A_DAMAGED_FILE),
    "empty": (lambda path: path.write_bytes(b""), A_DAMAGED_FILE),
    "a bit": (flip, A_DAMAGED_FILE),
    "a folder": (replace_by(Path.mkdir), NO_FILE),
    "a pipe": (replace_by(os.mkfifo), NO_FILE),
    "a link to nowhere": (replace_by(lambda path: path.symlink_to("nowhere")), NO_FILE),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("pattern", ["tally-*", "rows-*"])
def test_a_damaged_file_is_set_aside_and_its_runs_are_played_again(
    tmp_path: Path, pattern: str, damage: str
) -> None:
    spec = load_spec(write_spec(tmp_path, horizon=100))
    folder = tmp_path / "cut[1]"  # a folder's name is no pattern
    run(spec, folder, rows=True)
    whole = contents(folder)
    path = min(folder.glob(pattern))
    harm, message = DAMAGES[damage]
    harm(path)
    with pytest.raises(ValueError, match=rf"{path.name} is not .*{message}; start `fallow run"):
        (summarize if pattern == "tally-*" else read_results)(folder)
    recorder = Recorder()
    run(spec, folder, rows=True, watcher=recorder)
    aside = path.with_name(f"{path.name}.damaged")
    assert os.path.lexists(aside)
    assert contents(folder) == whole
    assert len(recorder.messages) == 1
    assert re.search(
        rf"{path.name} is not .* of this study: {message}; kept as {aside.name}, and its runs are "
        "played again",
        recorder.messages[0],
    )
    assert sum(recorder.runs) == 23
    run(spec, folder, rows=True, watcher=recorder)
    assert len(recorder.messages) == 1  # it is not stumbled over again


def test_a_second_damage_does_not_overwrite_the_first(tmp_path: Path) -> None:
    spec = load_spec(write_spec(tmp_path, horizon=100))
    for content in (b"first", b"second", b"third"):
        run(spec, tmp_path)
        (tmp_path / "tally-000.bin").write_bytes(content)
    run(spec, tmp_path)
    aside = [f"tally-000.bin.damaged{number}" for number in ("", "-2", "-3")]
    assert [(tmp_path / name).read_bytes() for name in aside] == [b"first", b"second", b"third"]


def rename_rows(path: Path, stem: str) -> None:
    """Give a file of rows another's name, with its right digest."""
    path.rename(
        path.with_name(f"{stem}-{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}.parquet")
    )


def test_rows_of_other_runs_are_set_aside(tmp_path: Path) -> None:
    """Two files that were swapped, and one under the name of no runs at all."""
    spec = load_spec(write_spec(tmp_path, horizon=100))
    run(spec, tmp_path, rows=True)
    whole = contents(tmp_path)
    first, second, third = sorted(tmp_path.glob("rows-*"))
    first.rename(tmp_path / "first")
    rename_rows(second, "rows-000-0000000")
    rename_rows(tmp_path / "first", "rows-000-0000010")
    rename_rows(third, "rows-000-0000007")
    recorder = Recorder()
    run(spec, tmp_path, rows=True, watcher=recorder)
    assert contents(tmp_path) == whole
    reasons = [message.partition("study: ")[2].partition(";")[0] for message in recorder.messages]
    assert reasons == [
        "runs must be [0, 10], got [10, 20]",
        "name must be that of some runs, got another",
        "runs must be [10, 20], got [0, 10]",
    ]
    read_results(tmp_path)


def test_files_of_another_spec_or_code_are_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copied into the folder under their own names."""
    spec = load_spec(write_spec(tmp_path, horizon=100, runs=3))
    run(spec, tmp_path / "here", rows=True)
    whole = contents(tmp_path / "here")
    run(replace(spec, seed=2), tmp_path / "seed", rows=True)
    monkeypatch.setattr("fallow.studies.folder.code_version", lambda: "0.0.1+old")
    run(spec, tmp_path / "old", rows=True)
    monkeypatch.undo()
    for other, reason in (("seed", "spec must be [0-9a-f]{64}, got"), ("old", "version must be")):
        shutil.rmtree(tmp_path / "here")
        shutil.copytree(tmp_path / other, tmp_path / "here")
        (tmp_path / "here" / "manifest.json").unlink()
        recorder = Recorder()
        run(spec, tmp_path / "here", rows=True, watcher=recorder)
        assert contents(tmp_path / "here") == whole
        assert len(recorder.messages) == 2
        assert all(re.search(f"of this study: {reason}", each) for each in recorder.messages)


def test_a_tally_of_no_point_is_set_aside(tmp_path: Path) -> None:
    spec = load_spec(write_spec(tmp_path, horizon=100, runs=3))
    run(spec, tmp_path)
    (tmp_path / "tally-001.bin").write_bytes((tmp_path / "tally-000.bin").read_bytes())
    run(spec, tmp_path)
    assert {path.name for path in tmp_path.glob("tally-*")} == {
        "tally-000.bin",
        "tally-001.bin.damaged",
    }


def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    """200 places in each of the two kinds of files, and what it leads to is always the same."""
    spec = load_spec(write_spec(tmp_path, horizon=20, runs=3))
    run(spec, tmp_path, rows=True)
    for path in (tmp_path / "tally-000.bin", *tmp_path.glob("rows-*")):
        whole = path.read_bytes()
        for place in np.linspace(0, len(whole) - 1, 200).astype(int):
            path.write_bytes(
                whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :]
            )
            with pytest.raises(ValueError, match="a damaged file; start `fallow run"):
                (summarize if path.suffix == ".bin" else read_results)(tmp_path)
        path.write_bytes(whole)


def test_rows_can_be_had_later(tmp_path: Path) -> None:
    """With or without rows, before or after: the tally is the same, and so are the rows."""
    spec = load_spec(write_spec(tmp_path, horizon=100))
    run(spec, tmp_path / "first", rows=True)
    run(spec, tmp_path / "later")
    with pytest.raises(ValueError, match=r"later must hold rows, got no rows-000-0000000; start"):
        read_results(tmp_path / "later")
    tally = contents(tmp_path / "later")
    assert list(tally) == ["tally-000.bin"]
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
    (tmp_path / "tally-001.bin").write_bytes((tmp_path / "tally-000.bin").read_bytes())
    with pytest.raises(ValueError, match=r"rows-001-.* a damaged file; start"):
        read_results(tmp_path)
    with pytest.raises(ValueError, match=r"tally-001.bin is not .*: point must be 1, got 0"):
        summarize(tmp_path)
    run(spec, tmp_path, rows=True)
    assert contents(tmp_path) == whole


@pytest.mark.parametrize(
    "harm",
    [
        Path.unlink,
        lambda path: path.write_bytes(path.read_bytes()[:100]),
        replace_by(Path.mkdir),
        replace_by(lambda path: path.symlink_to("nowhere")),
    ],
)
def test_a_lost_manifest_is_written_anew(tmp_path: Path, harm: Callable[[Path], object]) -> None:
    """The runs are kept, since their files say themselves whose they are."""
    spec = load_spec(write_spec(tmp_path, horizon=100))
    run(spec, tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.json"
    harm(manifest)
    with pytest.raises(ValueError, match=r"manifest.*; start `fallow run`, which writes it"):
        summarize(tmp_path / "out")
    recorder = Recorder()
    run(spec, tmp_path / "out", watcher=recorder)
    assert recorder.runs == [23]  # found, not run
    assert [message.partition("; ")[2] for message in recorder.messages] == [
        "kept as manifest.json.damaged, and written anew"
        for _ in (tmp_path / "out").glob("*.damaged")
    ]
    summarize(tmp_path / "out")


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
    assert set(values) == {"format", "hash", "version", "started", "spec"}
    manifest.write_text(json.dumps({**values, "version": "0.0.1"}))
    with pytest.raises(ValueError, match=r"runs of this version of fallow, .* got version 0\.0\.1"):
        run(spec, tmp_path / "out")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 2}, "format must be 1, got 2"),
        ({"hash": "0"}, r"hash must be [0-9a-f]{64}, got '0'"),
        ({"started": "today"}, "started must be a time, got 'today'"),
        ({"version": 1}, "version must be text, got 1"),
        ({"more": 1}, "header must hold format, hash, version, started, spec, got"),
        ({"spec.learners": 3}, r"spec\.learners must be a table, got 3"),
        ({"spec.learners": {}}, r"spec\.learners must hold at least one learner, got none"),
        ({"spec.runs": 0}, r"spec\.runs must be a whole number >= 1, got 0"),
        ({"spec.runs": 10**9 + 1}, r"spec\.runs must be at most 1,000,000,000"),
        ({"spec.drift": 10_001}, r"spec\.drift must be at most 10,000"),
        ({"spec.concentration": 1e10}, r"spec\.concentration must be from 1e-09 to 1e\+09"),
        ({"spec.kind": "sweep"}, "kind must not be 'sweep' without"),
        ({"spec.horizon": "9"}, r"spec\.horizon must be a whole number"),
        ({"spec.checkpoints": [101]}, r"checkpoints must .* got \[101\]"),
        ({"spec.switching_costs": [0, 0]}, r"spec\.switching_costs must be different numbers"),
        ({"spec.switching_costs": [-1]}, r"spec\.switching_costs must be finite and >= 0, got -1"),
        ({"spec.sweep": ["horizon", []]}, r"spec\.sweep\.horizon must be a list of numbers"),
        ({"spec.sweep": ["epsilon", [1, "2"]]}, r"spec\.sweep\.epsilon must be a list of numbers"),
        ({"spec.kind": "pie"}, r"spec\.kind must be one of rounds, sweep, costs, got 'pie'"),
        ({"spec.source": {"means": [[2]]}}, r"means must lie in \[0, 1\], got 2"),
        ({"spec.source": {"catalog": 1, "parameters": {}}}, r"spec\.source\.catalog must be text"),
        ({"spec.published": [{"note": ""}]}, r"spec\.published\.0 must hold learner, "),
        ({"spec.name": None}, r"spec\.name must be text, got None"),
    ],
)
def test_a_manifest_obeys_the_rules_of_a_spec(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    spec = load_spec(write_spec(tmp_path, horizon=100, runs=3))
    run(spec, tmp_path)
    manifest = tmp_path / "manifest.json"
    values = json.loads(manifest.read_text())
    for key, value in changes.items():
        first, _, second = key.rpartition(".")
        (values[first] if first else values)[second] = value
    manifest.write_text(json.dumps(values))
    with pytest.raises(ValueError, match=rf"manifest\.json is not a manifest of fallow: {message}"):
        summarize(tmp_path)


def test_a_new_title_needs_no_new_runs(tmp_path: Path) -> None:
    spec = load_spec(write_spec(tmp_path, horizon=100))
    run(spec, tmp_path / "out")
    started = json.loads((tmp_path / "out" / "manifest.json").read_text())["started"]
    recorder = Recorder()
    run(replace(spec, title="New"), tmp_path / "out", watcher=recorder)
    assert recorder.runs == [23]  # found, not run
    assert summarize(tmp_path / "out")[0].title == "New"
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["started"] == started
