"""Files of trajectories: what would lead a kernel astray or fill the memory is refused."""

import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzzing.trajectories import arrays_of
from helpers import Scripted

from fallow import Block, Instance, Trajectory, catalog, simulate, trajectory_file
from fallow.errors import InputError
from fallow.learners import UCB1

HUGE = 10**9

TRAJECTORIES: list[tuple[str, Any, str]] = [
    ("arms", [HUGE], "arms must be from 0 to 3, got 1000000000"),
    ("arms", [-1], "arms must be from 0 to 3, got -1"),
    ("arms", [], "arms must hold at least one number, got none"),
    ("starts", [0, HUGE], r"starts\[-1\] must be \d+, got 1000000000"),
    ("starts", [0, 0], "starts must rise"),
    ("starts", [1, 4], r"starts\[0\] must be 0, got 1"),
    ("numbers", np.array([HUGE], np.int32), "numbers must be from 0 to"),
    ("numbers", [0], "numbers must be of int32 in 1 dimensions, got int64 in 1"),
    ("pulls", [0], "pulls must be from 1 to"),
    ("pulls", [1], "numbers, pulls must be equally long"),
    ("means", [[0.5, 2.0]], r"means must lie in \[0, 1\], got 2.0"),
    ("means", [[np.nan]], r"means must lie in \[0, 1\], got nan"),
    ("format", 2, "format must be 1, which is read here, got 2"),
    ("extra", 2, "a trajectory's file must hold format, means, .*, got .*extra"),
]
SAMPLES: list[tuple[str, Any, str]] = [
    ("rounds", [0, 1, 5, 999], "rounds must be from 0 to 300, got 999"),
    ("rounds", [0, 5, 1, 100], "rounds must rise"),
    ("switches", [0, 1, 2], "rounds, rewards, switches must be equally long"),
    ("played", 0, "played must be a whole number >= 1, got 0"),
]


@pytest.mark.parametrize(
    ("kind", "name", "value", "message"),
    [(0, *case) for case in TRAJECTORIES] + [(2, *case) for case in SAMPLES],
)
def test_a_trajectory_that_cannot_be_is_refused(
    kind: int, name: str, value: Any, message: str, tmp_path: Path
) -> None:
    arrays = {**arrays_of(tmp_path)[kind], name: np.array(value)}
    if name == "arms" and not len(value):
        arrays["arms"] = np.zeros(0, np.int64)
    np.savez(tmp_path / "run.npz", **arrays)
    with pytest.raises(ValueError, match=rf"run\.npz: .*{message}"):
        Trajectory.load(tmp_path / "run.npz")


def test_a_file_that_is_not_an_archive_of_numbers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    np.savez(path, **{**arrays_of(tmp_path)[0], "arms": np.array(["x"], object)})
    for content in (b"not an archive", path.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"run\.npz must be a trajectory's file, got a dam"):
            Trajectory.load(path)


@pytest.mark.parametrize(
    ("name", "array", "rule"),
    [
        ("names", np.frombuffer(b"{", np.uint8), "names must be a list in JSON"),
        ("names", np.frombuffer(b"[1, 2]", np.uint8), "names must be strings, got 1 for arm 0"),
        ("names", np.frombuffer(b'["a"]', np.uint8), "names must be one for each arm, got 1"),
        ("names", np.zeros(2), "names must be of uint8"),
        ("drawn", np.zeros(9), "drawn must be one per round, or none, got 9"),
    ],
)
def test_names_and_rewards_fit_arms_and_rounds(
    tmp_path: Path, name: str, array: Any, rule: str
) -> None:
    path = tmp_path / "run.npz"
    simulate(catalog.figure3(), UCB1(2), 10, seed=0).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **{**arrays, name: array})
    with pytest.raises(ValueError, match=rule):
        Trajectory.load(path)


def test_a_small_file_cannot_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    simulate(catalog.figure3(), UCB1(2), 10, seed=0).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    numbers = 40_000_000
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                if name != "starts":
                    np.lib.format.write_array(member, array)
                    continue
                header = {"descr": "<i8", "fortran_order": False, "shape": (numbers,)}
                np.lib.format.write_array_header_1_0(member, header)
                for _ in range(numbers // 10**6):
                    member.write(bytes(8 * 10**6))
    assert path.stat().st_size < 2_000_000
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"arrays must have at most 268,435,456 bytes in all"):
            Trajectory.load(path)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_what_was_saved_can_be_loaded_however_well_it_compresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trajectory_file, "MAX_BYTES", 10_000)
    run = simulate(Instance([[0.0]]), Scripted([Block((0,), 1)]), 50_000, 0, keep_rewards=True)
    run.save(tmp_path / "run.npz")
    loaded = Trajectory.load(tmp_path / "run.npz")
    assert loaded.rewards().tolist() == [0.0] * 50_000
