"""From a spec to a tally of its runs and, on request, their rows; finished runs are reused."""

from __future__ import annotations

import time
from contextlib import nullcontext
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from fallow.errors import InputError
from fallow.files import set_aside
from fallow.studies.batch import Batch, Failure
from fallow.studies.engine import Part, play_parts
from fallow.studies.folder import Folder, Piece, lock_results, pieces
from fallow.studies.spec import Spec
from fallow.studies.tally import Tally
from fallow.studies.workers import Workers, local_workers

SAVE_SECONDS = 1.0
"""Time between two saves of a tally: what is done again at most after a crash."""


class Progress(NamedTuple):
    """Some runs at a point of the sweep, how many of them failed, and some that did."""

    point: float | None
    runs: int
    failed: int
    failures: tuple[Failure, ...]


class Watcher:
    """Receives progress events; does nothing unless a subclass does."""

    def found(self, progress: Progress) -> None:
        """Receive runs that were done before."""

    def done(self, progress: Progress) -> None:
        """Receive runs that were done and are kept, or will be at the next save."""

    def damaged(self, message: str) -> None:
        """Receive what is wrong with a file that was set aside, and what is done about it."""


def run(
    spec: Spec,
    folder: Path,
    workers: Workers | None = None,
    rows: bool = False,
    watcher: Watcher | None = None,
) -> None:
    """Run what is missing of a spec in a folder.

    The files depend on the spec alone: a run that was killed, and started again, leaves the same
    files as one that was not, whichever workers played it.

    Parameters
    ----------
    spec
        What to run.
    folder
        Where manifest, tallies and rows are or will be; it is made if it is not there.
    workers
        Who plays; by default one worker for each core of this machine.
    rows
        Whether to keep the totals of every run (extra `data`).
    watcher
        Receives progress events.

    Raises
    ------
    InputError
        If the folder holds results of another spec or of other code, or is in use.
    """
    watcher = watcher or Watcher()
    play = _play_to_rows if rows else _play_to_tallies
    with (
        lock_results(folder, spec, watcher.damaged) as results,
        nullcontext(workers) if workers else local_workers() as crew,
        _Tallies(results, watcher) as tallies,
    ):
        play(results, crew, tallies, watcher)


def _set_aside(path: Path, error: InputError, watcher: Watcher) -> None:
    kept = set_aside(path)
    watcher.damaged(f"{error}; kept as {kept.name}, and its runs are played again")


class _Tallies:
    """The tally of each point: read at the start, saved now and then, and at the end."""

    def __init__(self, folder: Folder, watcher: Watcher) -> None:
        self.folder = folder
        self.at: list[Tally] = []
        self._changed: set[int] = set()
        self._save_at = time.monotonic() + SAVE_SECONDS
        for index in range(len(folder.spec.points)):
            try:
                self.at.append(folder.read_tally(index))
            except InputError as error:
                _set_aside(folder.tally_path(index), error, watcher)
                self.at.append(Tally())
        for path in folder.stray_tallies():
            wrong = InputError(str(path), "is not a tally of this study: its name is of no point")
            _set_aside(path, wrong, watcher)

    def __enter__(self) -> _Tallies:
        return self

    def __exit__(self, *_: object) -> None:
        self._save()

    def add(self, index: int, batch: Batch) -> None:
        """Take those runs of a batch that come next."""
        before = self.at[index]
        self.at[index] = before.add(batch, self.folder.spec.switching_costs)
        if self.at[index] is not before:
            self._changed.add(index)

    def save_now_and_then(self) -> None:
        """Save what has changed, unless that was done a moment ago."""
        if time.monotonic() > self._save_at:
            self._save()

    def _save(self) -> None:
        start = time.monotonic()
        while self._changed:
            index = min(self._changed)
            self.folder.write_tally(index, self.at[index])
            self._changed.remove(index)
        end = time.monotonic()
        self._save_at = end + max(SAVE_SECONDS, 20 * (end - start))


def _play_to_tallies(folder: Folder, workers: Workers, tallies: _Tallies, watcher: Watcher) -> None:
    spec, parts = folder.spec, []
    for point, tally in zip(spec.points, tallies.at, strict=True):
        watcher.found(Progress(point, len(tally), tally.failed, tally.failures))
        parts.append(Part(spec.at(point).study(), range(tally.stop, spec.runs)))
    for index, batch in play_parts(parts, workers):
        tallies.add(index, batch)
        watcher.done(_progress(spec.points[index], batch))
        tallies.save_now_and_then()


def _play_to_rows(folder: Folder, workers: Workers, tallies: _Tallies, watcher: Watcher) -> None:
    spec = folder.spec
    studies = [spec.at(point).study() for point in spec.points]
    whole_files = _find_rows(folder, watcher)
    missing = [piece for piece in pieces(spec) if piece not in whole_files]
    parts = [Part(studies[piece.index], piece.runs) for piece in missing]
    played = groupby(play_parts(parts, workers), key=itemgetter(0))
    for piece in pieces(spec):
        if piece not in whole_files:
            _, batches = next(played)
            whole = Batch.merge([batch for _, batch in batches])
            folder.write_rows(piece, whole)
            tallies.add(piece.index, whole)
            watcher.done(_progress(piece.point, whole))
        elif tallies.at[piece.index].stop < piece.runs.stop:
            _, rows = folder.read_rows(whole_files[piece])
            tallies.add(piece.index, rows)
        tallies.save_now_and_then()


def _find_rows(folder: Folder, watcher: Watcher) -> dict[Piece, Path]:
    """Return the files of rows that are whole, by their runs; all others are set aside."""
    whole_files: dict[Piece, Path] = {}
    for path in folder.row_files():
        try:
            piece, rows = folder.read_rows(path)
            if piece in whole_files:
                rule = f"is one of two files of its runs: {whole_files[piece].name} too"
                raise InputError(str(path), rule)
        except InputError as error:
            _set_aside(path, error, watcher)
        else:
            whole_files[piece] = path
            watcher.found(_progress(piece.point, rows))
    return whole_files


def _progress(point: float | None, batch: Batch) -> Progress:
    failures = tuple(batch.failures)
    return Progress(point, len(batch.runs), len(failures), failures)
