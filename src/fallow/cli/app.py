"""The application that the commands join, and how they end on a mistake."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

import fallow
from fallow.cli.terminal import print_error, print_traceback
from fallow.errors import InputError
from fallow.extras import EXTRAS
from fallow.user_code import describe_error, is_from_user_code

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
    """End a command that raises: with exit code 2 if the user can correct it, and 1 if not.

    One line says what is wrong. With `FALLOW_TRACEBACK=1` in the environment a traceback follows.
    """
    try:
        yield
    except (BrokenPipeError, typer.Exit):
        raise
    except Exception as error:
        message = _mistake(error)
        shows_traceback = os.environ.get("FALLOW_TRACEBACK") == "1"
        advice = "" if shows_traceback else "set FALLOW_TRACEBACK=1 to see the traceback, and "
        print_error(message or f"internal error: {describe_error(error)}; {advice}please report it")
        if shows_traceback:
            print_traceback(error)
        raise typer.Exit(1 if message is None else 2) from None


def _mistake(error: Exception) -> str | None:
    """Return what the user can correct, None if the error is a fault of the program."""
    if isinstance(error, MemoryError):
        return "there is not enough memory for this"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"  # without the number
    is_extra = isinstance(error, ModuleNotFoundError) and error.name in EXTRAS
    if isinstance(error, InputError | OSError) or is_extra:
        return str(error)
    return describe_error(error) if is_from_user_code(error) else None
