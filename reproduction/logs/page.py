"""What pages on real logs have in common."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import polars

from fallow import Log
from fallow.errors import InputError
from fallow.files import write_whole

WRITTEN = "Written by `python -m reproduction logs FOLDER`; do not edit."


class Page(NamedTuple):
    """A page of the documentation, as Markdown, and its picture."""

    name: str
    text: str
    picture: bytes

    def write(self, folder: Path) -> Path:
        """Write both side by side, and return where the page is."""
        path = folder / f"{self.name}.md"
        write_whole(path.with_suffix(".svg"), self.picture)
        write_whole(path, self.text.encode())
        return path


def read_parquet(path: Path) -> polars.DataFrame:
    """Return the rows of a file; an error of one line if it is missing or damaged."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} must be a file of the folder, got none of that name")
    try:
        return polars.read_parquet(path)
    except polars.exceptions.PolarsError as error:
        raise InputError(f"{path}", f"must be a Parquet file, got: {error}") from None


def signed(interval: Iterable[float]) -> str:
    """Return a slope or a difference with its 95 % interval.

    Examples
    --------
    >>> signed((-0.0123, -0.02, 0.0))
    '-0.0123 (-0.0200 to +0.0000)'
    """
    value, low, high = interval
    return f"{value:+.4f} ({low:+.4f} to {high:+.4f})"


def size_of(log: Log) -> str:
    """Return how much there is of a log."""
    return f"{log.plays:,} plays of {len(log.names)} arms by {log.users} users"
