"""`reproduction tournament`: every learner on every family."""

import math
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

import typer

from fallow.cli.app import user_mistakes
from fallow.cli.run import FilesArgument, load_specs, run_spec
from fallow.cli.tables import print_table
from fallow.cli.terminal import print_line
from fallow.extras import check_extras
from fallow.text import visible
from reproduction.cli.app import app

if TYPE_CHECKING:
    from fallow.arrays import FloatArray


@app.command("tournament")
def tournament_command(
    files: FilesArgument,
    out: Annotated[Path, typer.Option(help="Folder for results, standings.json and the heat map.")],
    page: Annotated[
        Path | None, typer.Option(help="Write all standings to this Markdown file.")
    ] = None,
) -> None:
    """Play every learner on every family, and compare where they stand in the end."""
    with user_mistakes():
        check_extras("tournament", "polars", "matplotlib")
        from fallow.cli.progress import progress_bar
        from fallow.figures import image
        from fallow.files import write_whole
        from reproduction.figures import heat_figure
        from reproduction.tournament import markdown, matrix, standings, standings_json

        specs = load_specs(files)
        table = []
        for file, spec in specs.items():
            run_spec(file, spec, out, rows=True)
            with progress_bar(
                visible(f"learners of {spec.name}"), len(spec.learners), "rows are kept"
            ) as bar:
                table += standings(out / spec.name, bar.advance)[1]
        write_whole(out / "standings.json", standings_json(table))
        learners, families, shares = matrix(table)
        for kind in ("svg", "png"):
            picture = image(lambda: heat_figure(learners, families, shares), kind)
            write_whole(out / f"standings.{kind}", picture)
        if page is not None:
            write_whole(page, markdown(table).encode())
        _print_learners(learners, families, shares)
        print_line(f"standings.json, standings.svg and .png are in {out}")


def _print_learners(learners: list[str], families: list[str], shares: "FloatArray") -> None:
    """Print each learner's mean share of the optimum over families, and where it is worst."""
    rows = []
    for learner, row in zip(learners, shares, strict=True):
        played = [
            (share, family)
            for share, family in zip(row.tolist(), families, strict=True)
            if not math.isnan(share)
        ]
        worst, family = min(played)
        mean = fmean(share for share, _ in played)
        rows.append((learner, f"{mean:.3f}", f"{worst:.3f}", family))
    print_table(("learner", "mean share", "worst share", "worst on"), rows, texts=["worst on"])
