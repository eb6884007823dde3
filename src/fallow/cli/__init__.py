"""The command line: parse, call, print."""

import os
import sys
from contextlib import suppress

try:
    from fallow.cli import catalog, claims, plan, replay, report, run, simulate, tournament
    from fallow.cli.app import app
except ModuleNotFoundError as error:
    if error.name not in ("rich", "typer"):
        raise
    sys.exit(f"fallow: the command line needs {error.name}: install fallow with its extra 'cli'")


def main() -> None:
    """Run the command line, and end with it: runs under way in threads are not waited for."""
    try:
        app()
    except SystemExit as ended:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(ended.code if isinstance(ended.code, int) else 0)


__all__ = [
    "app",
    "catalog",
    "claims",
    "main",
    "plan",
    "replay",
    "report",
    "run",
    "simulate",
    "tournament",
]
