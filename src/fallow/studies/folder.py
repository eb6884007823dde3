"""What a study leaves in its folder: a manifest, a tally of each point, and maybe rows.

Every file says whose it is: of which spec and code, of which point of the sweep, of which runs. So
one that is damaged, renamed or another's is noticed when it is read.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from fallow.errors import InputError
from fallow.extras import needed_by
from fallow.files import read_whole, remove_unfinished, set_aside, write_whole
from fallow.source import code_version
from fallow.studies.batch import Batch
from fallow.studies.formats import (
    Manifest,
    pack_manifest,
    pack_rows,
    pack_tally,
    parse_manifest,
    parse_rows,
    parse_tally,
)
from fallow.studies.result import Result
from fallow.studies.spec import Spec
from fallow.studies.tally import BESIDE_REGRET, Tally

with needed_by("a folder of results"):
    from filelock import FileLock, Timeout

MANIFEST = "manifest.json"
MIN_FILE_RUNS = 10
"""Smallest number of runs in a file of rows: at most these are played again after a crash."""
MAX_ROW_FILES = 1000
"""Largest number of files of rows at one point of a sweep."""


@dataclass(frozen=True)
class Piece:
    """The runs at one point of the sweep whose rows are in one file."""

    index: int
    point: float | None
    runs: range

    @property
    def stem(self) -> str:
        """How the name of its file begins; the digest of the file follows."""
        return f"rows-{self.index:03}-{self.runs.start:07}"


def pieces(spec: Spec) -> Iterator[Piece]:
    """Yield the pieces, whose rows are in one file each; they depend on the spec alone."""
    size = max(MIN_FILE_RUNS, math.ceil(spec.runs / MAX_ROW_FILES))
    for index, point in enumerate(spec.points):
        for first in range(0, spec.runs, size):
            yield Piece(index, point, range(first, min(first + size, spec.runs)))


@dataclass(frozen=True)
class Folder:
    """A folder of results, of a spec and a version of the code."""

    path: Path
    spec: Spec
    version: str

    def tally_path(self, index: int) -> Path:
        """Return where the tally of a point is."""
        return self.path / f"tally-{index:03}.bin"

    def write_tally(self, index: int, tally: Tally) -> None:
        """Write the tally of a point."""
        write_whole(self.tally_path(index), pack_tally(tally, self._owner(index)))

    def read_tally(self, index: int) -> Tally:
        """Return the tally of a point, an empty one if there is none; an InputError if damaged."""
        path = self.tally_path(index)
        if not os.path.lexists(path):
            return Tally()
        rounds = self.spec.at(self.spec.points[index]).rounds()
        measures = len(self.spec.switching_costs) + len(BESIDE_REGRET)
        shape = measures, len(self.spec.learners), len(rounds)
        with _reading(path, "a tally"):
            return parse_tally(read_whole(path), self._owner(index), shape, self.spec.runs)

    def stray_tallies(self) -> Iterator[Path]:
        """Return tallies of no point of the sweep."""
        expected = {self.tally_path(index) for index in range(len(self.spec.points))}
        yield from sorted(set(self.path.glob("tally-*.bin")) - expected)

    def write_rows(self, piece: Piece, batch: Batch) -> None:
        """Write the rows of a piece; the name tells the digest, so that damage is noticed."""
        content = pack_rows(batch, piece.point, self._owner(piece.index))
        write_whole(self.path / f"{piece.stem}-{_digest(content)}.parquet", content)

    def row_files(self) -> list[Path]:
        """Return the files of rows, in order."""
        return sorted(self.path.glob("rows-*.parquet"))

    def read_rows(self, path: Path) -> tuple[Piece, Batch]:
        """Return the rows in a file, and which they are; an InputError if it is damaged."""
        with _reading(path, "a file of rows"):
            stem, _, digest = path.stem.rpartition("-")
            piece = self._pieces.get(stem)
            if piece is None:
                raise InputError("name", "must be that of some runs", "another")
            content = read_whole(path)
            if digest != _digest(content):
                raise InputError("digest in the name", "must fit the content", "a damaged file")
            owner = self._owner(piece.index)
            return piece, parse_rows(content, self.spec, piece.point, piece.runs, owner)

    @cached_property
    def _pieces(self) -> dict[str, Piece]:
        return {piece.stem: piece for piece in pieces(self.spec)}

    def _owner(self, index: int) -> dict[str, Any]:
        """Return what every file at a point says of itself."""
        return {"spec": self._digest, "version": self.version, "point": index}

    @cached_property
    def _digest(self) -> str:
        return self.spec.digest()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


@contextmanager
def _reading(path: Path, kind: str) -> Iterator[None]:
    """Name the file in errors."""
    try:
        yield
    except InputError as error:
        raise InputError(str(path), f"is not {kind} of this study: {error}") from None


@contextmanager
def lock_results(path: Path, spec: Spec, damaged: Callable[[str], None]) -> Iterator[Folder]:
    """Lock a folder for the results of a spec, and check or write its manifest.

    Parameters
    ----------
    path, spec
        Where, and of what.
    damaged
        Receives what is wrong with a manifest that was set aside.

    Raises
    ------
    InputError
        If the folder holds results of another spec or of other code, or is in use.
    """
    lock = path / ".lock"
    lock_file = FileLock(lock, timeout=0)
    try:
        path.mkdir(parents=True, exist_ok=True)
        if lock.is_dir():
            raise InputError(f"{lock}", "must be a file", "a folder; rename or remove it")
        lock_file.acquire()
    except Timeout:
        raise InputError(
            f"{path}",
            "must not be in use",
            "another run at work in it; wait until that one ends, or use another folder",
        ) from None
    except OSError as error:
        raise InputError(
            f"{path}", "must be a folder that can be written to", f"{error.strerror}"
        ) from None
    try:
        remove_unfinished(path)
        _write_manifest(path, spec, damaged)
        yield Folder(path, spec, code_version())
    finally:
        lock_file.release()


def _write_manifest(folder: Path, spec: Spec, damaged: Callable[[str], None]) -> None:
    """Write the manifest, after a check that one from before has the same spec and code.

    A damaged one is not needed: the other files say themselves whose they are.
    """
    path = folder / MANIFEST
    manifest = Manifest(spec, code_version(), datetime.now(UTC).isoformat(timespec="seconds"))
    before = None
    if os.path.lexists(path):
        try:
            before = read_manifest(folder)
        except InputError as error:
            damaged(f"{error}; kept as {set_aside(path).name}, and written anew")
    if before is not None:
        for key, rule, wanted, got in (
            ("hash", "of this spec", spec.digest(), before.spec.digest()),
            ("version", "of this version of fallow", manifest.version, before.version),
        ):
            if got != wanted:
                raise InputError(
                    f"{folder}",
                    f"must hold runs {rule}, {key} {wanted}",
                    f"{key} {got}; use another folder, or remove this one",
                )
        manifest = manifest._replace(started=before.started)
    if before is None or pack_manifest(before) != pack_manifest(manifest):
        write_whole(path, pack_manifest(manifest))


def read_manifest(folder: Path) -> Manifest:
    """Return what is known of the runs in a folder; an InputError if its manifest is damaged."""
    path = folder / MANIFEST
    if not os.path.lexists(path):
        raise InputError(f"{folder}", "must be a folder that `fallow run` wrote", f"no {MANIFEST}")
    try:
        return parse_manifest(read_whole(path))
    except InputError as error:
        raise InputError(str(path), f"is not a manifest of fallow: {error}") from None


def _open(folder: Path) -> Folder:
    """Return a folder in which a study was run."""
    try:
        manifest = read_manifest(folder)
    except InputError as error:
        raise error.with_advice("start `fallow run`, which writes it") from None
    return Folder(folder, manifest.spec, manifest.version)


def read_tallies(path: Path) -> tuple[Spec, list[Tally]]:
    """Return the spec of a folder, and the tally of each point of its sweep."""
    folder = _open(path)
    spec, tallies = folder.spec, []
    for index in range(len(spec.points)):
        try:
            tally = folder.read_tally(index)
        except InputError as error:
            raise error.with_advice("start `fallow run` again, which repairs it") from None
        if tally.stop < spec.runs:
            raise InputError(
                f"{path}",
                f"must hold all {spec.runs} runs",
                f"{tally.stop} at point {index + 1} of {len(spec.points)}; start `fallow run` "
                "again, which goes on from there",
            )
        if tally.failed == spec.runs:
            raise InputError(
                f"{path}", "must hold a run that did not fail", f"{spec.runs} that did"
            )
        tallies.append(tally)
    return spec, tallies


def read_results(path: Path) -> tuple[Spec, list[Result]]:
    """Return the spec of the rows in a folder, and their totals at each point of its sweep."""
    folder = _open(path)
    parts: dict[Piece, Result] = {}
    for file in folder.row_files():
        try:
            piece, batch = folder.read_rows(file)
        except InputError as error:
            raise error.with_advice("start `fallow run --rows`, which repairs it") from None
        parts[piece] = batch.result
    results: list[list[Result]] = [[] for _ in folder.spec.points]
    for piece in pieces(folder.spec):
        if piece not in parts:
            raise InputError(
                f"{path}", "must hold rows", f"no {piece.stem}; start `fallow run --rows`"
            )
        results[piece.index].append(parts[piece])
    return folder.spec, [Result.merge(at_point) for at_point in results]
