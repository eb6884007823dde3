"""`fallow replay`: one run of an experiment, alone."""

import traceback
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fallow.cli.app import app, user_mistakes


@app.command("replay")
def replay_command(
    file: Annotated[Path, typer.Argument(help="A spec: a TOML file.")],
    run: Annotated[int, typer.Argument(help="Number of the run, from 0.")],
    point: Annotated[float | None, typer.Option(help="Value of the sweep, if any.")] = None,
) -> None:
    """Play one run of an experiment alone, as `fallow run` plays it.

    Prints what every learner came to; if the run fails, where, as a traceback.
    """
    with user_mistakes():
        from fallow.studies.play import setting_of
        from fallow.studies.read import load_spec

        spec = load_spec(file)
        if point not in spec.points:
            points = ", ".join(map(str, spec.points))
            allowed = "left out" if spec.sweep is None else f"one of {points}"
            raise ValueError(f"--point must be {allowed}, got {point or 'none'}")
        if not 0 <= run < spec.runs:
            raise ValueError(f"RUN must be from 0 to {spec.runs - 1}, got {run}")
        setting = setting_of(spec.at(point))
        try:
            played = setting.play(run)
        except Exception:
            traceback.print_exc()
            raise typer.Exit(1) from None
        study = setting.collected([run], [played])
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("learner")
        for header in ("round", "reward", "switches", "regret", "of optimum"):
            table.add_column(header, justify="right", no_wrap=True)
        best = study.gains["optimum"][0] * study.rounds[-1]
        for place, learner in enumerate(study.learners):
            reward = study.rewards[place, 0, -1]
            table.add_row(
                Text(learner),
                f"{study.rounds[-1]:,}",
                f"{reward:,.3f}",
                f"{study.switches[place, 0, -1]:,}",
                f"{study.regret(learner)[0, -1]:,.3f}",
                f"{reward / max(best, 1e-300):.1%}",
            )
        Console(highlight=False).print(table)
