"""What a study leaves in its folder: a manifest, a tally of each point, and maybe rows."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from fallow import frames
from fallow.files import remove_unfinished, write_whole
from fallow.source import code_version
from fallow.studies.batch import Batch, Failure
from fallow.studies.result import Result
from fallow.studies.spec import Spec
from fallow.studies.tally import Tally

MANIFEST = "manifest.json"
RUNS_A_FILE = 10
"""Least number of runs in a file of rows: what is done again at most after a crash."""
FILES = 1000
"""Most files of rows at one point of a sweep."""


@dataclass(frozen=True)
class Piece:
    """The runs at one point of the sweep whose rows are in one file."""

    place: int
    point: float | None
    runs: range

    @property
    def stem(self) -> str:
        """How the name of its file begins; the digest of the file follows."""
        return f"rows-{self.place:03}-{self.runs.start:07}"


def pieces(spec: Spec) -> Iterator[Piece]:
    """Return the pieces whose rows are in a file each; the spec alone decides which."""
    size = max(RUNS_A_FILE, math.ceil(spec.runs / FILES))
    for place, point in enumerate(spec.points):
        for first in range(0, spec.runs, size):
            yield Piece(place, point, range(first, min(first + size, spec.runs)))


@contextmanager
def lock_results(spec: Spec, folder: Path) -> Iterator[None]:
    """Lock the results folder, and check or write its manifest.

    Raises
    ------
    ValueError
        If the folder holds results of another spec or of other code, or is in use.
    """
    lock = FileLock(folder / ".lock", timeout=0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise ValueError(
            f"{folder} must not be in use, got another run at work in it; wait until that one "
            "ends, or use another folder"
        ) from None
    except OSError as error:
        raise ValueError(
            f"{folder} must be a folder that can be written to, got {error.strerror}"
        ) from None
    try:
        remove_unfinished(folder)
        _write_manifest(spec, folder)
        yield
    finally:
        lock.release()


def _write_manifest(spec: Spec, folder: Path) -> None:
    """Write the manifest, after a check that one from before has the same spec and code."""
    manifest = {
        "hash": spec.digest(),
        "version": code_version(),
        "seed": spec.seed,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "spec": spec.values(),
    }
    path = folder / MANIFEST
    if path.exists():
        found = read_manifest(folder)
        for key, rule in (("hash", "of this spec"), ("version", "of this version of fallow")):
            if found[key] != manifest[key]:
                raise ValueError(
                    f"{folder} must hold runs {rule}, {key} {manifest[key]}, "
                    f"got {key} {found[key]}; use another folder, or remove this one"
                )
        manifest["started"] = found["started"]
        if json.loads(json.dumps(manifest)) == found:
            return
    elif any(folder.glob("tally-*.npz")) or any(folder.glob("rows-*.parquet")):
        raise ValueError(
            f"{folder} must hold runs with their {MANIFEST}, got runs without; use another folder, "
            "or remove this one"
        )
    write_whole(path, json.dumps(manifest, indent=2).encode())


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return what is known of the runs in a folder."""
    path = folder / MANIFEST
    if not path.exists():
        raise ValueError(f"{folder} must be a folder that `fallow run` wrote, got no {MANIFEST}")
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        Spec.from_values(manifest["spec"])
        _ = manifest["hash"], manifest["version"], manifest["started"]
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ValueError(f"{path} must be a manifest of fallow; remove the folder") from None
    return manifest


def write_tally(spec: Spec, place: int, tally: Tally, folder: Path) -> None:
    """Write the tally of a point of the sweep."""
    write_whole(_tally_path(place, folder), tally.to_bytes(_owner(spec, place)))


def read_tally(spec: Spec, place: int, folder: Path) -> Tally:
    """Return the tally of a point, an empty one if there is none, after a check of its owner."""
    path = _tally_path(place, folder)
    if not path.exists():
        return Tally()
    try:
        return Tally.from_bytes(path.read_bytes(), _owner(spec, place))
    except ValueError as error:
        raise ValueError(f"{path} must be the tally of its point, got {error}") from None


def _tally_path(place: int, folder: Path) -> Path:
    return folder / f"tally-{place:03}.npz"


def _owner(spec: Spec, place: int) -> str:
    return f"{spec.digest()} {place}"


def write_rows(piece: Piece, batch: Batch, folder: Path) -> None:
    """Write the rows of a piece; the name tells the digest, so that damage is noticed."""
    point = np.full(batch.result.rewards.size, math.nan if piece.point is None else piece.point)
    rows = batch.result.frame()
    rows.insert_column(0, frames.frame({"point": point})["point"])
    content = frames.parquet(rows, json.dumps(batch.failures))
    path = folder / f"{piece.stem}-{_digest(content)}.parquet"
    write_whole(path, content)
    for other in folder.glob(f"{piece.stem}-*.parquet"):
        if other != path:  # damaged, or renamed
            other.unlink()


def read_rows(spec: Spec, piece: Piece, folder: Path) -> Batch | None:
    """Return the rows of a piece, None if there are none, after a check that they are whole."""
    paths = sorted(folder.glob(f"{piece.stem}-*.parquet"))
    if not paths:
        return None
    content = paths[0].read_bytes()
    if paths[0].stem != f"{piece.stem}-{_digest(content)}":
        raise ValueError(f"{paths[0]} must have the digest in its name, got a damaged file")
    rows, note = frames.read_parquet(content)
    failures = [Failure(*each) for each in json.loads(note)]
    none = rows.is_empty()
    result = spec.at(piece.point).study().nothing() if none else Result.from_frame(rows)
    runs = sorted([*result.runs, *(failure.run for failure in failures)])
    points = rows["point"].fill_nan(None).unique().to_list() or [piece.point]
    if runs != list(piece.runs) or points != [piece.point]:
        raise ValueError(f"{paths[0]} must hold runs of its own place, got others")
    return Batch(piece.runs, result, failures)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def read_tallies(folder: Path) -> tuple[Spec, list[Tally]]:
    """Return the spec of a folder, and the tally of each point of its sweep."""
    spec = Spec.from_values(read_manifest(folder)["spec"])
    tallies = []
    for place in range(len(spec.points)):
        try:
            tally = read_tally(spec, place, folder)
        except ValueError as error:
            raise ValueError(f"{error}; start `fallow run` again, which mends it") from None
        if tally.stop < spec.runs:
            raise ValueError(
                f"{folder} must hold all {spec.runs} runs, got {tally.stop} at point {place + 1} "
                f"of {len(spec.points)}; start `fallow run` again, which goes on from there"
            )
        if tally.failed == spec.runs:
            raise ValueError(
                f"{folder} must hold a run that did not fail, got {spec.runs} that did"
            )
        tallies.append(tally)
    return spec, tallies


def read_results(folder: Path) -> tuple[Spec, list[Result]]:
    """Return the spec of the rows in a folder, and their totals at each point of its sweep."""
    spec = Spec.from_values(read_manifest(folder)["spec"])
    results = []
    for _, group in groupby(pieces(spec), key=lambda piece: piece.place):
        parts = []
        for piece in group:
            try:
                batch = read_rows(spec, piece, folder)
            except ValueError as error:
                raise ValueError(f"{error}; start `fallow run --rows`, which mends it") from None
            if batch is None:
                raise ValueError(
                    f"{folder} must hold rows, got no {piece.stem}; start `fallow run --rows`"
                )
            parts.append(batch.result)
        results.append(Result.merge(parts))
    return spec, results
