"""The files in a folder of results: the manifest, tallies, and rows.

Each carries a digest of its content and names its owner: the spec, the code, the point and the
runs. A file that fits both was written here, and its numbers are taken as they are. Digests can be
computed by anyone, so sizes and shapes are still checked: a file that somebody made up cannot
crash the interpreter, occupy it without end, or fill the memory.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from fallow import checks, frames
from fallow.arrays import FloatArray
from fallow.errors import InputError
from fallow.files import parse_json, seal, unseal
from fallow.intervals import Moments
from fallow.studies import fields
from fallow.studies.batch import Batch, Failure
from fallow.studies.result import Result
from fallow.studies.spec import Spec
from fallow.studies.tally import BLOCK_RUNS, LARGEST_VALUE, LISTED_FAILURES, Segment, Tally

FORMAT = 1
"""Version of all formats; a file with another is not read."""
NUMBER = np.dtype("<f8")
REFERENCES = ("ghost", "optimum")
"""The references whose gains are in rows, as `Spec.study` has them."""
MAX_GAIN = 1 + 1e-6
"""Largest gain per round: upper bounds of the optimum are rounded up."""


class Manifest(NamedTuple):
    """The spec of some results, the version of the code, and when they were begun."""

    spec: Spec
    version: str
    started: str


def pack_manifest(manifest: Manifest) -> bytes:
    """Return a manifest as a JSON file."""
    values = {
        "format": FORMAT,
        "hash": manifest.spec.digest(),
        "version": manifest.version,
        "started": manifest.started,
        "spec": manifest.spec.values(),
    }
    return json.dumps(values, indent=2).encode()


def parse_manifest(content: bytes) -> Manifest:
    """Return the manifest whose file this is.

    Raises
    ------
    InputError
        Names the field, the rule and the value.
    """
    header = _header(parse_json(content), {}, ("hash", "version", "started", "spec"))
    started = checks.text("started", header["started"])
    try:
        datetime.fromisoformat(started)
    except ValueError:
        raise InputError("started", "must be a time", checks.short(started)) from None
    spec = fields.spec_of(header["spec"])
    if header["hash"] != spec.digest():
        raise InputError("hash", f"must be {spec.digest()}", checks.short(header["hash"]))
    return Manifest(spec, checks.text("version", header["version"]), started)


def pack_tally(tally: Tally, owner: Mapping[str, Any]) -> bytes:
    """Return the tally of the runs from 0 on as a file that names its owner.

    The file is a line of JSON, then numbers of 64 bits, then a digest of both. The numbers are, for
    each segment, its values and, if it has them, its moments. The bytes are the same for the same
    runs of the same owner.
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
        "format": FORMAT,
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
        Its number of measures, learners and rounds.
    runs
        The number of runs of the study.

    Raises
    ------
    InputError
        If the file is damaged or another's; the error names the field, the rule and the value.
    """
    line, _, body = unseal(content).partition(b"\n")
    header = _header(parse_json(line), owner, ("runs", "failed", "failures", "segments"))
    stop = checks.whole_number("runs", header["runs"], minimum=0, maximum=runs)
    failures = _failures(header["failures"], range(stop))
    covered = list(_covered(stop))
    described = fields.rows("segments", header["segments"], len(covered))
    numbers = _Numbers(body, shape)
    segments = [_segment(*pair, numbers) for pair in zip(covered, described, strict=True)]
    numbers.end()
    counts = [part.moments.count if part.moments else len(part.values) for part in segments]
    failed = stop - sum(counts)
    for name, actual, wanted in (
        ("failed", header["failed"], failed),
        ("the number of failures", len(failures), min(failed, LISTED_FAILURES)),
    ):
        if actual != wanted:
            raise InputError(name, f"must be {wanted}", checks.short(actual))
    return Tally(tuple(segments), tuple(failures), failed)


def _covered(runs: int) -> Iterator[range]:
    """Yield the runs of each segment of a tally: blocks, in numbers that are powers of two.

    Examples
    --------
    >>> list(_covered(5 * 512 + 7))
    [range(0, 2048), range(2048, 2560), range(2560, 2567)]
    """
    start = 0
    while start < runs:
        blocks = (runs - start) // BLOCK_RUNS
        length = BLOCK_RUNS << blocks.bit_length() - 1 if blocks else runs - start
        yield range(start, start + length)
        start += length


class _Numbers:
    """The numbers of a file, taken one array after the other."""

    def __init__(self, body: bytes, shape: tuple[int, int, int]) -> None:
        if len(body) % NUMBER.itemsize:
            raise InputError("numbers", "must be of 8 bytes each", f"{len(body)} bytes")
        self._left, self._shape = np.frombuffer(body, NUMBER), shape

    def take(self, length: int) -> FloatArray:
        """Return the next `length` arrays by measure, learner and round."""
        size = length * math.prod(self._shape)
        if size > len(self._left):
            raise InputError("numbers", f"must be {size} more", f"{len(self._left)}")
        taken, self._left = self._left[:size], self._left[size:]
        return taken.reshape(length, *self._shape).astype(np.float64)

    def end(self) -> None:
        """Refuse numbers that were not taken."""
        if len(self._left):
            raise InputError("numbers", "must end with the last segment", f"{len(self._left)} more")


def _segment(runs: range, value: object, numbers: _Numbers) -> Segment:
    """Return the segment of some runs, of numbers that can be added up."""
    described = fields.table("a segment", value, ("values", "weight", "count"))
    most = min(len(runs), BLOCK_RUNS)
    length = checks.whole_number("values", described["values"], minimum=0, maximum=most)
    values = _in_range("values", numbers.take(length), -LARGEST_VALUE)
    if len(runs) < BLOCK_RUNS:
        return Segment(runs, values)
    # A sample of one value or more stands for all values, if there are any.
    least, most = (length, len(runs)) if length else (0, 0)
    count = checks.whole_number("count", described["count"], minimum=least, maximum=most)
    weight = checks.whole_number("weight", described["weight"], minimum=1, maximum=len(runs))
    (mean,), (squares,) = numbers.take(1), numbers.take(1)
    if count:
        _in_range("mean", mean, -LARGEST_VALUE)
    _in_range("squares", squares, 0.0, count * (2 * LARGEST_VALUE) ** 2)
    return Segment(runs, values, Moments(count, mean, squares), weight)


def pack_rows(batch: Batch, point: float | None, owner: Mapping[str, Any]) -> bytes:
    """Return the rows of a batch at a point of the sweep as a Parquet file that names its owner."""
    header = {
        "format": FORMAT,
        **owner,
        "runs": [batch.runs.start, batch.runs.stop],
        "failures": batch.failures,
    }
    result = batch.result
    points = np.full(result.rewards.size, math.nan if point is None else point)
    rows = result.frame().insert_column(0, frames.frame({"point": points})["point"])
    return frames.parquet(rows, json.dumps(header))


def parse_rows(
    content: bytes, spec: Spec, point: float | None, runs: range, owner: Mapping[str, Any]
) -> Batch:
    """Return the batch of some runs whose file this is.

    Raises
    ------
    InputError
        If the file is damaged or another's; the error names the field, the rule and the value.
    """
    whose = {**owner, "runs": [runs.start, runs.stop]}
    header = _header(parse_json(frames.read_note(content)), whose, ["failures"])
    failures = _failures(header["failures"], runs)
    finished = tuple(sorted(set(runs) - {failure.run for failure in failures}))
    learners, rounds = tuple(spec.learners), spec.at(point).rounds()
    rows = frames.read_parquet(content, len(finished) * len(learners) * len(rounds))
    if not finished:
        return Batch(runs, Result.empty(learners, rounds, REFERENCES), failures)
    result = Result.from_frame(rows)
    for name, actual, wanted in (
        ("learner", result.learners, learners),
        ("run", result.runs, finished),
        ("round", tuple(result.rounds), tuple(rounds)),
        ("gains", tuple(result.gains), REFERENCES),
    ):
        if actual != wanted:
            raise InputError(name, "must be as in the spec", "others")
    _in_range("expected_reward", result.rewards, 0, MAX_GAIN * float(rounds[-1]))
    for name, gains in result.gains.items():
        _in_range(f"{name}_gain", gains, 0, MAX_GAIN)
    return Batch(runs, result, failures)


def _header(value: object, owner: Mapping[str, Any], keys: Collection[str]) -> Mapping[str, Any]:
    """Return what a file says about itself, after a check of its format and its owner."""
    wanted = {"format": FORMAT, **owner}
    header = fields.table("header", value, (*wanted, *keys))
    for key, right in wanted.items():
        if header[key] != right:
            raise InputError(key, f"must be {right}", checks.short(header[key]))
    return header


def _failures(value: object, runs: range) -> list[Failure]:
    """Return some runs that failed, in their order."""
    failures: list[Failure] = []
    for entry in fields.rows("failures", value):
        number, message = fields.rows("a failure", entry, length=2)
        first = failures[-1].run + 1 if failures else runs.start
        run = checks.whole_number("the run of a failure", number, first, runs.stop - 1)
        failures.append(Failure(run, checks.text("the message of a failure", message)))
    return failures


def _in_range(name: str, values: FloatArray, low: float, high: float = LARGEST_VALUE) -> FloatArray:
    wrong = values[~((values >= low) & (values <= high))]
    if wrong.size:
        raise InputError(name, f"must be from {low:g} to {high:g}", f"{wrong[0]}")
    return values
