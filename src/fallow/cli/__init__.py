"""The command line: parse, call, print."""

import sys

from fallow.extras import EXTRAS, needed_by

try:
    with needed_by("the command line"):
        from typer import Typer

        from fallow.cli import (
            advise,
            backup,
            catalog,
            design,
            evaluate,
            explore,
            fit,
            plan,
            replay,
            run,
            serve,
            simulate,
            warmup,
        )
        from fallow.cli.app import app
        from fallow.cli.terminal import replace_unprintable
        from fallow.signals import Ended, end_at_signals, end_process
except ModuleNotFoundError as error:
    if error.name not in EXTRAS:
        raise
    print(f"fallow: {error}", file=sys.stderr)
    sys.exit(2)


def run_app(application: Typer) -> None:
    """Run a command line, and end with it: runs under way in threads are not waited for."""
    end_at_signals()
    replace_unprintable()
    try:
        application()
    except Ended as ended:
        ended.end()
    except SystemExit as ended:
        end_process(ended.code if isinstance(ended.code, int) else int(ended.code is not None))


__all__ = [
    "advise",
    "app",
    "backup",
    "catalog",
    "design",
    "evaluate",
    "explore",
    "fit",
    "plan",
    "replay",
    "run",
    "run_app",
    "serve",
    "simulate",
    "warmup",
]
