"""The command line: parse, call, print."""

import sys

try:
    import rich  # noqa: F401, to say what is missing before anything else is imported
    import typer  # noqa: F401
except ModuleNotFoundError as error:
    sys.exit(f"fallow: the command line needs {error.name}: install fallow with its extra 'cli'")

from fallow.cli import catalog, plan, simulate
from fallow.cli.app import app

__all__ = ["app", "catalog", "plan", "simulate"]
