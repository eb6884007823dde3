"""`reproduction tune`: the constants of learners, chosen by trials."""

from pathlib import Path
from typing import Annotated

import typer

from fallow.cli.app import user_mistakes
from fallow.cli.run import run_spec
from fallow.cli.tables import print_table
from fallow.extras import check_extras
from reproduction.cli.app import app


@app.command("tune")
def tune_command(
    file: Annotated[Path, typer.Argument(help="What to try: a TOML file.", metavar="FILE")],
    out: Annotated[Path, typer.Option(help="Folder for the results of the trials.")],
    learners: Annotated[Path, typer.Option(help="Write the chosen values to this TOML file.")],
    trials: Annotated[Path, typer.Option(help="Write the share of each trial to this JSON file.")],
) -> None:
    """Try some values of each learner's constant, as many for all, and choose the best."""
    with user_mistakes():
        check_extras("tune", "polars")
        from fallow.files import write_whole
        from fallow.studies.workers import local_workers
        from reproduction.tournament.page import format_parameters
        from reproduction.tournament.tuning import (
            choose,
            load_tuning,
            read_trials,
            trials_json,
            tuned_toml,
        )

        tuning = load_tuning(file)
        with local_workers() as workers:
            for _, _, study in tuning.studies():
                if run_spec(file, study, out, workers, rows=True):
                    raise typer.Exit(1)  # trials are compared on the same runs, all of them
        found = read_trials(tuning, out)
        chosen = choose(found)
        write_whole(trials, trials_json(found))
        write_whole(learners, tuned_toml(chosen).encode())
        rows = [
            (each.learner, format_parameters(each.parameters), f"{each.mean:.3f}")
            for each in chosen
        ]
        print_table(("learner", "chosen", "mean share"), rows, texts=["chosen"])
