"""The command line: parse, call, print."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fractions import Fraction
from importlib.metadata import version
from itertools import cycle as repeated
from itertools import islice
from pathlib import Path
from string import ascii_letters, digits
from typing import Annotated, get_type_hints

try:
    import typer
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
except ModuleNotFoundError as error:
    sys.exit(f"fallow: the command line needs {error.name}: pip install 'fallow[cli]'")

import fallow
from fallow import Instance, Plan, catalog, checks
from fallow.planners.default import HEURISTICS, MAX_STATES
from fallow.planners.optimal import reachable_states

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

METHODS = (*HEURISTICS, "improved", "optimal")
SYMBOLS = digits + ascii_letters
# Okabe and Ito's colours, which stay distinct for colour-blind readers.
COLOURS = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#999999")
LONGEST_CYCLE_SHOWN = 24

InstanceArgument = Annotated[
    str, typer.Argument(help="A name from `fallow catalog`, or a TOML file.", metavar="INSTANCE")
]
ParametersArgument = Annotated[
    list[str] | None,
    typer.Argument(help="Parameters of a catalog name, such as seed=3.", metavar="[KEY=VALUE]..."),
]


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"fallow {version('fallow')}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Plan decisions that wear out with use and recover with rest."""


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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Plan an instance with every planner and compare them."""
    with _user_mistakes():
        model = _instance(instance, parameters or [])
        checks.whole_number("--max-states", max_states, minimum=0)
        if method is not None:
            checks.one_of("--method", method, METHODS)
        plans = _plans(model, [method] if method else METHODS, max_states)
    rows = _rows(model, plans)
    if as_json:
        _print_json(model, rows)
    else:
        _print_comparison(model, rows, max_states)


@app.command("catalog")
def catalog_command(
    name: Annotated[str | None, typer.Argument(help="Print this instance as TOML.")] = None,
    parameters: ParametersArgument = None,
    output: Annotated[Path | None, typer.Option(help="Write the TOML to this new file.")] = None,
) -> None:
    """List the built-in instances, or write one as TOML."""
    if name is None:
        _print_catalog()
        return
    with _user_mistakes():
        model = _catalog_instance(name, parameters or [])
        if output is None:
            print(model.to_toml(), end="")
        elif output.exists():
            raise ValueError(f"--output must be a new file, got {output}, which exists")
        else:
            model.save(output)
            print(f"{name} written to {output}")


@contextmanager
def _user_mistakes() -> Iterator[None]:
    """Print errors that the user can mend in one line, without a traceback."""
    try:
        yield
    except (ValueError, OSError) as error:
        print(f"fallow: {error}", file=sys.stderr)
        raise typer.Exit(2) from None


def _instance(source: str, parameters: Sequence[str]) -> Instance:
    if not source.endswith(".toml") and not Path(source).is_file():
        return _catalog_instance(source, parameters)
    if parameters:
        raise ValueError(f"parameters must follow a catalog name, got {parameters[0]!r} for a file")
    return Instance.load(source)


def _catalog_instance(name: str, parameters: Sequence[str]) -> Instance:
    if name not in catalog.ENTRIES:
        raise ValueError(
            f"{name!r} must be a TOML file or a catalog name; did you mean "
            f"{checks.nearest(name, catalog.ENTRIES)!r}? `fallow catalog` lists the names"
        )
    types = get_type_hints(catalog.ENTRIES[name])
    values = dict(_parsed(parameter, types) for parameter in parameters)
    return catalog.build(name, values)


def _parsed(parameter: str, types: Mapping[str, object]) -> tuple[str, object]:
    """Split key=value and read the value as the type that the catalog's function wants."""
    key, equals, text = parameter.partition("=")
    if not equals:
        raise ValueError(f"a parameter must be KEY=VALUE, got {parameter!r}")
    readers: dict[object, tuple[Callable[[str], object], str]] = {
        int: (int, "a whole number"),
        float: (lambda value: float(Fraction(value)), "a number"),
        tuple[int, ...]: (lambda value: tuple(map(int, value.split(","))), "numbers such as 2,4"),
    }
    # A key that does not exist keeps its text; the catalog refuses it by name.
    read, wanted = readers.get(types.get(key), (str, "text"))
    try:
        return key, read(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{key} must be {wanted}, got {text!r}") from None


def _plans(instance: Instance, methods: Sequence[str], max_states: int) -> dict[str, Plan]:
    """Return the plan of each method, without an optimum that is out of reach."""
    planners: dict[str, Callable[[Instance], Plan]] = {
        **HEURISTICS,
        "improved": lambda model: fallow.plan(model, max_states=0),
        "optimal": lambda model: fallow.optimal(model, max_states),
    }
    # Asked for alone, the optimum fails with an error that says what it needs.
    if len(methods) > 1 and reachable_states(instance) > max_states:
        methods = [method for method in methods if method != "optimal"]
    plans = {}
    with Console(stderr=True).status("planning") as status:
        for method in methods:
            status.update(f"planning: {method} (a first run also compiles)")
            plans[method] = planners[method](instance)
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


def _rows(instance: Instance, plans: Mapping[str, Plan]) -> list[Row]:
    bound = fallow.upper_bound(instance)
    optimum = plans["optimal"].gain if "optimal" in plans else None
    return [
        Row(
            planner=method,
            gain=plan.gain,
            share_of_upper_bound=_share(plan.gain, bound),
            share_of_optimum=None if optimum is None else _share(plan.gain, optimum),
            cycle=plan.cycle,
            names=tuple(instance.names[arm] for arm in plan.cycle),
        )
        for method, plan in plans.items()
    ]


def _share(gain: float, whole: float) -> float:
    return gain / whole if whole > 0 else 1.0


def _print_json(instance: Instance, rows: Sequence[Row]) -> None:
    document = {
        "arms": instance.arms,
        "max_delay": instance.max_delay,
        "reachable_states": reachable_states(instance),
        "upper_bound": fallow.upper_bound(instance),
        "plans": [asdict(row) for row in rows],
    }
    print(json.dumps(document, indent=2))


def _print_comparison(instance: Instance, rows: Sequence[Row], max_states: int) -> None:
    console = Console(highlight=False)
    states = reachable_states(instance)
    console.print(
        f"{instance.arms:,} arms, delays up to {instance.max_delay:,}, "
        f"{states:,} delay vectors, upper bound {fallow.upper_bound(instance):.6f}"
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("planner", no_wrap=True)
    for header in ("gain", "of bound", "of optimum", "length"):
        table.add_column(header, justify="right", no_wrap=True)
    table.add_column("cycle", overflow="fold")
    for row in rows:
        of_optimum = "" if row.share_of_optimum is None else f"{row.share_of_optimum:.2%}"
        shown = " ".join(row.names[:LONGEST_CYCLE_SHOWN])
        table.add_row(
            row.planner,
            f"{row.gain:.6f}",
            f"{row.share_of_upper_bound:.2%}",
            of_optimum,
            f"{len(row.cycle):,}",
            Text(shown + " ..." if len(row.cycle) > LONGEST_CYCLE_SHOWN else shown),
        )
    console.print(table)
    if all(row.planner != "optimal" for row in rows) and states > max_states:
        console.print(f"optimal needs --max-states {states} (now {max_states})")
    console.print("\nThe schedules, one character a round")
    for row in rows:
        console.print(_picture(row, rounds=console.width - 10))
    pulled = sorted({arm for row in rows for arm in row.cycle})
    if any(_symbol(arm) != instance.names[arm] for arm in pulled):
        console.print(_legend(instance, pulled))


def _picture(row: Row, rounds: int) -> Text:
    picture = Text(f"{row.planner:<10}")
    for arm in islice(repeated(row.cycle), rounds):
        picture.append(_symbol(arm), style=_style(arm))
    return picture


def _legend(instance: Instance, arms: Sequence[int]) -> Text:
    legend = Text()
    for arm in arms:
        legend.append(_symbol(arm), style=_style(arm))
        legend.append(f" {instance.names[arm]}  ")
    return legend


def _symbol(arm: int) -> str:
    return SYMBOLS[arm % len(SYMBOLS)]


def _style(arm: int) -> str:
    return f"black on {COLOURS[arm % len(COLOURS)]}"


def _print_catalog() -> None:
    console = Console(highlight=False, soft_wrap=True)
    for name, entry in catalog.ENTRIES.items():
        parameters = inspect.signature(entry).parameters.values()
        defaults = [f"{each.name}={_written(each.default)}" for each in parameters]
        console.print(Text(name, style="bold") + Text(" ".join(["", *defaults])))
        console.print(Text(f"    {inspect.getdoc(entry)}".partition("\n")[0]))


def _written(default: object) -> str:
    """Write a default as it would be typed on the command line."""
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    if isinstance(default, float):
        return str(Fraction(default).limit_denominator(1000))
    return str(default)


if __name__ == "__main__":
    app()
