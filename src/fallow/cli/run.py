"""`fallow run`, `fallow summarize`, `fallow figure`: from specs to rows, curves and pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fallow.cli.app import app, user_mistakes
from fallow.cli.extras import check_extras

if TYPE_CHECKING:
    from fallow.experiments.spec import Spec
    from fallow.experiments.summarize import Curve

FilesArgument = Annotated[list[Path], typer.Argument(help="Specs: TOML files.", metavar="FILE...")]
FoldersArgument = Annotated[
    list[Path], typer.Argument(help="Folders that `fallow run` wrote.", metavar="DIR...")
]


@app.command("run")
def run_command(
    files: FilesArgument,
    out: Annotated[Path, typer.Option(help="Each spec gets a folder of its name in this one.")],
    workers: Annotated[int | None, typer.Option(help="Threads; one a core by default.")] = None,
) -> None:
    """Run experiments; what is already there is kept, what is missing is run."""
    with user_mistakes():
        check_extras("run", "polars")
        for spec in load_specs(files):
            run_spec(spec, out, workers)
        print(f"rows are in {out}: {', '.join(file.stem for file in files)}")


def load_specs(files: Sequence[Path]) -> "list[Spec]":
    """Read all specs before any is run."""
    from fallow.experiments.read import load_spec

    specs = [load_spec(file) for file in files]
    names = [spec.name for spec in specs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"FILE must have different names, got {name} twice")
    return specs


def run_spec(spec: "Spec", out: Path, workers: int | None = None) -> None:
    """Run what is missing of an experiment in its folder, with a progress bar."""
    from fallow.cli.progress import stage
    from fallow.experiments.run import run

    total = spec.runs * len(spec.points) * len(spec.learners)
    kept = f"finished pieces are kept in {out}, the same command goes on from there"
    with stage(f"runs of {spec.name}", total, kept) as advance:
        run(spec, out / spec.name, workers, advance)


@app.command("summarize")
def summarize_command(folders: FoldersArgument) -> None:
    """Write the curves of experiments, summary.parquet, and print where they end."""
    with user_mistakes():
        check_extras("summarize", "polars")
        from fallow.experiments.summarize import summarize, summary_frame
        from fallow.files import write_whole
        from fallow.frames import parquet

        for folder in result_folders(folders):
            spec, curves = summarize(folder)
            write_whole(folder / "summary.parquet", parquet(summary_frame(curves)))
            _print_ends(spec, curves)


def _print_ends(spec: "Spec", curves: "Sequence[Curve]") -> None:
    console = Console(highlight=False, markup=False)
    console.print(f"{spec.name}: {spec.title}", style="bold", soft_wrap=True)
    swept = [] if spec.sweep is None else [spec.sweep[0]]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("learner")
    for header in (*swept, "cost", "round", "regret", "switches", "of optimum"):
        table.add_column(header, justify="right", no_wrap=True)
    for curve in curves:
        table.add_row(
            Text(curve.learner),
            *([] if curve.point is None else [f"{curve.point:g}"]),
            f"{curve.switching_cost:g}",
            f"{curve.rounds[-1]:,}",
            *curve.ends(),
        )
    console.print(table)


@app.command("figure")
def figure_command(folders: FoldersArgument) -> None:
    """Draw the figures of experiments: figure.svg and figure.png."""
    with user_mistakes():
        check_extras("figure", "polars", "matplotlib")
        for folder in result_folders(folders):
            print(f"{folder / 'figure.svg'} and .png: {draw_folder(folder).title}")


def draw_folder(folder: Path) -> "Spec":
    """Draw the figure of an experiment in its folder, and return its spec."""
    from fallow.experiments.draw import draw
    from fallow.experiments.summarize import summarize
    from fallow.figures import image
    from fallow.files import write_whole

    spec, curves = summarize(folder)
    for kind in ("svg", "png"):
        write_whole(folder / f"figure.{kind}", image(lambda: draw(spec, curves), kind))
    return spec


def result_folders(folders: Sequence[Path]) -> list[Path]:
    """Return the folders of experiments among these and within them."""
    from fallow.experiments.run import MANIFEST

    found = []
    for folder in folders:
        within = sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))
        found += within or [folder]
    return found
