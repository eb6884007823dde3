"""Tables of rows; the only place that imports polars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy.typing as npt

if TYPE_CHECKING:
    from polars import DataFrame as DataFrame


def frame(columns: Mapping[str, npt.ArrayLike]) -> DataFrame:
    """Return a polars frame of these columns (extra `data`)."""
    import polars

    return polars.DataFrame(dict(columns))
