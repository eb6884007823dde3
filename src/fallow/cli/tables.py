"""Tables on the terminal."""

from collections.abc import Collection, Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fallow.text import visible

NARROWEST = 12
"""Least width of a column of text, where the terminal is too narrow for all columns."""
GAP = 2
"""Between columns."""


def print_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    texts: Collection[str] = (),
    console: Console | None = None,
) -> None:
    """Print a table; the first column and those in `texts` hold text, all others numbers.

    On standard output, unless there is another console. Where that is too narrow, what stands in
    brackets behind a number goes below it; where it still is, lines are longer than the terminal,
    but no number is cut.
    """
    console = console or Console(highlight=False)
    cells = [[visible(cell) for cell in row] for row in (headers, *rows)]
    is_text = [header in (headers[0], *texts) for header in headers]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    least = [NARROWEST if folds else width for folds, width in zip(is_text, widths, strict=True)]
    is_wide = sum(least) + GAP * (len(least) - 1) <= console.width
    bracket = " (" if is_wide else "\n("
    cells = [[cell.replace(" (", bracket) for cell in row] for row in cells]
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    needed = -GAP
    for column, folds in zip(zip(*cells, strict=True), is_text, strict=True):
        header, lines = Text(column[0]), [line for cell in column for line in cell.split("\n")]
        if folds:
            table.add_column(header, overflow="fold", min_width=NARROWEST)
        else:
            table.add_column(header, justify="right", no_wrap=True)
        needed += GAP + (NARROWEST if folds else max(map(len, lines)))
    for row in cells[1:]:
        table.add_row(*map(Text, row))
    width = console.width
    console.width = max(width, needed)
    console.print(table)
    console.width = width
