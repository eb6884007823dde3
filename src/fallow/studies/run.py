"""From a spec to a tally of its runs and, on request, their rows; what is there is kept."""

from __future__ import annotations

import time
from contextlib import nullcontext
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path

from fallow.replicate import joined
from fallow.studies.folder import (
    Piece,
    Rows,
    entered,
    pieces,
    read_rows,
    read_tally,
    write_rows,
    write_tally,
)
from fallow.studies.hand_out import played
from fallow.studies.play import measured
from fallow.studies.spec import Spec
from fallow.studies.tally import Tally, tally
from fallow.studies.workers import Workers, local_workers

SAVE_SECONDS = 1.0
"""Time between two saves of a tally: what is done again at most after a crash."""


class Watcher:
    """Is told how a run goes on; does nothing unless a subclass does."""

    def found(self, point: float | None, tally: Tally) -> None:
        """Take note of runs that were done before."""

    def done(self, point: float | None, tally: Tally) -> None:
        """Take note of runs that were done and are kept, or will be at the next save."""

    def damaged(self, message: str) -> None:
        """Take note of what is wrong with a file, whose runs are played again."""


def run(
    spec: Spec,
    folder: Path,
    workers: Workers | None = None,
    rows: bool = False,
    watcher: Watcher | None = None,
) -> None:
    """Run what is missing of an experiment in a folder.

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
        Is told how it goes on.

    Raises
    ------
    ValueError
        If the folder is of another spec or of another version of fallow, or in use.
    """
    play = _run_rows if rows else _run_tallies
    with entered(spec, folder), nullcontext(workers) if workers else local_workers() as crew:
        play(spec, folder, crew, watcher or Watcher())


def _run_tallies(spec: Spec, folder: Path, workers: Workers, watcher: Watcher) -> None:
    tallies, missing = [], []
    for place, point in enumerate(spec.points):
        found = Tally()
        try:
            found = read_tally(spec, place, folder) or found
        except ValueError as error:
            watcher.damaged(f"{error}; its runs are played again")
        tallies.append(found)
        missing.append(Piece(place, point, range(found.stop, spec.runs)))
        watcher.found(point, found)
    changed: set[int] = set()
    save_at = time.monotonic() + SAVE_SECONDS

    def save() -> None:
        nonlocal save_at
        start = time.monotonic()
        while changed:
            place = min(changed)
            write_tally(spec, place, tallies[place], folder)
            changed.remove(place)
        end = time.monotonic()
        save_at = end + max(SAVE_SECONDS, 20 * (end - start))

    try:
        for piece, part in played(spec, missing, rows=False, workers=workers):
            tallies[piece.place] = tallies[piece.place].extended(part.tally)
            changed.add(piece.place)
            watcher.done(piece.point, part.tally)
            if time.monotonic() > save_at:
                save()
    finally:
        save()


def _run_rows(spec: Spec, folder: Path, workers: Workers, watcher: Watcher) -> None:
    missing: dict[Piece, None] = {}  # in order
    for piece in pieces(spec):
        rows = None
        try:
            rows = read_rows(spec, piece, folder)
        except ValueError as error:
            watcher.damaged(f"{error}; its runs are played again")
        if rows is None:
            missing[piece] = None
        else:
            watcher.found(piece.point, _tally(spec, piece, rows))
    parts = played(spec, list(missing), rows=True, workers=workers)
    for piece, group in groupby(parts, key=itemgetter(0)):
        studies, failures, counted = [], [], Tally()
        for _, part in group:
            assert part.rows is not None
            studies.append(part.rows)
            failures += part.failures
            counted = counted.extended(part.tally)
        write_rows(piece, Rows(joined(studies), failures), folder)
        watcher.done(piece.point, counted)
    for place, group_of_pieces in groupby(pieces(spec), key=attrgetter("place")):
        whole = Tally()
        for piece in group_of_pieces:
            rows = read_rows(spec, piece, folder)
            assert rows is not None
            whole = whole.extended(_tally(spec, piece, rows))
        write_tally(spec, place, whole, folder)


def _tally(spec: Spec, piece: Piece, rows: Rows) -> Tally:
    values = measured(rows.study, spec.switching_costs)
    return tally(piece.runs, rows.study.runs, values, rows.failures)
