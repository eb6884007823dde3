"""The application that the commands join, and how they end on a mistake."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

import fallow
from fallow.cli.terminal import print_error

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"fallow {fallow.__version__}")
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
        print_error("there is not enough memory for this")
        raise typer.Exit(2) from None
    except (ValueError, OSError, OverflowError, RecursionError, ImportError) as error:
        print_error(_describe(error))
        raise typer.Exit(2) from None


def _describe(error: Exception) -> str:
    """Return the message of an error, without a number if it comes from the operating system."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
