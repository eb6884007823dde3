"""`fallow simulate`: learners against an instance or a family."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fallow import Instance, checks
from fallow.cli.app import app, user_mistakes
from fallow.cli.instances import (
    InstanceArgument,
    ParametersArgument,
    read_source,
)
from fallow.cli.tables import print_table
from fallow.cli.terminal import print_line
from fallow.errors import InputError
from fallow.extras import check_extras
from fallow.files import write_whole
from fallow.frames import parquet
from fallow.intervals import Estimate, estimate
from fallow.learners.registry import LEARNERS, find_learner, learner_factory
from fallow.planners.plan import optimum_or_bound
from fallow.planners.ranking import ghost
from fallow.rewards import (
    CONCENTRATION,
    NAMES,
    Rewards,
    are_drawn_one_by_one,
    find_rewards,
    try_rewards,
)
from fallow.studies import Result, replicate
from fallow.studies.study import Family
from fallow.text import visible
from fallow.user_code import describe_error, is_user_code, load, sources

Summary = dict[str, Estimate]
"""What a learner has come to at the horizon, by measure."""


@app.command("simulate")
def simulate_command(
    instance: InstanceArgument,
    parameters: ParametersArgument = None,
    learner: Annotated[
        list[str] | None,
        typer.Option(help=f"Repeatable: {', '.join(LEARNERS)}, or your own class as module:Name."),
    ] = None,
    horizon: Annotated[str, typer.Option(help="Rounds of a run, such as 1e6.")] = "1e4",
    runs: Annotated[int, typer.Option(help="Number of runs.")] = 20,
    switching_cost: Annotated[float, typer.Option(help="Charged for each switch.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Of all randomness.")] = 0,
    rewards: Annotated[
        str,
        typer.Option(help=f"One of {', '.join(NAMES)}, or your own function as module:name."),
    ] = "bernoulli",
    concentration: Annotated[
        float | None, typer.Option(help=f"Of beta rewards, {CONCENTRATION:g} by default.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Threads or processes; one a core by default.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for rows, summary and curves.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Simulate learners, and compare their regret against the best ranking policy.

    A random catalog name without a seed is a family: each run draws a new instance.
    """
    with user_mistakes():
        names = learner or ["low-switch", "ranking-ucb"]
        for name in names:
            _load_own(name)
            find_learner(name, "--learner")
        if len(set(names)) < len(names):
            raise InputError("--learner", "must name each learner once", f"{', '.join(names)}")
        _load_own(rewards)
        law = find_rewards(rewards, "--rewards")
        try_rewards("--rewards", law)
        if concentration is None:
            concentration = CONCENTRATION
        elif rewards != "beta":
            raise InputError(
                "--concentration", "must come with --rewards beta", f"--rewards {rewards}"
            )
        checks.positive("--concentration", concentration)
        checks.whole_number("--runs", runs, minimum=1)
        if workers is not None:
            checks.whole_number("--workers", workers, minimum=1)
        checks.seed("--seed", seed)
        checks.not_negative("--switching-cost", switching_cost)
        rounds = _whole("--horizon", horizon)
        source = read_source(instance, parameters or [])
        if out is not None:
            check_extras("--out", "polars", "matplotlib")
            out.mkdir(parents=True, exist_ok=True)
        result = _play(source, names, rounds, runs, seed, law, concentration, workers)
        summaries = {name: _summarize(result, name, switching_cost) for name in result.learners}
        if as_json:
            print(_as_json(summaries))
        else:
            slow = rewards if are_drawn_one_by_one(law) else None
            _print_table(summaries, rounds, runs, switching_cost, slow)
        if out is not None:
            title = f"{instance} {' '.join(parameters or [])}".strip()
            files = _files(result, summaries, switching_cost, title)
            for name, make in files.items():
                write_whole(out / name, make())
            if not as_json:
                print_line(f"{', '.join(files)} written to {out}")


def _load_own(name: str) -> None:
    """Import a learner or rewards of the user's own from this folder or the Python path."""
    if is_user_code(name):
        load(name, Path.cwd())


