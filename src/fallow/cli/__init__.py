"""The command line: parse, call, print."""

import sys

try:
    from fallow.cli import catalog, claims, plan, replay, report, run, simulate, tournament
    from fallow.cli.app import app
except ModuleNotFoundError as error:
    if error.name not in ("rich", "typer"):
        raise
    sys.exit(f"fallow: the command line needs {error.name}: install fallow with its extra 'cli'")

__all__ = ["app", "catalog", "claims", "plan", "replay", "report", "run", "simulate", "tournament"]
