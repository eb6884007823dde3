"""Tables of rows; with `logs/read.py` the only place that imports polars."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING

import numpy.typing as npt

from fallow.errors import InputError
from fallow.extras import needed_by

if TYPE_CHECKING:
    from polars import DataFrame as DataFrame


def frame(columns: Mapping[str, npt.ArrayLike]) -> DataFrame:
    """Return a polars frame of these columns (extra `data`).

    Its method `to_pandas` needs the extra `pandas`.

    Examples
    --------
    >>> frame({"arm": ["hymn", "waltz"], "pulls": [3, 2]}).rows()
    [('hymn', 3), ('waltz', 2)]
    """
    with needed_by("a frame"):
        import polars

    return polars.DataFrame(dict(columns))


def parquet(rows: DataFrame, note: str = "") -> bytes:
    """Return the frame as a Parquet file with a note, the same bytes for the same rows."""
    buffer = BytesIO()
    rows.write_parquet(buffer, metadata={"note": note})
    return buffer.getvalue()


def read_note(content: bytes) -> str:
    """Return the note of a file that `parquet` made; an InputError if it is none."""
    with needed_by("a file of rows"):
        import polars

    try:
        return polars.read_parquet_metadata(BytesIO(content))["note"]
    except KeyError:
        raise InputError("note", "must be in a Parquet file", "none") from None
    except (Exception, polars.exceptions.PanicException) as error:
        raise InputError("it", "must be a Parquet file", f"{error}") from None


def read_parquet(content: bytes, rows: int) -> DataFrame:
    """Return the rows of a Parquet file; an InputError if it is none, or has not so many.

    The number of rows is checked before any is in memory.
    """
    with needed_by("a file of rows"):
        import polars

    try:
        found = polars.scan_parquet(BytesIO(content)).select(polars.len()).collect().item()
        if found == rows:
            return polars.read_parquet(BytesIO(content))
    except (Exception, polars.exceptions.PanicException) as error:
        raise InputError("it", "must be a Parquet file", f"{error}") from None
    raise InputError("rows", f"must be {rows:,}", f"{found:,}")
