"""`fallow plan`: every planner on one instance."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle as repeated
from itertools import islice
from string import ascii_letters, digits
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import fallow
from fallow import Instance, Plan, checks
from fallow.cli.app import app, user_mistakes
from fallow.cli.instances import InstanceArgument, ParametersArgument, read_instance
from fallow.cli.schedule import plan_rounds
from fallow.drawing.colours import colour_of, ink_on
from fallow.errors import InputError
from fallow.planners import HEURISTICS
from fallow.planners.feasible import StuckError
from fallow.planners.groups import EFFORT
from fallow.planners.optimal import reachable_states, within_reach
from fallow.planners.plan import MAX_STATES
from fallow.text import visible

METHODS = (*HEURISTICS, "improved", "optimal")
SYMBOLS = digits + ascii_letters
LONGEST_CYCLE_SHOWN = 24


@app.command("plan")
def plan_command(
    instance: InstanceArgument,
    parameters: ParametersArgument = None,
    method: Annotated[
        str | None, typer.Option(help=f"Only this planner: {', '.join(METHODS)}.")
    ] = None,
    max_states: Annotated[
        int, typer.Option(help="Find the optimum if at most so many delay vectors can be reached.")
    ] = MAX_STATES,
    effort: Annotated[
        int,
        typer.Option(help="Else take on so many delay vectors to tighten the upper bound."),
    ] = EFFORT,
    rounds: Annotated[
        int | None, typer.Option(help="Plan only the next rounds, so many, and show each of them.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            help="With --rounds: past pulls, a CSV file with one arm a line, oldest first; "
            "- reads standard input. Without, all arms are rested.",
            metavar="FILE",
        ),
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="With --rounds: print CSV.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Plan an instance with every planner and compare them, or plan the next rounds."""
    with user_mistakes():
        if instance == since == "-":
            raise InputError("--since", "must be a file where INSTANCE is -", "- for both")
        model = read_instance(instance, parameters or [])
        checks.whole_number("--max-states", max_states, minimum=0)
        if rounds is not None:
            if method is not None:
                raise InputError("--method", "must be left out with --rounds", f"{method!r}")
            plan_rounds(model, rounds, since, max_states, as_csv, as_json)
            return
        if since is not None or as_csv:
            option = "--csv" if since is None else "--since"
            raise InputError(option, "must come with --rounds", "it without")
        checks.whole_number("--effort", effort, minimum=0)
        if method is not None:
            checks.one_of("--method", method, METHODS)
        plans = _plans(model, [method] if method else METHODS, max_states, effort)
        bound = min(plan.upper_bound for plan in plans.values())
        rows = _rows(model, plans, bound, max_states)
        if as_json:
            _print_json(model, rows, bound)
        else:
            _print_comparison(model, rows, bound, max_states)


def _plans(
    instance: Instance, methods: Sequence[str], max_states: int, effort: int
) -> dict[str, Plan]:
    """Return the plan of each method, without an optimum that is out of reach."""
    planners: dict[str, Callable[[Instance], Plan]] = {
        **HEURISTICS,
        "improved": lambda model: fallow.plan(model, max_states=0, effort=effort),
        "optimal": lambda model: fallow.optimal(model, max_states),
    }
    # Asked for alone, the optimum fails with an error that says what it needs.
    if len(methods) > 1 and not within_reach(instance, max_states):
        methods = [method for method in methods if method != "optimal"]
    plans = {}
    with Console(stderr=True).status("planning") as status:
        for method in methods:
            status.update(f"planning: {method}")
            try:
                plans[method] = planners[method](instance)
            except StuckError:
                if len(methods) == 1:
                    raise
    return plans


@dataclass(frozen=True)
class Row:
    """One line of the comparison."""

    planner: str
    gain: float
    share_of_upper_bound: float
    share_of_optimum: float | None
    cycle: tuple[int, ...]
    names: tuple[str, ...]


def _rows(
    instance: Instance, plans: Mapping[str, Plan], bound: float, max_states: int
) -> list[Row]:
    optimum = None
    if within_reach(instance, max_states):
        optimum = (plans.get("optimal") or fallow.optimal(instance, max_states)).gain
    return [
        Row(
            planner=method,
            gain=plan.gain,
            share_of_upper_bound=_share(plan.gain, bound),
            share_of_optimum=None if optimum is None else _share(plan.gain, optimum),
            cycle=plan.cycle,
            names=plan.names,
        )
        for method, plan in plans.items()
    ]


def _share(gain: float, whole: float) -> float:
    return gain / whole if whole > 0 else 1.0


def _print_json(instance: Instance, rows: Sequence[Row], bound: float) -> None:
    document = {
        "arms": instance.arms,
        "max_delay": instance.max_delay,
        "reachable_states": reachable_states(instance),
        "upper_bound": bound,
        "plans": [asdict(row) for row in rows],
    }
    print(json.dumps(document, indent=2))


def _print_comparison(
    instance: Instance, rows: Sequence[Row], bound: float, max_states: int
) -> None:
    console = Console(highlight=False)
    states = reachable_states(instance)
    console.print(
        f"{instance.arms:,} arms, delays up to {instance.max_delay:,}, "
        f"{checks.count(states)} delay vectors, upper bound {bound:.6f}"
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("planner", no_wrap=True)
    for header in ("gain", "of bound", "of optimum", "length"):
        table.add_column(header, justify="right", no_wrap=True)
    table.add_column("cycle", overflow="fold")
    arms = [visible(name) for name in instance.names]
    separator = ", " if any(" " in name for name in arms) else " "
    for row in rows:
        of_optimum = "" if row.share_of_optimum is None else f"{row.share_of_optimum:.2%}"
        shown = separator.join(arms[arm] for arm in row.cycle[:LONGEST_CYCLE_SHOWN])
        table.add_row(
            row.planner,
            f"{row.gain:.6f}",
            f"{row.share_of_upper_bound:.2%}",
            of_optimum,
            f"{len(row.cycle):,}",
            Text(shown + " ..." if len(row.cycle) > LONGEST_CYCLE_SHOWN else shown),
        )
    console.print(table)
    if not within_reach(instance, states):
        console.print("the optimum is out of reach")
    elif states > max_states:
        console.print(f"the optimum needs --max-states {states} (now {max_states})")
    console.print("\nThe schedules, one character a round")
    pictures = [list(islice(repeated(row.cycle), max(console.width - 10, 10))) for row in rows]
    symbols = _symbols({arm for picture in pictures for arm in picture})
    for row, picture in zip(rows, pictures, strict=True):
        line = Text(f"{row.planner:<10}")
        for arm in picture:
            line.append(symbols[arm], style=_style(arm))
        console.print(line)
    if any(symbol != arms[arm] for arm, symbol in symbols.items()):
        console.print(_legend(arms, symbols))


def _symbols(arms: Collection[int]) -> dict[int, str]:
    """Return a character for each arm, its number where all are small; "+" when none is left."""
    if max(arms) < len(SYMBOLS):
        return {arm: SYMBOLS[arm] for arm in sorted(arms)}
    return dict(zip(sorted(arms), SYMBOLS + "+" * len(arms), strict=False))


def _legend(names: Sequence[str], symbols: Mapping[int, str]) -> Text:
    legend = Text()
    for arm, symbol in symbols.items():
        legend.append(symbol, style=_style(arm))
        legend.append(f" {names[arm]}  ".replace(" ", "\N{NO-BREAK SPACE}")[:-1] + " ")
    return legend


def _style(arm: int) -> str:
    colour = colour_of(arm)
    return f"{ink_on(colour)} on {colour}"
