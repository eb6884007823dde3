"""`reproduction report`: run, check, compare and show, by one command."""

from pathlib import Path
from typing import Annotated

import typer

from fallow.cli.app import user_mistakes
from fallow.cli.extras import check_extras
from fallow.cli.run import FilesArgument, draw_folder
from reproduction.cli.app import app
from reproduction.cli.claims import warn_of_surprises


@app.command("report")
def report_command(
    files: FilesArgument,
    out: Annotated[Path, typer.Option(help="Folder for the page, index.html, and the results.")],
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
        from fallow.cli.experiment import load_specs, run_spec
        from fallow.cli.progress import stage
        from fallow.files import write_whole
        from fallow.studies.summarize import summarize
        from fallow.studies.workers import local_workers
        from reproduction.claims.claim import run as check
        from reproduction.claims.registry import CLAIMS
        from reproduction.report.content import DRAWS, Content, Result, compare_planners
        from reproduction.report.page import html
        from reproduction.report.reproduction import markdown
        from reproduction.tournament import load_standings

        table = [] if tournament is None else load_standings(tournament)
        kept = f"runs are kept in {out}, the same command goes on from there"
        found = load_specs(files)
        specs = sorted(found.values(), key=lambda spec: (spec.section, spec.name))
        results = out / "results"
        with local_workers() as workers:
            for file, spec in sorted(found.items(), key=lambda pair: pair[1].work):
                run_spec(file, spec, results, workers)  # quick figures first
                draw_folder(results / spec.name)
                print(f"{results / spec.name / 'figure.png'}: {spec.title}", flush=True)
        with stage("claims", len(CLAIMS), kept) as bar:
            findings = check(CLAIMS, bar.advance)
        with stage("instances for the planners", DRAWS, kept) as bar:
            planners = compare_planners(bar.advance)
        shown = []
        for spec in specs:
            folder = results / spec.name
            shown.append(Result(*summarize(folder), (folder / "figure.svg").read_bytes()))
        content = Content(shown, findings, planners, table)
        with stage("figures of the page", len(specs), kept) as bar:
            write_whole(out / "index.html", html(content, bar.advance).encode())
        print(f"{out / 'index.html'}: open it in a browser")
        if reproduction is not None:
            write_whole(reproduction, markdown(content).encode())
            print(f"{reproduction}: published values and ours")
        warn_of_surprises(findings)
