"""The command line: parse, call, print."""

import sys

try:
    from typer import Typer

    from fallow.cli import catalog, plan, replay, run, simulate
    from fallow.cli.app import app
    from fallow.signals import Ended, end_at_signals, end_process
except ModuleNotFoundError as error:
    if error.name not in ("rich", "typer"):
        raise
    sys.exit(f"fallow: the command line needs {error.name}: install fallow with its extra 'cli'")


def main() -> None:
    """Run the command line."""
    run_app(app)


def run_app(application: Typer) -> None:
    """Run a command line, and end with it: runs under way in threads are not waited for."""
    end_at_signals()
    try:
        application()
    except Ended as ended:
        ended.end()
    except SystemExit as ended:
        end_process(ended.code if isinstance(ended.code, int) else int(ended.code is not None))


__all__ = ["app", "catalog", "main", "plan", "replay", "run", "run_app", "simulate"]
