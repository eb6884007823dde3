"""The file of a tally: a line of JSON, then numbers of 64 bits, then a digest of both.

The numbers are, of each segment, its values and, if it has them, its moments.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray
from fallow.errors import InputError
from fallow.files import parse_json, seal, unseal
from fallow.intervals import Moments
from fallow.studies import fields
from fallow.studies.tally import BESIDE_REGRET, BLOCK, FAILURES, LARGEST_VALUE, Segment, Tally

NUMBER = np.dtype("<f8")


def pack_tally(tally: Tally, owner: Mapping[str, Any]) -> bytes:
    """Return the tally of the runs from 0 on as a file, which says whose it is.

    The same bytes for the same runs of the same owner.
    """
    segments, arrays = [], []
    for segment in tally.segments:
        count = None
        arrays.append(segment.values)
        if segment.moments is not None:
            count = segment.moments.count
            arrays += [segment.moments.mean, segment.moments.squares]
        segments.append({"values": len(segment.values), "weight": segment.weight, "count": count})
    header = {
        "format": fields.FORMAT,
        **owner,
        "runs": tally.stop,
        "failed": tally.failed,
        "failures": tally.failures,
        "segments": segments,
    }
    numbers = (array.astype(NUMBER).tobytes() for array in arrays)
    return seal(b"".join([json.dumps(header).encode(), b"\n", *numbers]))


def parse_tally(
    content: bytes, owner: Mapping[str, Any], shape: tuple[int, int, int], runs: int
) -> Tally:
    """Return the tally whose file this is.

    Parameters
    ----------
    content, owner
        As in `pack_tally`.
    shape
        How many measures, learners and rounds it must have.
    runs
        How many runs there can be.

    Raises
    ------
    InputError
        If it is damaged or another's; the error names the field, the rule and the value.
    """
    line, _, body = unseal(content).partition(b"\n")
    keys = ("runs", "failed", "failures", "segments")
    header = fields.header(parse_json(line), owner, keys)
    stop = checks.whole_number("runs", header["runs"], minimum=0, maximum=runs)
    failed = checks.whole_number("failed", header["failed"], minimum=0)
    failures = fields.failures(header["failures"], range(stop))
    described = fields.rows("segments", header["segments"])
    covered = list(_covered(stop))
    for name, found, wanted in (
        ("failures", len(failures), min(failed, FAILURES)),
        ("segments", len(described), len(covered)),
    ):
        if found != wanted:
            raise InputError(name, f"must be {wanted}", f"{found}")
    numbers = _Numbers(body, shape)
    segments = [_parse(part, each, numbers) for part, each in zip(covered, described, strict=True)]
    numbers.end()
    counts = [each.moments.count if each.moments else len(each.values) for each in segments]
    if sum(counts) + failed != stop:
        raise InputError(
            "failed", f"must be {stop - sum(counts)}, as values are missing", f"{failed}"
        )
    return Tally(tuple(segments), tuple(failures), failed)


def _covered(runs: int) -> Iterator[range]:
    """Return the runs of each segment of a tally of so many: ever smaller powers of two of blocks.

    Examples
    --------
    >>> list(_covered(5 * 512 + 7))
    [range(0, 2048), range(2048, 2560), range(2560, 2567)]
    """
    start = 0
    while start < runs:
        blocks = (runs - start) // BLOCK
        length = BLOCK << blocks.bit_length() - 1 if blocks else runs - start
        yield range(start, start + length)
        start += length


class _Numbers:
    """The numbers of a file, taken one array after the other."""

    def __init__(self, body: bytes, shape: tuple[int, int, int]) -> None:
        if len(body) % NUMBER.itemsize:
            raise InputError("numbers", "must be of 8 bytes each", f"{len(body)} bytes")
        self._left, self._shape = np.frombuffer(body, NUMBER), shape

    def take(self, length: int) -> FloatArray:
        """Return the next values by measure, learner and round, so many of each."""
        size = length * math.prod(self._shape)
        if size > len(self._left):
            raise InputError("numbers", f"must be {size} more", f"{len(self._left)}")
        taken, self._left = self._left[:size], self._left[size:]
        return taken.reshape(length, *self._shape).astype(np.float64)

    def end(self) -> None:
        """Refuse numbers that nobody took."""
        if len(self._left):
            raise InputError("numbers", "must end with the last segment", f"{len(self._left)} more")


def _parse(runs: range, value: object, numbers: _Numbers) -> Segment:
    """Return the segment of some runs."""
    described = fields.table("a segment", value, ("values", "weight", "count"))
    most = min(len(runs), BLOCK)
    length = checks.whole_number("values", described["values"], minimum=0, maximum=most)
    values = _check("values", numbers.take(length), -LARGEST_VALUE, LARGEST_VALUE)
    _check(" and ".join(BESIDE_REGRET), values[:, -len(BESIDE_REGRET) :], 0, LARGEST_VALUE)
    if len(runs) < BLOCK:
        for key, only in (("weight", 1), ("count", None)):
            if described[key] != only:
                raise InputError(key, f"must be {only} below a block", f"{described[key]!r}")
        return Segment(runs, values)
    count = checks.whole_number("count", described["count"], minimum=length, maximum=len(runs))
    weight = _parse_weight(described["weight"], length, count, len(runs))
    if (np.diff(values, axis=0) < 0).any():
        raise InputError("values", "must be sorted", "some that are not")
    (mean,), (squares,) = numbers.take(1), numbers.take(1)
    if count:
        _check("mean", mean, -LARGEST_VALUE, LARGEST_VALUE)
    elif not np.isnan(mean).all():
        raise InputError("mean", "must be not a number where all runs failed", "others")
    _check("squares", squares, 0.0, count * (2 * LARGEST_VALUE) ** 2)
    return Segment(runs, values, Moments(count, mean, squares), weight)


def _parse_weight(value: Any, length: int, count: int, runs: int) -> int:
    """Return how many values one of a sample of this length stands for."""
    weight = checks.whole_number("weight", value, minimum=1, maximum=runs // BLOCK)
    if weight.bit_count() != 1:
        raise InputError("weight", "must be a power of two", f"{weight}")
    if (weight == 1 and length != count) or (count > 0) != (length > 0):
        raise InputError("values", f"must stand for {count} at weight {weight}", f"{length}")
    return weight


def _check(name: str, values: FloatArray, low: float, high: float) -> FloatArray:
    wrong = values[~((values >= low) & (values <= high))]
    if wrong.size:
        raise InputError(name, f"must be from {low:g} to {high:g}", f"{wrong[0]}")
    return values
