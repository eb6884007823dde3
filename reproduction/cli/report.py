"""`reproduction report`: run the experiments, check the claims, and write one page."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fallow.cli.app import user_mistakes
from fallow.cli.run import FilesArgument, load_specs, run_spec
from fallow.cli.terminal import print_line
from fallow.extras import check_extras
from fallow.text import visible
from reproduction.cli.app import app
from reproduction.cli.claims import warn_of_surprises

if TYPE_CHECKING:
    from fallow.studies.spec import Spec


@app.command("report")
def report_command(
    files: FilesArgument,
    out: Annotated[Path, typer.Option(help="Folder for index.html, ends.csv and the results.")],
    reproduction: Annotated[
        Path | None, typer.Option(help="Write the comparison with the paper to this Markdown file.")
    ] = None,
    tournament: Annotated[
        Path | None, typer.Option(help="Show this standings.json of `reproduction tournament`.")
    ] = None,
) -> None:
    """Run experiments, check the paper's claims, compare the planners, and write one page."""
    with user_mistakes():
        check_extras("report", "polars", "matplotlib")
        from fallow.cli.progress import progress_bar
        from fallow.drawing.figures import image
        from fallow.files import write_whole
        from fallow.studies.draw import draw
        from fallow.studies.workers import local_workers
        from reproduction.claims.claim import run as check
        from reproduction.claims.registry import CLAIMS
        from reproduction.readings import scan
        from reproduction.report.content import DRAWS, Content, compare_planners
        from reproduction.report.experiment import ends_csv, read_experiment
        from reproduction.report.page import html
        from reproduction.report.reproduction import markdown
        from reproduction.tournament.standing import load_standings

        table = [] if tournament is None else load_standings(tournament)
        kept = visible(f"runs are kept in {out}, and the same command resumes there")
        specs = load_specs(files)
        results = []
        with local_workers() as workers:
            for file, spec in sorted(specs.items(), key=lambda pair: _rounds(pair[1])):
                run_spec(file, spec, out / "results", workers)  # quick figures first
                folder = out / "results" / spec.name
                result = read_experiment(folder)
                results.append(result)
                write_whole(folder / "figure.svg", result.exhibit.wide.light)
                picture = image(partial(draw, result.spec, result.curves), "png")
                write_whole(folder / "figure.png", picture)
                print_line(f"{folder / 'figure.png'}: {spec.title}")
        results.sort(key=lambda result: (result.spec.section, result.spec.name))
        with progress_bar("claims", len(CLAIMS), kept) as bar:
            findings = check(CLAIMS, bar.advance)
        with progress_bar("instances for the planners", DRAWS, kept) as bar:
            planners = compare_planners(bar.advance)
        readings = scan()
        content = Content(results, findings, planners, readings, table)
        write_whole(out / "ends.csv", ends_csv(results).encode(errors="replace"))
        write_whole(out / "index.html", html(content).encode(errors="replace"))
        print_line(f"{out / 'index.html'}: open it in a browser")
        if reproduction is not None:
            write_whole(reproduction, markdown(content).encode(errors="replace"))
            print_line(f"{reproduction}: published values and ours")
        warn_of_surprises(findings)


def _rounds(spec: "Spec") -> int:
    """Return how many rounds all runs of a spec play together."""
    horizons = sum(spec.at(point).horizon for point in spec.points)
    return horizons * spec.runs * len(spec.learners)
