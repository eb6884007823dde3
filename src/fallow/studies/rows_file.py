"""The file of the rows of some runs: Parquet, with a header in its note."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallow import frames
from fallow.errors import InputError
from fallow.files import parse_json
from fallow.studies import fields
from fallow.studies.batch import Batch
from fallow.studies.result import Result
from fallow.studies.spec import Spec

REFERENCES = ("ghost", "optimum")
"""Whose gains are in rows, as `Spec.study` has them."""
LARGEST_GAIN = 1 + 1e-6
"""Upper bounds of the optimum are rounded up."""


def pack_rows(batch: Batch, point: float | None, owner: Mapping[str, Any]) -> bytes:
    """Return the rows of a batch at a point of the sweep as a file, which says whose it is."""
    header = {
        "format": fields.FORMAT,
        **owner,
        "runs": [batch.runs.start, batch.runs.stop],
        "failures": batch.failures,
    }
    return frames.parquet(_frame(batch.result, point), json.dumps(header))


def parse_rows(
    content: bytes, spec: Spec, point: float | None, runs: range, owner: Mapping[str, Any]
) -> Batch:
    """Return the batch of some runs whose file this is.

    Raises
    ------
    InputError
        If it is damaged or another's; the error names the field, the rule and the value.
    """
    whose = {**owner, "runs": [runs.start, runs.stop]}
    header = fields.header(parse_json(frames.read_note(content)), whose, ["failures"])
    failures = fields.failures(header["failures"], runs)
    learners, rounds = tuple(spec.learners), spec.at(point).rounds()
    height = (len(runs) - len(failures)) * len(learners) * len(rounds)
    rows = frames.read_parquet(content, height)
    failed = {failure.run for failure in failures}
    finished = tuple(run for run in runs if run not in failed)
    counts = np.zeros((len(finished), len(learners), len(rounds)), np.int64)
    gains = {name: np.zeros(len(finished)) for name in REFERENCES}
    blank = Result(
        learners, finished, rounds, np.zeros(counts.shape), counts, counts[:, :, 0], gains
    )
    _check_keys(rows, _frame(blank, point))
    return Batch(runs, _result(rows) if finished else blank, failures)


def _frame(result: Result, point: float | None) -> frames.DataFrame:
    points = np.full(result.rewards.size, math.nan if point is None else point)
    return result.frame().insert_column(0, frames.frame({"point": points})["point"])


def _check_keys(rows: frames.DataFrame, expected: frames.DataFrame) -> None:
    if dict(rows.schema) != dict(expected.schema):
        raise InputError("columns", f"must be {expected.schema}", f"{rows.schema}")
    for key in ("point", "run", "learner", "round"):
        if not rows[key].equals(expected[key]):
            raise InputError(key, "must be as in the spec", "others")


def _result(rows: frames.DataFrame) -> Result:
    result = Result.from_frame(rows)
    _check_range("expected_reward", result.rewards, result.rounds * LARGEST_GAIN)
    _check_range("switches", result.switches, result.rounds)
    for name, gains in result.gains.items():
        _check_range(f"{name}_gain", gains, LARGEST_GAIN)
    return result


def _check_range(name: str, values: NDArray[Any], most: NDArray[Any] | float) -> None:
    wrong = values[(values < 0) | (values > most)]
    if wrong.size:
        raise InputError(name, "must be from 0 to 1 a round", f"{wrong[0]}")
