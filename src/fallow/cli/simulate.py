"""`fallow simulate`: learners against an instance or a family."""

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer
from rich.console import Console
from rich.table import Table

from fallow import Instance, catalog, checks, ghost
from fallow.cli.app import app, user_mistakes
from fallow.cli.extras import check_extras
from fallow.cli.instances import (
    InstanceArgument,
    ParametersArgument,
    catalog_parameters,
    read_instance,
)
from fallow.files import write_whole
from fallow.frames import parquet
from fallow.intervals import Estimate, estimate
from fallow.learners.registry import LEARNERS, build_learner
from fallow.planners.plan import optimum_or_bound
from fallow.protocol import Learner
from fallow.replicate import Family, Replication, replicate
from fallow.simulate import Rewards

REWARDS = get_args(Rewards)


@dataclass(frozen=True)
class Summary:
    """What a learner has come to at the horizon: means over runs and half-widths at 95 %."""

    learner: str
    regret: float
    regret_half_width: float | None
    more_regret_than_first: float
    more_regret_than_first_half_width: float | None
    switches: float
    switches_half_width: float | None
    share_of_optimum: float
    share_of_optimum_half_width: float | None


@app.command("simulate")
def simulate_command(
    instance: InstanceArgument,
    parameters: ParametersArgument = None,
    learner: Annotated[
        list[str] | None, typer.Option(help=f"Repeatable: {', '.join(LEARNERS)}.")
    ] = None,
    horizon: Annotated[str, typer.Option(help="Rounds of a run, such as 1e6.")] = "1e4",
    runs: Annotated[int, typer.Option(help="Number of runs.")] = 20,
    switching_cost: Annotated[float, typer.Option(help="Charged for each switch.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Of all randomness.")] = 0,
    rewards: Annotated[str, typer.Option(help=f"One of {', '.join(REWARDS)}.")] = "bernoulli",
    workers: Annotated[int | None, typer.Option(help="Threads; one a core by default.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for rows, summary and curves.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Simulate learners, and compare their regret against the best ranking policy.

    A random catalog name without a seed is a family: each run draws a new instance.
    """
    with user_mistakes():
        names = learner or ["low-switch", "ranking-ucb"]
        for name in names:
            checks.one_of("--learner", name, LEARNERS)
        checks.one_of("--rewards", rewards, REWARDS)
        checks.not_negative("--switching-cost", switching_cost)
        rounds = _whole("--horizon", horizon)
        source: Instance | Family = read_instance(instance, parameters or [])
        if instance in catalog.ENTRIES:
            source = catalog.source(instance, catalog_parameters(instance, parameters or []))
        if out is not None:
            check_extras("--out", "polars", "matplotlib")
            out.mkdir(parents=True, exist_ok=True)
        study = _study(source, names, rounds, runs, seed, rewards, workers)
        summaries = [_summary(study, name, switching_cost) for name in study.learners]
        if as_json:
            print(json.dumps([asdict(summary) for summary in summaries], indent=2))
        else:
            _print_table(summaries, rounds, runs, switching_cost)
        if out is not None:
            title = f"{instance} {' '.join(parameters or [])}".strip()
            _write_all(out, _files(study, summaries, switching_cost, title), quiet=as_json)


def _study(
    source: Instance | Family,
    names: Sequence[str],
    horizon: int,
    runs: int,
    seed: int,
    rewards: str,
    workers: int | None,
) -> Replication:
    def factory(name: str) -> Callable[[Instance, int], Learner]:
        return lambda instance, number: build_learner(name, instance, horizon, number)

    from fallow.cli.progress import stage  # slow to import, and not needed for --help

    with stage("runs", runs * len(names), "nothing was written") as bar:
        return replicate(
            source,
            {name: factory(name) for name in names},
            horizon,
            runs,
            seed,
            workers,
            cast(Rewards, rewards),
            references={"ghost": ghost, "optimum": optimum_or_bound},
            on_run=lambda: bar.advance(1),
        )


def _summary(study: Replication, name: str, switching_cost: float) -> Summary:
    place = study.learners.index(name)
    final = study.rounds[-1]
    regret = estimate(study.regret(name, switching_cost=switching_cost)[:, -1])
    switches = estimate(study.switches[place, :, -1].astype(float))
    share = estimate(study.rewards[place, :, -1] / (final * study.gains["optimum"]))
    more = study.difference(name, study.learners[0], switching_cost)
    final_more = Estimate(more.mean[-1], more.half_width[-1])
    numbers: list[Any] = []
    for mean, half_width in (regret, final_more, switches, share):
        # A single run has no interval.
        numbers += [float(mean), None if math.isnan(half_width) else float(half_width)]
    return Summary(name, *numbers)


def _print_table(
    summaries: Sequence[Summary], horizon: int, runs: int, switching_cost: float
) -> None:
    console = Console(highlight=False)
    cost = f", switching cost {switching_cost:g}" if switching_cost else ""
    console.print(f"{runs:,} runs of {horizon:,} rounds{cost}; means with 95 % intervals")
    console.print(
        f"regret against ghost; more: regret beyond that of {summaries[0].learner}, paired"
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("learner", no_wrap=True)
    for header in ("regret", "more", "switches", "of optimum"):
        table.add_column(header, justify="right", no_wrap=True)
    for row in summaries:
        table.add_row(
            row.learner,
            _interval(row.regret, row.regret_half_width),
            _interval(row.more_regret_than_first, row.more_regret_than_first_half_width),
            _interval(row.switches, row.switches_half_width),
            _interval(row.share_of_optimum, row.share_of_optimum_half_width, ".1%"),
        )
    console.print(table)


def _interval(mean: float, half_width: float | None, form: str = "") -> str:
    form = form or (",.0f" if abs(mean) >= 100 else ".1f")
    return f"{mean:{form}}" if half_width is None else f"{mean:{form}} ± {half_width:{form}}"


def _files(
    study: Replication, summaries: Sequence[Summary], switching_cost: float, title: str
) -> Mapping[str, Callable[[], bytes]]:
    """Return how each file is made, by its name."""

    def curves(kind: str) -> bytes:
        from fallow.figures import Panel, curve_figure, image

        estimates = {
            name: estimate(study.regret(name, switching_cost=switching_cost))
            for name in study.learners
        }
        panel = Panel(f"switching cost {switching_cost:g}", study.rounds, estimates)
        label = "regret against ghost"
        return image(lambda: curve_figure([panel], title, "round t", label), kind)

    return {
        "rows.parquet": lambda: parquet(study.frame()),
        "summary.json": lambda: json.dumps([asdict(row) for row in summaries], indent=2).encode(),
        "regret.png": lambda: curves("png"),
        "regret.svg": lambda: curves("svg"),
    }


def _write_all(folder: Path, files: Mapping[str, Callable[[], bytes]], quiet: bool) -> None:
    kept: list[str] = []
    try:
        for name, make in files.items():
            write_whole(folder / name, make())
            kept.append(name)
    except KeyboardInterrupt:
        left = ", ".join(kept) or "nothing"
        print(f"fallow: interrupted, {left} written to {folder}", file=sys.stderr)
        raise typer.Exit(130) from None
    if not quiet:
        print(f"{', '.join(kept)} written to {folder}")


def _whole(option: str, text: str) -> int:
    """Read 1000000 or 1e6."""
    try:
        number = Decimal(text)
        whole = int(number) if abs(number) < 10**18 and number == int(number) else None
    except (InvalidOperation, ValueError, OverflowError):
        whole = None
    if whole is None or whole < 1:
        raise ValueError(f"{option} must be a whole number >= 1 such as 1e6, got {text!r}")
    return whole
