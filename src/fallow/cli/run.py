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
    from fallow.studies.spec import Spec
    from fallow.studies.summarize import Curve

FilesArgument = Annotated[list[Path], typer.Argument(help="Specs: TOML files.", metavar="FILE...")]
FoldersArgument = Annotated[
    list[Path], typer.Argument(help="Folders that `fallow run` wrote.", metavar="DIR...")
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
) -> None:
    """Run experiments; what is already there is kept, what is missing is run."""
    with user_mistakes():
        check_extras("--rows", *["polars"] * rows)
        check_extras("--cluster", *["distributed"] * (cluster is not None))
        from fallow.cli.experiment import load_specs, run_spec
        from fallow.studies.workers import cluster_workers, local_workers

        if cluster is not None and workers is not None:
            raise ValueError("--workers must not be given with --cluster, which has its own")
        specs = load_specs(files)
        failed = 0
        with local_workers(workers) if cluster is None else cluster_workers(cluster) as crew:
            for file, spec in specs.items():
                failed += run_spec(file, spec, out, crew, rows)
        print(f"results are in {out}: {', '.join(file.stem for file in files)}")
        if failed:
            raise typer.Exit(1)


@app.command("summarize")
def summarize_command(folders: FoldersArgument) -> None:
    """Write the curves of experiments, summary.parquet, and print where they end."""
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
    console.print(f"{spec.name}: {spec.title}", style="bold", soft_wrap=True)
    swept = [] if spec.sweep is None else [spec.sweep[0]]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("learner", overflow="fold")
    for header in (*swept, "cost", "round", "regret", "5 % to 95 %", "switches", "share"):
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
    from fallow.figures import image
    from fallow.files import write_whole
    from fallow.studies.draw import draw
    from fallow.studies.summarize import summarize

    spec, curves = summarize(folder)
    for kind in ("svg", "png"):
        write_whole(folder / f"figure.{kind}", image(lambda: draw(spec, curves), kind))
    return spec


def result_folders(folders: Sequence[Path]) -> list[Path]:
    """Return the folders of experiments among these and within them."""
    from fallow.studies.folder import MANIFEST

    found = []
    for folder in folders:
        within = sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))
        found += within or [folder]
    return found
