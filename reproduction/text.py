"""How estimates and tables are written, on every page."""

import math
import re
from collections.abc import Iterable, Sequence


def format_estimate(mean: float, half_width: float, form: str = ",.1f") -> str:
    """Return a mean with its 95 % interval; a single run has none.

    Examples
    --------
    >>> format_estimate(1234.56, 7.89)
    '1,234.6 ± 7.9'
    >>> format_estimate(3.0, math.nan)
    '3.0'
    """
    interval = "" if math.isnan(half_width) else f" ± {half_width:{form}}"
    return f"{mean:{form}}{interval}"


def format_range(numbers: Iterable[int]) -> str:
    """Return the least and the greatest of some numbers.

    Examples
    --------
    >>> format_range([50, 1200, 70]), format_range([50, 50])
    ('50 to 1,200', '50')
    """
    low, *_, high = sorted([*numbers] * 2)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    r"""Return the lines of a Markdown table; nothing in a cell is taken for markup or a new line.

    Examples
    --------
    >>> print(*markdown_table(["a", "b"], [["x|y", "1 <b>"]]), sep="\n")
    | a | b |
    |---|---|
    | x\|y | 1 \<b> |
    """
    lines = ["| " + " | ".join(map(_escape, row)) + " |" for row in (header, *rows)]
    return [lines[0], "|---" * len(header) + "|", *lines[1:]]


def _escape(cell: str) -> str:
    return re.sub(r"([|<])", r"\\\1", " ".join(cell.split()))
