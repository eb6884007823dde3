"""`fallow replay`: one run of a spec, alone."""

import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from fallow.cli.app import app, user_mistakes
from fallow.cli.run import AllowImportsOption
from fallow.cli.tables import print_table
from fallow.errors import InputError
from fallow.text import visible


@app.command("replay")
def replay_command(
    file: Annotated[Path, typer.Argument(help="A spec: a TOML file.")],
    run: Annotated[int, typer.Argument(help="Number of the run, from 0.")],
    point: Annotated[float | None, typer.Option(help="Value of the sweep, if any.")] = None,
    allow_imports: AllowImportsOption = False,
) -> None:
    """Play one run of a spec alone, as `fallow run` plays it.

    Prints what every learner came to; if the run fails, where, as a traceback.
    """
    with user_mistakes():
        from fallow.studies.read import load_spec

        spec = load_spec(file, allow_imports)
        if point not in spec.points:
            points = ", ".join(map(str, spec.points))
            allowed = "left out" if spec.sweep is None else f"one of {points}"
            raise InputError(
                "--point", f"must be {allowed}", f"{'none' if point is None else point}"
            )
        if not 0 <= run < spec.runs:
            raise InputError("RUN", f"must be from 0 to {spec.runs - 1}", f"{run}")
        point = spec.points[spec.points.index(point)]  # a whole number where the spec has one
        try:
            result = spec.at(point).study().play(run)
        except (Exception, SystemExit):
            for line in traceback.format_exc().splitlines():
                print(visible(line), file=sys.stderr)
            raise typer.Exit(1) from None
        print_table(
            ("learner", "round", "reward", "switches", "regret", "of optimum"),
            [
                (
                    learner,
                    f"{result.rounds[-1]:,}",
                    f"{result.rewards[0, place, -1]:,.3f}",
                    f"{result.switches[0, place, -1]:,}",
                    f"{result.regret(learner)[0, -1]:,.3f}",
                    f"{result.share(learner)[0, -1]:.1%}",
                )
                for place, learner in enumerate(result.learners)
            ],
        )
