"""`fallow design`: how much to leave to chance, to see whether rest matters."""

import json
from typing import Annotated

import typer

from fallow.cli.app import app, user_mistakes
from fallow.cli.logs import options_named
from fallow.cli.progress import progress_bar
from fallow.cli.tables import print_table
from fallow.cli.terminal import print_line
from fallow.logs import design
from fallow.logs.design import RUNS, SHARES


@app.command("design")
def design_command(
    arms: Annotated[int, typer.Option(help="How many arms there are.")],
    max_delay: Annotated[int, typer.Option(help="After so many rounds an arm is rested.")],
    effect: Annotated[
        float,
        typer.Option(help="The reward lost one round after a play, above 0 and at most 0.3."),
    ],
    users: Annotated[int, typer.Option(help="How many users take part, at least 10.")],
    rounds: Annotated[int, typer.Option(help="Rounds of each user.")],
    runs: Annotated[int, typer.Option(help="Logs that are simulated for each share.")] = RUNS,
    seed: Annotated[int, typer.Option(help="The same seed gives the same design.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say which share of decisions to leave to chance, so that an effect of rest is seen."""
    with user_mistakes(), options_named():
        most = len(SHARES) * max(runs, 1)
        with progress_bar("logs simulated, at most", most, "nothing is kept") as bar:
            found = design(
                arms, max_delay, effect, users, rounds, runs, seed, on_run=lambda: bar.advance(1)
            )
        if as_json:
            powers = [{"share": each.share, **each.power._asdict()} for each in found.powers]
            document = {"share": found.share, "propensity": found.propensity, "powers": powers}
            print(json.dumps(document, indent=2))
            return
        rows = [(f"{each.share:.0%}", str(each.power)) for each in found.powers]
        print_table(("left to chance", "the effect is seen"), rows)
        print_line(str(found))
