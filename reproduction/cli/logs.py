"""`reproduction logs`: pages on two real logs."""

from pathlib import Path
from typing import Annotated

import typer

from fallow.cli.app import user_mistakes
from fallow.cli.terminal import print_line
from fallow.extras import check_extras
from reproduction.cli.app import app


@app.command("logs")
def logs_command(
    folder: Annotated[Path, typer.Argument(help="Where the two logs are.", metavar="FOLDER")],
    out: Annotated[Path, typer.Option(help="Folder for the pages.")] = Path(
        "docs", "explanation", "logs"
    ),
) -> None:
    """Say of two real logs whether rest matters in them, on a page each with a picture."""
    with user_mistakes():
        check_extras("logs", "polars", "matplotlib")
        from reproduction.logs import movielens, task_switching

        task_log, ratings = task_switching.read(folder), movielens.read(folder)
        out.mkdir(parents=True, exist_ok=True)
        for page in (task_switching.page(task_log), movielens.page(ratings)):
            print_line(f"{page.write(out)}")
