"""Tables of rows; the only place that imports polars."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING

import numpy.typing as npt

if TYPE_CHECKING:
    from polars import DataFrame as DataFrame


def frame(columns: Mapping[str, npt.ArrayLike]) -> DataFrame:
    """Return a polars frame of these columns (extra `data`)."""
    import polars

    return polars.DataFrame(dict(columns))


def parquet(rows: DataFrame, note: str = "") -> bytes:
    """Return the frame as a Parquet file with a note, the same bytes for the same rows."""
    buffer = BytesIO()
    rows.write_parquet(buffer, metadata={"note": note})
    return buffer.getvalue()


def read_parquet(content: bytes) -> tuple[DataFrame, str]:
    """Return the rows and the note of a file that `parquet` made."""
    import polars

    note = polars.read_parquet_metadata(BytesIO(content))["note"]
    return polars.read_parquet(BytesIO(content)), note
