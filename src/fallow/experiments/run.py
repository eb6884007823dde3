"""From a spec to rows on disk, in pieces that are each whole or absent."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from fallow import checks, frames
from fallow.experiments.spec import Spec
from fallow.files import write_whole
from fallow.planners.default import optimum_or_bound
from fallow.planners.ranking import ghost
from fallow.replicate import Replication, joined, replicate

MANIFEST = "manifest.json"
RUNS_A_PIECE = 10
"""Runs in a file of rows: what is done again at most after a crash."""


@dataclass(frozen=True)
class Piece:
    """Some runs at one point of the sweep; the spec alone decides which."""

    place: int
    point: float | None
    runs: range

    @property
    def number(self) -> float:
        """The point as rows hold it, NaN without a sweep."""
        return math.nan if self.point is None else self.point

    def path(self, folder: Path) -> Path:
        """Return where its rows are kept."""
        return folder / f"rows-{self.place:03}-{self.runs.start:07}.parquet"


def pieces(spec: Spec) -> Iterator[Piece]:
    """Return the pieces of an experiment in order."""
    for place, point in enumerate(spec.points):
        for first in range(0, spec.runs, RUNS_A_PIECE):
            yield Piece(place, point, range(first, min(first + RUNS_A_PIECE, spec.runs)))


def run(
    spec: Spec,
    folder: Path,
    workers: int | None = None,
    on_run: Callable[[int], None] = lambda _: None,
) -> None:
    """Run what is missing of an experiment in a folder.

    Rows depend on the spec alone: a run that was killed, and started again, leaves the same files
    as one that was not.

    Parameters
    ----------
    spec
        What to run.
    folder
        Where manifest and rows are or will be; it is made if it is not there.
    workers
        Threads; by default one a core.
    on_run
        Called with the number of runs of a learner that were done, or found done.

    Raises
    ------
    ValueError
        If the folder has rows of another spec or of another version of fallow.
    """
    if workers is not None:
        checks.whole_number("workers", workers, minimum=1)
    folder.mkdir(parents=True, exist_ok=True)
    _enter(spec, folder)
    for piece in pieces(spec):
        if _is_done(spec, piece, folder):
            on_run(len(piece.runs) * len(spec.learners))
            continue
        study = _play(spec.at(piece.point), piece.runs, workers, lambda: on_run(1))
        rows = study.frame()
        rows.insert_column(0, frames.frame({"point": np.full(len(rows), piece.number)})["point"])
        write_whole(piece.path(folder), frames.parquet(rows))


def _is_done(spec: Spec, piece: Piece, folder: Path) -> bool:
    """Tell whether a piece is there; one that was damaged is not."""
    try:
        _read_piece(spec, piece, folder)
    except ValueError:
        return False
    return True


def _play(spec: Spec, runs: range, workers: int | None, on_run: Callable[[], None]) -> Replication:
    return replicate(
        spec.instance(),
        spec.factories(),
        spec.horizon,
        runs,
        spec.seed,
        workers,
        spec.rewards,
        spec.rounds(),
        {"ghost": ghost, "optimum": optimum_or_bound},
        on_run=on_run,
    )


def _read_piece(spec: Spec, piece: Piece, folder: Path) -> Replication:
    """Return the totals of a piece, after a check that they are its own and whole."""
    path = piece.path(folder)
    if not path.exists():
        raise ValueError(f"{path} must hold rows, got no such file")
    rows = frames.read_parquet(path)
    study = Replication.from_frame(rows)
    found = study.learners, study.runs, study.rounds.tolist()
    own = tuple(spec.learners), piece.runs, spec.at(piece.point).rounds().tolist()
    points = rows["point"].to_numpy() if "point" in rows.columns else np.array([])
    if found != own or not np.array_equal(np.unique(points), [piece.number], equal_nan=True):
        raise ValueError(f"{path} must hold runs {piece.runs} of its point, got other rows")
    return study


def _enter(spec: Spec, folder: Path) -> None:
    """Write the manifest, after a check that one from before has the same spec and version."""
    manifest = {
        "hash": spec.digest(),
        "version": version("fallow"),
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
                    f"{folder} must hold rows {rule}, {key} {manifest[key]}, "
                    f"got {key} {found[key]}; use another folder, or remove this one"
                )
        manifest["started"] = found["started"]
    elif any(folder.glob("rows-*.parquet")):
        raise ValueError(
            f"{folder} must hold rows with their {MANIFEST}, got rows without; use another folder, "
            "or remove this one"
        )
    write_whole(path, json.dumps(manifest, indent=2).encode())


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return what is known of the rows in a folder."""
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


def read_results(folder: Path) -> tuple[Spec, list[Replication]]:
    """Return the spec of the rows in a folder, and their totals at each point of its sweep."""
    spec = Spec.from_values(read_manifest(folder)["spec"])
    studies = []
    try:
        for _, group in groupby(pieces(spec), key=lambda piece: piece.place):
            studies.append(joined([_read_piece(spec, piece, folder) for piece in group]))
    except ValueError as error:
        raise ValueError(f"{error}; start `fallow run` again, which mends it") from None
    return spec, studies
