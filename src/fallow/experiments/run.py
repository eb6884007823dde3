"""From a spec to a tally of its runs and, on request, their rows; what is there is kept."""

from __future__ import annotations

import time
from contextlib import nullcontext
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from fallow.experiments.folder import (
    Piece,
    entered,
    pieces,
    read_rows,
    read_tally,
    write_rows,
    write_tally,
)
from fallow.experiments.hand_out import played
from fallow.experiments.play import measured
from fallow.experiments.spec import Spec
from fallow.experiments.tally import Tally, tally
from fallow.experiments.workers import Workers, local_workers
from fallow.replicate import joined

SAVE_SECONDS = 1.0
"""Time between two saves of a tally: what is done again at most after a crash."""


class Watcher:
    """Is told how a run goes on; does nothing unless a subclass does."""

    def done(self, point: float | None, runs: int, failures: Tally) -> None:
        """Take note that runs were done, or found done, some of them in vain."""

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
        watcher.done(point, found.stop, found)
    changed: set[int] = set()
    saved = time.monotonic()

    def save() -> None:
        while changed:
            place = min(changed)
            write_tally(spec, place, tallies[place], folder)
            changed.remove(place)

    try:
        for piece, part in played(spec, missing, rows=False, workers=workers):
            tallies[piece.place] = tallies[piece.place].extended(part.tally)
            changed.add(piece.place)
            watcher.done(piece.point, len(part.tally), part.tally)
            if time.monotonic() - saved > SAVE_SECONDS:
                save()
                saved = time.monotonic()
    finally:
        save()


def _run_rows(spec: Spec, folder: Path, workers: Workers, watcher: Watcher) -> None:
    missing: dict[Piece, None] = {}  # in order
    for piece in pieces(spec):
        try:
            if read_rows(spec, piece, folder) is None:
                missing[piece] = None
        except ValueError as error:
            watcher.damaged(f"{error}; its runs are played again")
            missing[piece] = None
    parts = played(spec, list(missing), rows=True, workers=workers)
    parts_by_piece = groupby(parts, key=itemgetter(0))
    whole = {place: Tally() for place in range(len(spec.points))}
    for piece in pieces(spec):
        kept = read_rows(spec, piece, folder) if piece not in missing else None
        if kept is not None:
            values = measured(kept, spec.switching_costs)
            whole[piece.place] = whole[piece.place].extended(tally(piece.runs, kept.runs, values))
            watcher.done(piece.point, len(piece.runs), Tally())
            continue
        studies = []
        for _, part in next(parts_by_piece)[1]:
            studies += [part.rows] if part.rows else []
            whole[piece.place] = whole[piece.place].extended(part.tally)
            watcher.done(piece.point, len(part.tally), part.tally)
        write_rows(piece, joined(studies), folder)
    for place, found in whole.items():
        write_tally(spec, place, found, folder)
