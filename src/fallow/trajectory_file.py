"""The arrays of a trajectory's file, each checked when it is read: others may have written them."""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from fallow import checks
from fallow.errors import InputError
from fallow.files import write_whole
from fallow.instance import Instance

FORMAT = 1
"""Of the files that are written and read here."""
MAX_BYTES = 2**28
"""Of all arrays, 256 MiB: enough for 13 million blocks of one round, with their rewards."""
MAX_RATIO = 32
"""Bytes of arrays for each byte of a larger file, so that a small one cannot fill the memory."""
READ_BYTES = 2**20
"""Read at a time."""
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
RUNS = ("starts", "means", "names", "arms", "numbers", "pulls", "drawn")
SAMPLES = ("rounds", "rewards", "switches", "played")
DTYPES = {
    "means": "float64",
    "names": "uint8",
    "rewards": "float64",
    "numbers": "int32",
    "drawn": "float64",
}
"""Of arrays that do not hold integers of 64 bits."""
DIMENSIONS = {"means": 2, "played": 0, "format": 0}
"""Of arrays that are no plain lists."""

Arrays = Mapping[str, npt.NDArray[Any]]


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write an NPZ file; large arrays are not compressed, since a small file of them is refused."""
    content = BytesIO()
    is_large = sum(array.nbytes for array in arrays.values()) > MAX_BYTES // 2
    write = np.savez if is_large else np.savez_compressed
    write(content, allow_pickle=False, format=np.array(FORMAT), **arrays)
    write_whole(path, content.getvalue())


def read_arrays(path: Path) -> Arrays:
    """Return the arrays of a file, either `RUNS` or `SAMPLES`, that can be trusted.

    Raises
    ------
    InputError
        If the file is damaged or not a trajectory; it names the array, the rule and the value.
    """
    content = path.read_bytes()
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            arrays = _read(archive, max(MAX_BYTES, MAX_RATIO * len(content)))
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


def _read(archive: zipfile.ZipFile, most: int) -> dict[str, npt.NDArray[Any]]:
    """Return all arrays; what can be checked before others are read, is."""
    names = [name.removesuffix(".npy") for name in archive.namelist()]
    expected = ("format", *(RUNS if "means" in names else SAMPLES))
    checks.keys("a trajectory's file", dict.fromkeys(names), expected)
    size = sum(member.file_size for member in archive.infolist())  # no more than this is read
    if size > most:
        raise InputError("the arrays", f"must have at most {most:,} bytes in all", f"{size:,}")
    arrays = {}
    for name in expected:
        member = archive.getinfo(f"{name}.npy")
        with archive.open(member) as file:
            arrays[name] = _read_array(name, file, member.file_size)
        if name == "format" and arrays[name] != FORMAT:
            raise InputError("format", f"must be {FORMAT}, which is read here", str(arrays[name]))
        if name == "starts":
            _rising(name, arrays[name], 0, checks.LARGEST)
    del arrays["format"]
    return arrays


def _read_array(name: str, file: IO[bytes], size: int) -> npt.NDArray[Any]:
    """Return an array whose header says what the size of its member does."""
    version = npy.read_magic(file)
    if version not in HEADERS:
        raise InputError(name, "must be in version 1 or 2 of the NPY format", f"{version}")
    shape, by_columns, dtype = HEADERS[version](file)
    wanted = np.dtype(DTYPES.get(name, "int64"))
    dimensions = DIMENSIONS.get(name, 1)
    if dtype != wanted or len(shape) != dimensions or by_columns:
        raise InputError(
            name,
            f"must be of {wanted} in {dimensions} dimensions by rows",
            f"{dtype} in {len(shape)}",
        )
    expected = wanted.itemsize * math.prod(shape)
    if expected > size:
        raise InputError(name, f"must hold at most {size:,} bytes", f"{shape}")
    content = bytearray()
    while part := file.read(min(READ_BYTES, expected + 1 - len(content))):
        content += part
    if len(content) != expected:
        raise InputError(name, "must end with its last number", "too few bytes, or too many")
    return np.frombuffer(content, wanted).reshape(shape)


def _checked_runs(arrays: Arrays) -> Arrays:
    means = Instance(arrays["means"], decode_names(arrays["names"])).means
    cycles = len(arrays["starts"]) - 1
    _in_range("arms", arrays["arms"], 0, len(means) - 1)
    for place, end in ((0, 0), (-1, len(arrays["arms"]))):
        if arrays["starts"][place] != end:
            raise InputError(f"starts[{place}]", f"must be {end}", f"{arrays['starts'][place]}")
    _in_range("numbers", arrays["numbers"], 0, cycles - 1)
    _in_range("pulls", arrays["pulls"], 1, checks.LARGEST)
    _same_length(arrays, ("numbers", "pulls"))
    checks.whole_number("the sum of pulls", int(arrays["pulls"].sum(dtype=float)), minimum=1)
    drawn = arrays["drawn"]
    if drawn.size not in (0, arrays["pulls"].sum()):
        raise InputError("drawn", "must be one a round, or none", f"{drawn.size:,}")
    checks.shares("drawn", drawn, lambda place: f"in round {place + 1}")
    return {**arrays, "means": means}


def _checked_samples(arrays: Arrays) -> Arrays:
    played = checks.whole_number("played", int(arrays["played"]), minimum=1)
    _rising("rounds", arrays["rounds"], 0, played)
    _same_length(arrays, ("rounds", "rewards", "switches"))
    for name in ("rewards", "switches"):
        _in_range(name, arrays[name], 0, arrays["rounds"] * (1 + 1e-9))
        _in_order(name, arrays[name], "never fall", arrays[name][1:] < arrays[name][:-1])
    return arrays


def _in_range(name: str, values: npt.NDArray[Any], low: int, high: Any) -> None:
    if not values.size:
        raise InputError(name, "must hold at least one number", "none")
    wrong = values[~((values >= low) & (values <= high))]
    if wrong.size:
        most = checks.short(high) if isinstance(high, int) else "its round"
        raise InputError(name, f"must be from {low} to {most}", f"{wrong[0]}")


def _rising(name: str, values: npt.NDArray[Any], low: int, high: int) -> None:
    _in_range(name, values, low, high)
    _in_order(name, values, "rise", values[1:] <= values[:-1])


def _in_order(
    name: str, values: npt.NDArray[Any], rule: str, is_wrong: npt.NDArray[np.bool_]
) -> None:
    """Check that no number is wrong behind the one before."""
    if is_wrong.any():
        first = int(is_wrong.argmax())
        found = f"{values[first]} and then {values[first + 1]}"
        raise InputError(name, f"must {rule}", f"{found} at position {first + 1}")


def _same_length(arrays: Arrays, names: Sequence[str]) -> None:
    lengths = [len(arrays[name]) for name in names]
    if len(set(lengths)) > 1:
        raise InputError(f"{', '.join(names)}", "must be equally long", f"{lengths}")
