"""`python -m reproduction`: the commands that reproduce the paper."""

from reproduction.cli import claims, logs, report, tournament, tune
from reproduction.cli.app import app

__all__ = ["app", "claims", "logs", "report", "tournament", "tune"]
