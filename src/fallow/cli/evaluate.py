"""`fallow evaluate`: what a cycle would have earned, told from a log."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fallow import Log
from fallow.cli.app import app, user_mistakes
from fallow.cli.arm_files import read_arms
from fallow.cli.logs import (
    ArmOption,
    ArmsOption,
    ClockOption,
    FromStartOption,
    LogArgument,
    MaxDelayOption,
    PropensitiesOption,
    PropensityOption,
    RandomOption,
    RewardOption,
    RoundLengthOption,
    ScaleOption,
    TimeOption,
    UserOption,
    document,
    number,
    options_named,
    read_log,
    value_document,
)
from fallow.cli.tables import print_table
from fallow.cli.terminal import print_error, print_line
from fallow.errors import InputError
from fallow.files import parse_json, read_whole
from fallow.logs import CannotSay, Value, value
from fallow.logs.sentences import gain_in_words, round_in_words
from fallow.planners.past_pulls import arm_named
from fallow.text import span_in_words


@app.command("evaluate")
def evaluate_command(
    log: LogArgument,
    plan: Annotated[
        str,
        typer.Argument(
            help="A cycle: arms separated by commas, a file with one arm a line, or as a file the "
            "JSON of `fallow fit --json`, or of `fallow plan --json`, whose best plan is taken.",
            metavar="PLAN",
        ),
    ],
    user: UserOption = "user",
    time: TimeOption = "time",
    arm: ArmOption = "arm",
    reward: RewardOption = "reward",
    propensity: PropensityOption = None,
    propensities: PropensitiesOption = None,
    arms: ArmsOption = None,
    max_delay: MaxDelayOption = None,
    clock: ClockOption = "rounds",
    scale: ScaleOption = None,
    from_start: FromStartOption = False,
    random: RandomOption = False,
    round_length: RoundLengthOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what a cycle would have earned per round, and against what the log earned.

    Where the log cannot say, the reason goes to standard error and the exit code is 1; with --json
    it is in the document, as cannot_say.
    """
    with user_mistakes():
        length = number("--round-length", round_length, clock)
        columns = {"user": user, "time": time, "arm": arm, "reward": reward}
        with Console(stderr=True).status("reading the log") as status:
            plays = read_log(
                log,
                columns,
                propensity,
                propensities,
                max_delay,
                clock,
                arms,
                scale,
                from_start,
                random,
            )
            cycle = _cycle(plan, {name: place for place, name in enumerate(plays.names)})
            status.update("valuing the cycle (a first run also compiles)")
            try:
                with options_named():
                    found: Value | CannotSay = value(plays, cycle, round_length=length)
            except CannotSay as reason:
                found = reason
        if as_json:
            names = [plays.names[each] for each in cycle]
            told = document({"cycle": names, **value_document(found)})
            print(json.dumps(told, indent=2, allow_nan=False))
        elif isinstance(found, CannotSay):
            print_error(f"the log cannot say: {found}")
        else:
            _print_value(found, plays, length)
        if isinstance(found, CannotSay):
            raise typer.Exit(1)


def _cycle(plan: str, arms: Mapping[str, int]) -> list[int]:
    """Return the arms of a cycle in a file, or separated by commas."""
    if not os.path.isfile(plan):
        where = "PLAN is no file, so each part of it"
        return [arm_named(where, name.strip(), arms) for name in plan.split(",")]
    if plan.endswith(".json"):
        return _best_plan(Path(plan), arms)
    cycle = [arm for arm in read_arms(plan, arms) if arm is not None]
    if not cycle:
        raise InputError(f"{plan}", "must have at least one arm", "none")
    return cycle


def _best_plan(path: Path, arms: Mapping[str, int]) -> list[int]:
    """Return the plan of `fallow fit --json`, or the one with the best gain of `fallow plan`."""
    rule = "must be JSON of `fallow plan --json` or `fallow fit --json`"
    try:
        content = parse_json(read_whole(path))
    except InputError as error:
        raise InputError(str(path), f"{rule}: {error}") from None
    try:
        plans = [content["plan"]] if "plan" in content else content["plans"]
        names = list(max(plans, key=lambda each: each["gain"])["names"])
    except (ValueError, LookupError, TypeError):
        names = []
    if not names:
        raise InputError(str(path), rule, "JSON without a plan")
    return [arm_named(f"{path}: a name", name, arms) for name in names]


def _print_value(found: Value, log: Log, round_length: float | None) -> None:
    print_line(f"{found.mean:.3f} ({found.low:.3f} to {found.high:.3f}) per round, 95 % interval")
    print_line(gain_in_words(found))
    if log.clock == "time":
        print_line(round_in_words(log, round_length))
    print()
    rows = [
        (
            cell.arm,
            "rested" if cell.delay == log.spans[-1] else span_in_words(cell.delay, log.unit),
            f"{cell.share:.1%}",
            f"{cell.rows:,}",
            f"{cell.effective:,.0f}",
        )
        for cell in found.support
    ]
    print_table(("arm", "after", "share of the cycle", "rows", "effective"), rows)
