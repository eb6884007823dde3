"""The application that the commands join, and how they end on a mistake."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # slow to import, and seldom needed

        print(f"fallow {version('fallow')}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Plan decisions that wear out with use and recover with rest."""


@contextmanager
def user_mistakes() -> Iterator[None]:
    """Print errors that the user can mend in one line, without a traceback."""
    try:
        yield
    except BrokenPipeError:
        raise
    except MemoryError:
        print("fallow: there is not enough memory for this", file=sys.stderr)
        raise typer.Exit(2) from None
    except (ValueError, OSError, OverflowError, RecursionError, ImportError) as error:
        print(f"fallow: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
