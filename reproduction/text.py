"""How ranges and tables are written, on every page."""

import re
from collections.abc import Iterable, Sequence

from fallow.text import visible


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
    r"""Return the lines of a Markdown table; nothing in a cell ends it, or is code, HTML or a link.

    Examples
    --------
    >>> print(*markdown_table(["a", "b"], [["x|y", "1 <b>"]]), sep="\n")
    | a | b |
    |---|---|
    | x\|y | 1 \<b> |
    """
    lines = ["| " + " | ".join(map(markdown_text, row)) + " |" for row in (header, *rows)]
    return [lines[0], "|---" * len(header) + "|", *lines[1:]]


def markdown_text(text: str) -> str:
    r"""Return text on one line in which nothing ends a cell, or is code, HTML or a link.

    Examples
    --------
    >>> print(markdown_text("a `b`\n<i> | [c](d) \\"))
    a \`b\` \<i> \| [c\](d) \\
    """
    return re.sub(r"([\\`|<]|\](?=\())", r"\\\1", visible(" ".join(text.split())))
