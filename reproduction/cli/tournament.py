"""`reproduction tournament` and `reproduction estimate`: every learner on every family."""

from pathlib import Path
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
    from fallow.studies.spec import Spec
    from reproduction.tournament.standing import Standing


@app.command("tournament")
def tournament_command(
    files: FilesArgument,
    out: Annotated[Path, typer.Option(help="Folder for results, standings.json and pictures.")],
    page: Annotated[
        Path | None, typer.Option(help="Write all standings to this Markdown file.")
    ] = None,
    trials: Annotated[
        Path | None, typer.Option(help="Say on the page what `tune` tried: its JSON file.")
    ] = None,
) -> None:
    """Play every learner on every family, and compare where they stand in the end."""
    with user_mistakes():
        check_extras("tournament", "polars", "matplotlib")
        from fallow.cli.progress import progress_bar
        from fallow.drawing.figures import image
        from fallow.files import write_whole
        from fallow.studies.workers import local_workers
        from reproduction.figures import heat_figure
        from reproduction.tournament.page import markdown
        from reproduction.tournament.standing import replay_all, standings, standings_json
        from reproduction.tournament.tables import at_end, matrix, theory, tuned
        from reproduction.tournament.tuning import load_trials

        tried = [] if trials is None else load_trials(trials)
        specs = load_specs(files)
        table = []
        with local_workers() as workers:
            for file, spec in specs.items():
                if run_spec(file, spec, out, workers, rows=True):
                    raise typer.Exit(1)  # learners are compared on the same runs, all of them
                folder = out / spec.name
                what = visible(f"learners of {spec.name}, again")
                with progress_bar(what, len(spec.learners), "rows are kept") as bar:
                    replays = replay_all(folder, spec, workers, bar.advance)
                family = standings(folder, replays)
                _draw_regret(folder, spec, family, page)
                table += family
        write_whole(out / "standings.json", standings_json(table))
        learners, families, shares = matrix(at_end(tuned(table)))
        for kind in ("svg", "png"):
            picture = image(lambda: heat_figure(learners, families, shares), kind)
            write_whole(out / f"standings.{kind}", picture)
        if page is not None:
            write_whole(page, markdown(table, list(specs.values()), tried).encode())
        for title, rows in (("tuned", tuned(table)), ("theory", theory(table))):
            _print_summaries(title, rows)
        print_line(f"standings.json, standings.svg and .png are in {out}")


def _draw_regret(folder: Path, spec: "Spec", family: "list[Standing]", page: Path | None) -> None:
    """Draw the regret of the tuned learners over time, beside the page too if there is one."""
    from fallow.drawing.figures import image
    from fallow.files import write_whole
    from reproduction.figures import regret_figure
    from reproduction.tournament.page import PICTURES
    from reproduction.tournament.standing import regret_curves
    from reproduction.tournament.tables import PLANS, highlighted, name_of, tuned

    rounds, regrets = regret_curves(folder)
    shown = [standing for standing in tuned(family) if standing.learner not in PLANS]
    curves = {name_of(each): regrets[each.label] for each in shown}
    for kind in ("svg", "png"):
        picture = image(lambda: regret_figure(rounds, curves, highlighted(shown), spec.title), kind)
        write_whole(folder / f"regret.{kind}", picture)
        if page is not None and kind == "svg":
            (page.parent / PICTURES).mkdir(exist_ok=True)
            write_whole(page.parent / PICTURES / f"{spec.name}.svg", picture)


def _print_summaries(title: str, table: "list[Standing]") -> None:
    from reproduction.tournament.tables import summarize

    rows = [
        (
            each.told,
            each.learner,
            f"{each.end:.3f}",
            f"{each.rank}",
            f"{each.worst:.3f}",
            each.worst_family,
        )
        for each in summarize(table)
    ]
    head = ("told", f"learner, {title}", "mean share", "rank", "worst share", "worst on")
    print_table(head, rows, texts=["told", "worst on"])


@app.command("estimate")
def estimate_command(files: FilesArgument) -> None:
    """Time each learner on each family, and say how many core-hours the tournament takes."""
    with user_mistakes():
        from fallow.cli.progress import progress_bar
        from fallow.studies.workers import local_workers
        from reproduction.tournament.estimate import estimate

        specs = list(load_specs(files).values())
        total = sum(len(spec.learners) for spec in specs)
        with local_workers() as workers, progress_bar("learners", total, "none are kept") as bar:
            costs = estimate(specs, workers, bar.advance)
        costs.sort(key=lambda cost: -cost.hours)
        rows = [
            (cost.family, cost.label, f"{cost.seconds:.2f}", f"{cost.hours:.2f}") for cost in costs
        ]
        print_table(("family", "learner", "seconds per run", "core-hours"), rows[:20])
        print_line(f"{sum(cost.hours for cost in costs):.1f} core-hours in all")