def _play(
    source: Instance | Family,
    names: Sequence[str],
    horizon: int,
    runs: int,
    seed: int,
    rewards: Rewards,
    concentration: float,
    workers: int | None,
) -> Result:
    from fallow.cli.progress import progress_bar  # slow to import, and not needed for --help

    with progress_bar("runs", runs, "nothing was written") as bar:
        try:
            return replicate(
                source,
                {name: learner_factory(name, horizon) for name in names},
                horizon,
                runs,
                seed,
                workers,
                rewards=rewards,
                concentration=concentration,
                references={"ghost": ghost, "optimum": optimum_or_bound},
                on_runs=bar.advance,
            )
        except (Exception, SystemExit) as error:
            is_from_run = hasattr(error, "__notes__")
            if not is_from_run or not (isinstance(error, InputError) or sources()):
                raise
            raise InputError("a run", f"failed: {describe_error(error)}") from error


def _summarize(result: Result, name: str, switching_cost: float) -> Summary:
    more = result.difference(name, result.learners[0], switching_cost=switching_cost)
    place = result.learners.index(name)
    return {
        "regret": estimate(result.regret(name, switching_cost=switching_cost)[:, -1]),
        "more_regret_than_first": more.at(-1),
        "switches": estimate(result.switches[:, place, -1].astype(float)),
        "share_of_optimum": estimate(result.share(name)[:, -1]),
    }


def _as_json(summaries: Mapping[str, Summary]) -> str:
    rows = []
    for learner, summary in summaries.items():
        row: dict[str, str | float | None] = {"learner": learner}
        for measure, (mean, half_width) in summary.items():
            row[measure] = float(mean)
            # A single run has no interval.
            row[f"{measure}_half_width"] = None if math.isnan(half_width) else float(half_width)
        rows.append(row)
    return json.dumps(rows, indent=2, allow_nan=False)


def _print_table(
    summaries: Mapping[str, Summary],
    horizon: int,
    runs: int,
    switching_cost: float,
    slow_rewards: str | None,
) -> None:
    console = Console(highlight=False, markup=False)
    cost = f", switching cost {switching_cost:g}" if switching_cost else ""
    many = "1 run" if runs == 1 else f"{runs:,} runs"
    console.print(f"{many} of {horizon:,} rounds{cost}; means with 95 % intervals")
    first = next(iter(summaries))
    console.print(f"regret against ghost; more: regret beyond that of {visible(first)}, paired")
    if slow_rewards is not None:
        console.print(
            f"rewards {visible(slow_rewards)} are drawn one by one: a block costs all its pulls"
        )
    print_table(
        ("learner", "regret", "more", "switches", "of optimum"),
        [
            (
                learner,
                f"{summary['regret']}",
                f"{summary['more_regret_than_first']}",
                f"{summary['switches']}",
                f"{summary['share_of_optimum']:.1%}",
            )
            for learner, summary in summaries.items()
        ],
    )


def _files(
    result: Result, summaries: Mapping[str, Summary], switching_cost: float, title: str
) -> Mapping[str, Callable[[], bytes]]:
    """Return how each file is made, by its name."""

    def curves(kind: str) -> bytes:
        from fallow.drawing.figures import Panel, curve_figure, image

        estimates = {
            name: estimate(result.regret(name, switching_cost=switching_cost))
            for name in result.learners
        }
        panel = Panel(f"switching cost {switching_cost:g}", result.rounds, estimates)
        label = "regret against ghost"
        return image(lambda: curve_figure([panel], title, "round t", label), kind)

    return {
        "rows.parquet": lambda: parquet(result.frame()),
        "summary.json": lambda: _as_json(summaries).encode(),
        "regret.png": lambda: curves("png"),
        "regret.svg": lambda: curves("svg"),
    }


def _whole(option: str, text: str) -> int:
    """Read 1000000 or 1e6."""
    try:
        number = Decimal(text)
        whole = int(number) if abs(number) < 10**18 and number == int(number) else None
    except (InvalidOperation, ValueError, OverflowError):
        whole = None
    if whole is None or whole < 1:
        raise InputError(option, "must be a whole number >= 1 such as 1e6", f"{text!r}")
    return whole
