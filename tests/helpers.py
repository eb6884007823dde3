"""What several test modules share."""

from typer import Typer
from typer.testing import CliRunner

from fallow.cli import app as fallow_app

runner = CliRunner()


def run(*arguments: str, app: Typer = fallow_app) -> str:
    """Return what a command prints, after a check that it ends well."""
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout
