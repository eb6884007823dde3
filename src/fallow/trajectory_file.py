"""The arrays of a trajectory's file, whose shapes and indices are checked when they are read.

Kernels trust their arguments, and the file may come from anywhere. The numbers themselves, such as
rewards, are taken as they are.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fallow import checks
from fallow.errors import InputError
from fallow.files import write_whole
from fallow.instance import Instance

FORMAT = 1
"""Version of the files that are written and read here."""
MAX_BYTES = 2**28
"""Size of all arrays, 256 MiB: enough for 13 million blocks of one round, with their rewards."""
MAX_RATIO = 32
"""Bytes of arrays per byte of a larger file, so that a small one cannot fill the memory."""
RUNS = ("means", "names", "arms", "starts", "numbers", "pulls", "drawn")
SAMPLES = ("rounds", "rewards", "switches", "played")
DTYPES = {
    "means": "float64",
    "names": "uint8",
    "rewards": "float64",
    "numbers": "int32",
    "drawn": "float64",
}
"""Types of arrays that do not hold integers of 64 bits."""
DIMENSIONS = {"means": 2, "played": 0, "format": 0}
"""Number of dimensions of arrays that are not plain lists."""

Arrays = Mapping[str, npt.NDArray[Any]]


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write an NPZ file; large arrays are not compressed, since a small file of them is refused."""
    content = BytesIO()
    is_large = sum(array.nbytes for array in arrays.values()) > MAX_BYTES // 2
    write = np.savez if is_large else np.savez_compressed
    write(content, allow_pickle=False, format=np.array(FORMAT), **arrays)
    write_whole(path, content.getvalue())


def read_arrays(path: Path) -> Arrays:
    """Return the arrays of a file, either `RUNS` or `SAMPLES`, that kernels can trust.

    Raises
    ------
    InputError
        If the file is damaged or not a trajectory; it names the array, the rule and the value.
    """
    content = path.read_bytes()
    try:
        arrays = _read(content)
        return _checked_runs(arrays) if "means" in arrays else _checked_samples(arrays)
    except InputError as error:
        raise error.at(path) from None
    except Exception as error:  # a damaged archive raises errors of many kinds
        raise InputError(
            str(path), "must be a trajectory's file", f"a damaged one: {error}"
        ) from None


def encode_names(names: Sequence[str]) -> npt.NDArray[np.uint8]:
    """Return names as the bytes of a list in JSON."""
    return np.frombuffer(json.dumps(names).encode(), np.uint8)


def decode_names(content: npt.NDArray[np.uint8]) -> tuple[str, ...]:
    """Return the names that these bytes hold; `Instance` checks that they are names."""
    try:
        return tuple(json.loads(content.tobytes()))
    except (ValueError, TypeError, RecursionError):
        raise InputError("names", "must be a list in JSON", "something else") from None


def _read(content: bytes) -> dict[str, npt.NDArray[Any]]:
    """Return all arrays, each of its type; their size is known before they are read."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
        size = sum(member.file_size for member in archive.infolist())  # no more than this is read
    expected = ("format", *(RUNS if "means" in names else SAMPLES))
    checks.keys("a trajectory's file", dict.fromkeys(names), expected)
    most = max(MAX_BYTES, MAX_RATIO * len(content))
    if size > most:
        raise InputError("the arrays", f"must have at most {most:,} bytes in all", f"{size:,}")
    with np.load(BytesIO(content), allow_pickle=False) as file:
        arrays = {name: _typed(name, file[name]) for name in expected}
    if arrays["format"] != FORMAT:
        raise InputError("format", f"must be {FORMAT}, which is read here", str(arrays["format"]))
    del arrays["format"]
    return arrays


def _typed(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array that has the type and the dimensions of its name, by rows."""
    wanted, dimensions = np.dtype(DTYPES.get(name, "int64")), DIMENSIONS.get(name, 1)
    if array.dtype != wanted or array.ndim != dimensions:
        raise InputError(
            name,
            f"must be of {wanted} in {dimensions} dimensions",
            f"{array.dtype} in {array.ndim}",
        )
    return np.asarray(array, order="C")


def _checked_runs(arrays: Arrays) -> Arrays:
    means = Instance(arrays["means"], decode_names(arrays["names"])).means
    starts, pulls = arrays["starts"], arrays["pulls"]
    _in_range("arms", arrays["arms"], 0, len(means) - 1)
    _rising("starts", starts, 0, checks.LARGEST)
    for index, end in ((0, 0), (-1, len(arrays["arms"]))):
        if starts[index] != end:
            raise InputError(f"starts[{index}]", f"must be {end}", f"{starts[index]}")
    _in_range("numbers", arrays["numbers"], 0, len(starts) - 2)
    _in_range("pulls", pulls, 1, checks.LARGEST)
    _same_length(arrays, ("numbers", "pulls"))
    checks.whole_number("the sum of pulls", int(pulls.sum(dtype=float)), minimum=1)
    if arrays["drawn"].size not in (0, pulls.sum()):
        raise InputError("drawn", "must be one per round, or none", f"{arrays['drawn'].size:,}")
    return {**arrays, "means": means}


def _checked_samples(arrays: Arrays) -> Arrays:
    played = checks.whole_number("played", int(arrays["played"]), minimum=1)
    _rising("rounds", arrays["rounds"], 0, played)
    _same_length(arrays, ("rounds", "rewards", "switches"))
    return arrays


def _in_range(name: str, values: npt.NDArray[Any], low: int, high: int) -> None:
    if not values.size:
        raise InputError(name, "must hold at least one number", "none")
    wrong = values[(values < low) | (values > high)]
    if wrong.size:
        raise InputError(name, f"must be from {low} to {checks.short(high)}", f"{wrong[0]}")


def _rising(name: str, values: npt.NDArray[Any], low: int, high: int) -> None:
    _in_range(name, values, low, high)
    falls = values[1:] <= values[:-1]
    if falls.any():
        first = int(falls.argmax())
        pair = f"{values[first]} and then {values[first + 1]}"
        raise InputError(name, "must rise", f"{pair} at position {first + 1}")


def _same_length(arrays: Arrays, names: Sequence[str]) -> None:
    lengths = [len(arrays[name]) for name in names]
    if len(set(lengths)) > 1:
        raise InputError(f"{', '.join(names)}", "must be equally long", f"{lengths}")
