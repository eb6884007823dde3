"""Tables of rows; the only place that imports polars."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy.typing as npt

if TYPE_CHECKING:
    from polars import DataFrame as DataFrame


def frame(columns: Mapping[str, npt.ArrayLike]) -> DataFrame:
    """Return a polars frame of these columns (extra `data`)."""
    import polars

    return polars.DataFrame(dict(columns))


def parquet(rows: DataFrame) -> bytes:
    """Return the frame as a Parquet file, the same bytes for the same rows."""
    buffer = BytesIO()
    rows.write_parquet(buffer)
    return buffer.getvalue()


def read_parquet(path: Path) -> DataFrame:
    """Return the rows of a file."""
    import polars

    try:
        return polars.read_parquet(path, glob=False)
    except (polars.exceptions.PolarsError, OSError) as error:
        raise ValueError(f"{path} must be a Parquet file: {error}") from None
