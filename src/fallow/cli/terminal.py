"""Lines on the terminal: users' text is shown as it is, and no terminal fails at it or obeys it."""

import sys
import traceback
from io import TextIOWrapper

from fallow.text import visible


def print_line(text: str) -> None:
    """Print a line on standard output."""
    print(visible(text), flush=True)


def print_error(message: str) -> None:
    """Print a line on standard error."""
    print(f"fallow: {visible(message)}", file=sys.stderr)


def print_traceback(error: Exception) -> None:
    """Print where an error came from on standard error."""
    for part in traceback.format_exception(error):
        for line in part.splitlines():
            print(visible(line), file=sys.stderr)


def replace_unprintable() -> None:
    """Print a question mark, or an escape among errors, for what the locale has no character."""
    for stream, errors in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=errors)
