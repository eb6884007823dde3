"""From a spec to a tally of its runs and, on request, their rows; what is there is kept."""

from __future__ import annotations

import time
from contextlib import nullcontext
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from fallow.studies.batch import Batch, Failure
from fallow.studies.engine import Part, play_parts
from fallow.studies.folder import (
    lock_results,
    pieces,
    read_rows,
    read_tally,
    write_rows,
    write_tally,
)
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
        """Receive what is wrong with a file, whose runs are played again."""


def run(
    spec: Spec,
    folder: Path,
    workers: Workers | None = None,
    rows: bool = False,
    watcher: Watcher | None = None,
) -> None:
    """Run what is missing of a spec in a folder.

    The files depend on the spec alone: a run that was killed, and started again, leaves the same
    files as one that was not, whoever the workers were.

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
    ValueError
        If the folder holds results of another spec or of other code, or is in use.
    """
    watcher = watcher or Watcher()
    play = _play_to_rows if rows else _play_to_tallies
    with (
        lock_results(spec, folder),
        nullcontext(workers) if workers else local_workers() as crew,
        _Tallies(spec, folder, watcher) as tallies,
    ):
        play(spec, folder, crew, tallies, watcher)


class _Tallies:
    """The tally of each point: read at the start, saved now and then, and at the end."""

    def __init__(self, spec: Spec, folder: Path, watcher: Watcher) -> None:
        self.spec, self.folder = spec, folder
        self.at: list[Tally] = []
        self._changed: set[int] = set()
        self._save_at = time.monotonic() + SAVE_SECONDS
        for place in range(len(spec.points)):
            try:
                self.at.append(read_tally(spec, place, folder))
            except ValueError as error:
                watcher.damaged(f"{error}; its runs are played again")
                self.at.append(Tally())

    def __enter__(self) -> _Tallies:
        return self

    def __exit__(self, *_: object) -> None:
        self._save()

    def add(self, place: int, batch: Batch) -> None:
        """Take those runs of a batch that come next."""
        before = self.at[place]
        self.at[place] = before.add(batch, self.spec.switching_costs)
        if self.at[place] is not before:
            self._changed.add(place)

    def save_now_and_then(self) -> None:
        """Save what has changed, unless that was done a moment ago."""
        if time.monotonic() > self._save_at:
            self._save()

    def _save(self) -> None:
        start = time.monotonic()
        while self._changed:
            place = min(self._changed)
            write_tally(self.spec, place, self.at[place], self.folder)
            self._changed.remove(place)
        end = time.monotonic()
        self._save_at = end + max(SAVE_SECONDS, 20 * (end - start))


def _play_to_tallies(
    spec: Spec, _: Path, workers: Workers, tallies: _Tallies, watcher: Watcher
) -> None:
    parts = []
    for point, tally in zip(spec.points, tallies.at, strict=True):
        watcher.found(Progress(point, len(tally), tally.failed, tally.failures))
        parts.append(Part(spec.at(point).study(), range(tally.stop, spec.runs)))
    for place, batch in play_parts(parts, workers):
        tallies.add(place, batch)
        watcher.done(_progress(spec.points[place], batch))
        tallies.save_now_and_then()


def _play_to_rows(
    spec: Spec, folder: Path, workers: Workers, tallies: _Tallies, watcher: Watcher
) -> None:
    studies = [spec.at(point).study() for point in spec.points]
    missing = []
    for piece in pieces(spec):
        rows = None
        try:
            rows = read_rows(spec, piece, folder)
        except ValueError as error:
            watcher.damaged(f"{error}; its runs are played again")
        if rows is None:
            missing.append(piece)
        else:
            watcher.found(_progress(piece.point, rows))
    parts = [Part(studies[piece.place], piece.runs) for piece in missing]
    played = groupby(play_parts(parts, workers), key=itemgetter(0))
    absent = set(missing)
    for piece in pieces(spec):
        if piece in absent:
            _, batches = next(played)
            whole = Batch.merge([batch for _, batch in batches])
            write_rows(piece, whole, folder)
            tallies.add(piece.place, whole)
            watcher.done(_progress(piece.point, whole))
        elif tallies.at[piece.place].stop < piece.runs.stop:
            rows = read_rows(spec, piece, folder)
            assert rows is not None  # it was read above, and the folder is locked
            tallies.add(piece.place, rows)
        tallies.save_now_and_then()


def _progress(point: float | None, batch: Batch) -> Progress:
    failures = tuple(batch.failures)
    return Progress(point, len(batch.runs), len(failures), failures)
