"""Tables on the terminal."""

from collections.abc import Collection, Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fallow.text import visible

NARROWEST = 12
"""Least width of a column of text, where the terminal is too narrow for all columns."""


def print_table(
    headers: Sequence[str], rows: Iterable[Sequence[str]], texts: Collection[str] = ()
) -> None:
    """Print a table; the first column and those in `texts` hold text, all others numbers."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in headers:
        if header in (headers[0], *texts):
            table.add_column(Text(visible(header)), overflow="fold", min_width=NARROWEST)
        else:
            table.add_column(Text(visible(header)), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    Console(highlight=False).print(table)
