"""`fallow fit`: what a log tells, and the instance that fits it."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from fallow import Log, Plan, checks, plan
from fallow.cli.app import app, user_mistakes
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
from fallow.errors import InputError
from fallow.extras import check_extras
from fallow.files import write_whole
from fallow.logs import CannotSay, Fit, Value, fit, plan_and_value, rest_matters
from fallow.logs.report import Findings, report_page
from fallow.logs.sentences import (
    caution_in_words,
    doubt_in_words,
    drop_in_words,
    gain_in_words,
    is_sure,
    round_in_words,
    rows_in_words,
    scale_in_words,
    time_in_words,
    verdict_in_words,
)
from fallow.text import counted, span_in_words, visible

PICTURES = ("svg", "png", "pdf")
MOST_ARMS = 30
"""Arms in the table; those that wear out most."""
LONGEST_CYCLE_SHOWN = 24


@app.command("fit")
def fit_command(
    log: LogArgument,
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
    save: Annotated[
        Path | None, typer.Option(help="Write the instance to this .toml file.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw each arm's recovery: an .svg, .png or .pdf.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a page for people who decide: an .html file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Say what wears out by a log, for how long, how sure that is, and what a plan would earn.

    Where standard output is no terminal, the fitted instance goes there as TOML, and the text to
    standard error, so that `fallow fit LOG | fallow plan -` plans it.
    """
    with user_mistakes():
        _check_file("--save", save, ("toml",))
        _check_file("--plot", plot, PICTURES)
        _check_file("--report", report, ("html",))
        if plot is not None:
            check_extras("fit --plot", "matplotlib")
        length = number("--round-length", round_length, clock)
        with Console(stderr=True).status("reading the log") as status:
            columns = {"user": user, "time": time, "arm": arm, "reward": reward}
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
            status.update("fitting (a first run also compiles)")
            with options_named():
                fitted = fit(plays, length)
            verdict = rest_matters(plays)
            status.update("planning, and valuing the plan")
            planned, value = _plan(plays, fitted, length)
            found = Findings(plays, verdict, fitted, planned, value, length)
        if save is not None:
            found.fit.instance.save(save)
        if plot is not None:
            from fallow.drawing.figures import image

            write_whole(plot, image(found.fit.plot, plot.suffix.removeprefix(".")))
        if report is not None:
            write_whole(report, report_page(found, log.name).encode())
        if as_json:
            print(json.dumps(_document(found), indent=2, allow_nan=False))
            return
        in_terminal = sys.stdout.isatty()
        console = Console(stderr=not in_terminal, highlight=False)
        for line in _lines(found):
            console.print(Text(visible(line)))
        _print_arms(console, found)
        for path in (save, plot, report):
            if path is not None:
                console.print(Text(visible(f"{path} written")))
        if not in_terminal:
            print(found.fit.instance.to_toml(), end="")


def _check_file(option: str, path: Path | None, kinds: tuple[str, ...]) -> None:
    """Refuse a file that cannot be written before the work, not after it."""
    if path is not None:
        checks.one_of(f"the ending of {option}", path.suffix.removeprefix("."), kinds)
        if not path.parent.is_dir():
            raise InputError(option, "must be in a folder that exists", f"{path}")


def _plan(log: Log, fitted: Fit, round_length: float | None) -> tuple[Plan, Value | CannotSay]:
    """Return a plan and what it is worth, or why that cannot be said."""
    try:
        value = plan_and_value(log, round_length=round_length)
    except CannotSay as reason:
        return plan(fitted.instance), reason
    assert value.plan is not None
    return value.plan, value


def _lines(found: Findings) -> Iterator[str]:
    """Return what is said before the table."""
    for doubt in filter(None, [doubt_in_words(found.log)]):
        yield doubt.replace("user, time and arm", "--user, --time and --arm")
    yield from rows_in_words(found.log)
    yield from filter(None, [scale_in_words(found.log)])
    yield ""
    yield verdict_in_words(found.verdict, found.log.unit)
    yield ""
    value = found.value
    if isinstance(value, CannotSay):
        yield f"What a plan would earn cannot be said: {value}"
    else:
        yield (
            f"A plan would earn {value.mean:.3f} ({value.low:.3f} to {value.high:.3f}) per round: "
            f"{gain_in_words(value)}."
        )
    yield from filter(None, [caution_in_words(value)])
    cycle = found.plan.cycle
    shown = ", ".join(_quoted(found.log.names[arm]) for arm in cycle[:LONGEST_CYCLE_SHOWN])
    more = ", ..." if len(cycle) > LONGEST_CYCLE_SHOWN else ""
    how_often = f", {found.pace}" if found.pace else ""
    yield f"It repeats {shown}{more} ({counted(len(cycle), 'play')}{how_often})."
    if found.log.clock == "time":
        another = "" if found.round_length else " --round-length sets another."
        yield f"{round_in_words(found.log, found.round_length)}{another}"
    yield ""


def _quoted(name: str) -> str:
    return f'"{name}"' if "," in name else name


def _print_arms(console: Console, found: Findings) -> None:
    unit = found.log.unit
    arms = found.arms()
    rows = []
    for recovery, verdict, plays in arms[:MOST_ARMS]:
        times = ["-", "-"]
        if is_sure(recovery.drop):
            spans = (recovery.half_life, recovery.recovered)
            times = [time_in_words(span, unit, brief=True) for span in spans]
        told = [drop_in_words(recovery.drop), *times]
        narrow = (text.replace(" to ", "\N{EN DASH}") for text in told)
        level = f"{recovery.level.value:.3f}"
        rows.append((recovery.name, level, *narrow, f"{plays:,}", verdict))
    headers = ("arm", "rested", "drop", "half-life", "90 % back", "plays", "verdict")
    print_table(headers, rows, texts=("verdict",), console=console)
    if len(arms) > MOST_ARMS:
        console.print(f"{len(arms) - MOST_ARMS:,} arms with smaller drops are not shown")
    first = span_in_words(found.fit.spans[0], unit)
    until = "time" if unit == "seconds" else unit
    console.print(f"drop: missing {first} after a play; half-life, 90 % back: {until} to recover")
    if found.log.propensity is None:
        console.print("verdicts by arm need propensities; that on the whole log does not")


def _document(found: Findings) -> Any:
    log, planned = found.log, found.plan
    return document(
        {
            **vars(found.verdict),
            "unit": log.unit,
            "round_length": log.pace if found.round_length is None else found.round_length,
            "counts": log.counts,
            "recovery": [{**arm.recovery._asdict(), "plays": arm.plays} for arm in found.arms()],
            "table": found.fit.table.to_dicts(),
            "plan": vars(planned),
            "value": value_document(found.value),
        }
    )
