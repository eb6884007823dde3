"""Reading arms in a row: past pulls, or a cycle."""

import csv
import io
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from fallow.errors import InputError
from fallow.planners.past_pulls import arm_named


def read_arms(source: str, arms: Mapping[str, int]) -> list[int | None]:
    """Return the arms in a CSV file, or for - from standard input, by their numbers.

    A file has one name a line, or a header with a column `arm`. An empty name is a round without a
    pull; empty lines mean nothing.
    """
    where = "standard input" if source == "-" else source
    content = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(where, "must be UTF-8", f"{error.reason} at {error.start}") from None
    rows = list(_rows(where, text))
    column, columns = 0, 1
    if rows and "arm" in rows[0][1] and (len(rows[0][1]) > 1 or "arm" not in arms):
        _, header = rows.pop(0)
        column, columns = header.index("arm"), len(header)
    pulls: list[int | None] = []
    for line, row in rows:
        if len(row) != columns:
            raise InputError(
                f"{where}, line {line}: each line",
                "must be a name alone, or have the columns of a first line that names one of "
                "them arm",
                f"{len(row)} columns",
            )
        name = row[column]
        pulls.append(arm_named(f"{where}, line {line}: a pull", name, arms) if name else None)
    return pulls


def _rows(where: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """Return each row of a CSV file that is not empty, and on which line it ends."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise InputError(
            f"{where}, line {reader.line_num}: it", "must be CSV", f"{error}"
        ) from None
