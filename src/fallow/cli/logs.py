"""The options that say how a log is to be read, and reading it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from fallow import Log, checks
from fallow.errors import InputError
from fallow.logs import CannotSay, Value
from fallow.logs.clock import CLOCKS

LogArgument = Annotated[
    Path,
    typer.Argument(
        help="A log, one row a play: .parquet, .csv with a header, .jsonl or .ndjson.",
        metavar="LOG",
    ),
]
UserOption = Annotated[str, typer.Option(help="The column of users.")]
TimeOption = Annotated[str, typer.Option(help="The column of times: numbers or dates.")]
ArmOption = Annotated[str, typer.Option(help="The column of arms, what was played.")]
RewardOption = Annotated[str, typer.Option(help="The column of rewards.")]
PropensityOption = Annotated[
    str | None, typer.Option(help="The column of the chance with which the arm was chosen.")
]
PropensitiesOption = Annotated[
    list[str] | None,
    typer.Option(
        help="The columns of the chances of all arms, in the order of --arms: separated by commas, "
        "or repeat the option; or a single column of lists."
    ),
]
ArmsOption = Annotated[
    list[str] | None,
    typer.Option(
        help="All arms in order, separated by commas, or repeat the option; those played, sorted, "
        "by default."
    ),
]
MaxDelayOption = Annotated[
    str | None,
    typer.Option(
        help="An arm is rested after more than so many rounds; with --clock time, after so much "
        "time, in seconds for dates.",
        metavar="N",
    ),
]
ClockOption = Annotated[
    str, typer.Option(help=f"What counts as delay, one of {', '.join(CLOCKS)}.")
]
ScaleOption = Annotated[
    str | None,
    typer.Option(help="The rewards that stand for 0 and 1, such as 1,5.", metavar="LOW,HIGH"),
]
FromStartOption = Annotated[
    bool, typer.Option("--from-start", help="The log has every play there ever was.")
]
RandomOption = Annotated[
    bool,
    typer.Option(
        "--random",
        help="Arms were drawn at random, with the same chances for all users at all times.",
    ),
]
RoundLengthOption = Annotated[
    str | None,
    typer.Option(
        help="With --clock time: how long a round of the plan lasts, in seconds for dates; the "
        "median time between two plays of a user by default.",
        metavar="N",
    ),
]

OPTIONS = {
    "max_delay": "--max-delay",
    "round_length": "--round-length",
    "random=True": "--random",
    **{
        name: f"--{name}" for name in ("arms", "scale", "effect", "users", "rounds", "runs", "seed")
    },
    **{
        f"the column of {name}": f"--{name}"
        for name in ("user", "time", "arm", "reward", "propensity", "propensities")
    },
}
"""The option for an argument of the library, as its errors name it."""


@contextmanager
def options_named() -> Iterator[None]:
    """Name the option in an error of the library where it names its argument."""
    try:
        yield
    except InputError as error:
        argument, bracket, place = error.argument.partition("[")  # propensities[3]
        if argument not in OPTIONS:
            raise
        option = f"{OPTIONS[argument]}{bracket}{place}"
        raise InputError(option, error.rule, error.value) from error


def read_log(
    path: Path,
    columns: Mapping[str, str],
    propensity: str | None,
    propensities: Sequence[str] | None,
    max_delay: str | None,
    clock: str,
    arms: Sequence[str] | None,
    scale: str | None,
    from_start: bool,
    random: bool,
) -> Log:
    """Return the log in a file, with options as they were typed."""
    if str(path) == "-":
        raise InputError("LOG", "must be a file", "-; write standard input to one first")
    checks.one_of("--clock", clock, CLOCKS)
    chances = _names(propensities)
    with options_named():
        return Log.read(
            path,
            user=columns["user"],
            time=columns["time"],
            arm=columns["arm"],
            reward=columns["reward"],
            propensity=propensity,
            propensities=chances[0] if chances and len(chances) == 1 else chances,
            max_delay=number("--max-delay", max_delay, clock),
            clock=clock,
            arms=_names(arms),
            scale=None if scale is None else _ends(scale),
            from_start=from_start,
            random=random,
        )


def _names(given: Sequence[str] | None) -> Sequence[str] | None:
    """Return names of an option that was repeated, or else separated by commas."""
    return given[0].split(",") if given and len(given) == 1 else given or None


def number(option: str, text: str | None, clock: str) -> float | None:
    """Return a number of rounds or of a unit of time, as it was typed."""
    if text is None:
        return None
    try:
        given = float(text)
    except ValueError:
        unit = "rounds" if clock == "rounds" else "seconds if times are dates, else of their unit"
        raise InputError(option, f"must be a number of {unit}", f"{text!r}") from None
    return int(given) if given.is_integer() else given


def _ends(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise InputError("--scale", "must be two numbers such as 1,5", f"{text!r}") from None
    return low, high


def value_document(value: Value | CannotSay) -> Any:
    """Return a value, or why there is none, as values of JSON."""
    if isinstance(value, CannotSay):
        reason = {"cannot_say": str(value), "cells": value.cells}
        return document({**reason, "low": value.low, "high": value.high})
    return document({name: each for name, each in vars(value).items() if name != "plan"})


def document(found: Any) -> Any:
    """Return what was found as values of JSON; numbers that are not finite become null."""
    if isinstance(found, float):
        return found if math.isfinite(found) else None
    if hasattr(found, "_asdict"):
        found = found._asdict()
    if isinstance(found, dict):
        return {name: document(each) for name, each in found.items()}
    return [document(each) for each in found] if isinstance(found, list | tuple) else found
