"""Files of trajectories."""

import io
import zipfile
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from learner_contract import INSTANCE, MAKERS

from fallow import Trajectory, simulate
from fallow.trajectory import RunTrajectory
from fallow.trajectory_file import RUNS, SAMPLES
from fuzzing import hostile

NAMES = (*RUNS, *SAMPLES)


@lru_cache
def arrays_of(folder: Path) -> list[dict[str, Any]]:
    """Return the arrays of some trajectories of both kinds, with and without rewards."""
    found = []
    ways: tuple[dict[str, Any], ...] = ({}, {"keep_rewards": True}, {"checkpoints": [0, 1, 5, 100]})
    for name in ("low-switch", "rotation", "ranking-ucb", "ucb1"):
        for way in ways:
            run = simulate(INSTANCE, MAKERS[name](), 300, seed=1, **way)
            run.save(folder / "valid.npz")
            with np.load(folder / "valid.npz") as file:
                found.append(dict(file))
    return found


def case(generator: Random, folder: Path) -> str:
    """Change arrays or bytes of a file, read it, and ask for totals if it was read."""
    arrays = dict(generator.choice(arrays_of(folder)))
    for name in generator.sample(list(arrays), generator.choice((0, 1, 1, 2))):
        arrays[name] = _changed(arrays[name], generator)
    if generator.random() < 0.1:
        del arrays[generator.choice(list(arrays))]
    if generator.random() < 0.1:
        arrays[generator.choice(NAMES)] = np.array(generator.choice((0, 5, -1)))
    buffer = io.BytesIO()
    save = np.savez if generator.random() < 0.5 else np.savez_compressed
    try:
        save(buffer, **arrays)
    except (ValueError, OverflowError):  # not even numpy writes it
        return "refused"
    content = buffer.getvalue()
    if generator.random() < 0.4:
        content = hostile.change_bytes(content, generator)
    elif generator.random() < 0.1:
        content = _with_a_lie(content, generator)
    path = folder / "changed.npz"
    path.write_bytes(content)
    try:
        run = Trajectory.load(path)
    except ValueError:
        return "refused"
    at = [0, run.horizon // 2, run.horizon]
    if hasattr(run, "rounds"):
        at = run.rounds.tolist()
    run.expected_reward(at)
    run.switches(at)
    run._repr_html_()
    if isinstance(run, RunTrajectory):
        run.arms(0, min(9, run.horizon))
    run.save(path)
    Trajectory.load(path)
    return "read"


def _changed(array: Any, generator: Random) -> Any:
    """Return an array with another value, shape, length or kind."""
    kind = generator.random()
    if kind < 0.6 and array.size:
        changed = array.copy()
        place = generator.randrange(changed.size)
        try:
            changed.flat[place] = generator.choice((*hostile.NUMBERS, changed.flat[place] + 1))
        except (OverflowError, ValueError):
            changed.flat[place] = np.array(-1).astype(array.dtype)
        return changed
    if kind < 0.7:
        return array[: generator.randrange(len(array))] if array.size and array.ndim else array
    if kind < 0.8:
        dtype = generator.choice(("float32", ">i8", "int8", "U3", "complex64", "M8[s]"))
        return array.astype(dtype)
    if kind < 0.9:
        return np.asfortranarray(array) if array.ndim > 1 else array.reshape(1, -1)
    return np.array(generator.choice(({}, None, [{}], "x")), dtype=object)


def _with_a_lie(content: bytes, generator: Random) -> bytes:
    """Return a file with an array whose header claims a shape that it has not."""
    claimed = generator.choice(((10**12,), (-1,), (2**63,), (0,), (3, 10**9), (10**30, 10**30)))
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        lying = generator.choice(old.namelist())
        for name in old.namelist():
            data = old.read(name)
            if name == lying:
                header = {"descr": "<i8", "fortran_order": False, "shape": claimed}
                lie = io.BytesIO()
                np.lib.format.write_array_header_1_0(lie, header)
                data = lie.getvalue() + bytes(generator.choice((0, 8, 10**6)))
            new.writestr(name, data)
    return buffer.getvalue()
