"""`fallow plan --rounds`: the next rounds from where the user is."""

import csv
import json
import sys
from collections.abc import Iterator

from rich.console import Console

import fallow
from fallow import Instance, Schedule, checks
from fallow.cli.arm_files import read_arms
from fallow.cli.tables import print_table
from fallow.cli.terminal import print_line
from fallow.errors import InputError
from fallow.planners.past_pulls import arms_by_name
from fallow.planners.schedule import MAX_ROUNDS

HEADER = ("round", "arm", "delay", "reward")


def plan_rounds(
    instance: Instance, rounds: int, since: str | None, max_states: int, as_csv: bool, as_json: bool
) -> None:
    """Print the schedule of so many rounds after the pulls in a file, or from rested."""
    checks.whole_number("--rounds", rounds, minimum=1, maximum=MAX_ROUNDS)
    if as_csv and as_json:
        raise InputError("--csv", "must be left out with --json", "both")
    pulls = None if since is None else read_arms(since, arms_by_name(instance))
    with Console(stderr=True).status("planning (a first run also compiles)"):
        found = fallow.schedule(instance, rounds, since=pulls, max_states=max_states)
    if as_csv:
        _print_csv(found)
    elif as_json:
        _print_json(found)
    else:
        _print_rounds(found)


def _lines(schedule: Schedule) -> Iterator[tuple[int, str, int | None, float]]:
    """Return round, name, delay and expected reward of each pull."""
    rounds = range(1, len(schedule.arms) + 1)
    return zip(rounds, schedule.names, schedule.delays, schedule.rewards, strict=True)


def _print_rounds(schedule: Schedule) -> None:
    rows = (
        (f"{place:,}", name, "never" if delay is None else f"{delay:,}", f"{reward:.6f}")
        for place, name, delay, reward in _lines(schedule)
    )
    print_table(HEADER, rows, texts=("arm",))
    print_line(
        f"total {schedule.total:,.6f}, at most {schedule.upper_bound:,.6f} is possible "
        f"({schedule.certificate:.2%}); method: {schedule.method}"
    )


def _print_csv(schedule: Schedule) -> None:
    """Print CSV that can be read again as past pulls."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(_lines(schedule))


def _print_json(schedule: Schedule) -> None:
    document = {
        "total": schedule.total,
        "upper_bound": schedule.upper_bound,
        "certificate": schedule.certificate,
        "method": schedule.method,
        "schedule": [dict(zip(HEADER, line, strict=True)) for line in _lines(schedule)],
    }
    print(json.dumps(document, indent=2))
