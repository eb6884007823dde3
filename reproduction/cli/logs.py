"""`reproduction logs` and `reproduction tutorial`: pages on two real logs and a simulated one."""

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


@app.command("tutorial")
def tutorial_command(
    page: Annotated[Path, typer.Argument(help="A page of the documentation.", metavar="PAGE")],
    picture: Annotated[Path, typer.Option(help="Draw what the page calls `found` to this file.")],
) -> None:
    """Run the code of the tutorial on logs, and put what it prints beneath it."""
    with user_mistakes():
        check_extras("tutorial", "polars", "matplotlib")
        from fallow.figures import image
        from fallow.files import write_whole
        from reproduction.logs.tutorial import run_code

        text, names = run_code(page.read_text(encoding="utf-8"))
        write_whole(picture, image(names["found"].plot, "svg"))
        write_whole(page, text.encode())
        print_line(f"{page}")
