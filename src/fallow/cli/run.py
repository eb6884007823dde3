"""`fallow run`, `fallow summarize`, `fallow figure`: from specs to tallies, curves and pictures."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from fallow import checks
from fallow.cli.app import app, user_mistakes
from fallow.cli.tables import print_table
from fallow.cli.terminal import print_error, print_line
from fallow.errors import InputError
from fallow.extras import check_extras
from fallow.text import visible

if TYPE_CHECKING:
    from fallow.studies.spec import Spec
    from fallow.studies.summarize import Curve
    from fallow.studies.workers import Workers

FilesArgument = Annotated[list[Path], typer.Argument(help="Specs: TOML files.", metavar="FILE...")]
FoldersArgument = Annotated[
    list[Path], typer.Argument(help="Folders that `fallow run` wrote.", metavar="DIR...")
]
AllowImportsOption = Annotated[
    bool,
    typer.Option(
        "--allow-imports",
        help="Run the Python code of learners, families and rewards that the spec names as "
        "module:Name.",
    ),
]


@app.command("run")
def run_command(
    files: FilesArgument,
    out: Annotated[Path, typer.Option(help="Each spec gets a folder of its name in this one.")],
    workers: Annotated[
        int | None, typer.Option(help="Threads or processes; one a core by default.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(help="A Dask scheduler's address, or local:N to start N processes."),
    ] = None,
    rows: Annotated[
        bool, typer.Option("--rows", help="Keep the totals of every run, not only their curves.")
    ] = False,
    allow_imports: AllowImportsOption = False,
) -> None:
    """Run specs; what is already there is kept, what is missing is run."""
    with user_mistakes():
        check_extras("--rows", *["polars"] * rows)
        check_extras("--cluster", *["distributed"] * (cluster is not None))
        from fallow.studies.workers import cluster_workers, local_workers

        if cluster is not None and workers is not None:
            raise InputError("--workers", "must not be given with --cluster, which has its own")
        if workers is not None:
            checks.whole_number("--workers", workers, minimum=1)
        specs = load_specs(files, allow_imports)
        failed = 0
        with local_workers(workers) if cluster is None else cluster_workers(cluster) as crew:
            for file, spec in specs.items():
                failed += run_spec(file, spec, out, crew, rows)
        print_line(f"results are in {out}: {', '.join(file.stem for file in files)}")
        if failed:
            raise typer.Exit(1)


def load_specs(files: Sequence[Path], allow_imports: bool = False) -> dict[Path, "Spec"]:
    """Read all specs before any is run."""
    from fallow.studies.read import load_spec

    names = [file.stem for file in files]
    for file in files:
        if file.stem.startswith("."):  # "...toml" would give its results the name ".."
            raise InputError(
                "FILE",
                "must have a name without a dot in front, as its results get a folder of that name",
                f"{str(file)!r}; rename it",
            )
    specs = {file: load_spec(file, allow_imports) for file in files}
    for name in names:
        if names.count(name) > 1:
            raise InputError("FILE", "must have different names", f"{name} twice")
    return specs


def run_spec(
    file: Path, spec: "Spec", out: Path, workers: "Workers | None" = None, rows: bool = False
) -> int:
    """Run what is missing of a spec in its folder, and return how many runs failed."""
    from fallow.cli.progress import Screen, progress_bar
    from fallow.signals import save_at_signals
    from fallow.studies.run import run

    total = spec.runs * len(spec.points)
    kept = visible(f"finished runs are kept in {out}, the same command goes on from there")
    with progress_bar(visible(f"runs of {spec.name}"), total, kept) as bar, save_at_signals():
        screen = Screen(bar)
        run(spec, out / spec.name, workers, rows, screen)
    for point, failure in screen.failures:
        at = "" if point is None else f" --point {point!r}"
        imports = " --allow-imports" if spec.code else ""
        print_error(
            f"a run of {spec.name} failed: {failure.message}; to see it alone: "
            f"fallow replay {shlex.quote(str(file))} {failure.run}{at}{imports}"
        )
    if screen.failed:
        print_error(
            f"{screen.failed} of {total} runs of {spec.name} failed, and are missing from "
            f"its curves; to play them again, remove {out / spec.name}"
        )
    return screen.failed


@app.command("summarize")
def summarize_command(folders: FoldersArgument) -> None:
    """Write the curves of studies, summary.parquet, and print where they end."""
    with user_mistakes():
        check_extras("summarize", "polars")
        from fallow.files import write_whole
        from fallow.frames import parquet
        from fallow.studies.summarize import summarize, summary_frame

        for folder in result_folders(folders):
            spec, curves = summarize(folder)
            write_whole(folder / "summary.parquet", parquet(summary_frame(curves)))
            _print_ends(spec, curves)


def _print_ends(spec: "Spec", curves: "Sequence[Curve]") -> None:
    console = Console(highlight=False, markup=False)
    console.print(visible(f"{spec.name}: {spec.title}"), style="bold", soft_wrap=True)
    swept = [] if spec.sweep is None else [spec.sweep[0]]
    headers = ("learner", *swept, "cost", "round", "regret", "5 % to 95 %", "switches", "share")
    rows = []
    for curve in curves:
        point = [] if curve.point is None else [f"{curve.point:g}"]
        where = f"{curve.switching_cost:g}", f"{curve.rounds[-1]:,}"
        rows.append((curve.learner, *point, *where, *curve.ends()))
    print_table(headers, rows)


@app.command("figure")
def figure_command(folders: FoldersArgument) -> None:
    """Draw the figures of studies: figure.svg and figure.png."""
    with user_mistakes():
        check_extras("figure", "polars", "matplotlib")
        from fallow.studies.summarize import summarize

        for folder in result_folders(folders):
            spec, curves = summarize(folder)
            draw_figures(spec, curves, folder)
            print_line(f"{folder / 'figure.svg'} and .png: {spec.title}")


def draw_figures(spec: "Spec", curves: "Sequence[Curve]", folder: Path) -> None:
    """Draw the figure of a study in its folder."""
    from fallow.drawing.figures import image
    from fallow.files import write_whole
    from fallow.studies.draw import draw

    for kind in ("svg", "png"):
        write_whole(folder / f"figure.{kind}", image(lambda: draw(spec, curves), kind))


def result_folders(folders: Sequence[Path]) -> list[Path]:
    """Return the folders of studies among these and within them."""
    from fallow.studies.folder import MANIFEST

    found = []
    for folder in folders:
        within = sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))
        found += within or [folder]
    return found
