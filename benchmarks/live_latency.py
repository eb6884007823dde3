"""How long does anybody wait for the live service, in the worst case?

`python -m benchmarks.live_latency "100 x 30" rules --seconds 4` measures some tables and loads, and
prints a line for each. With another PYTHONPATH it measures that checkout.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.live_load import CAMPAIGN, CLIENTS, WARM_UP_SECONDS, Load, Waits, arm_name
from benchmarks.ratios import short
from benchmarks.section import Section
from benchmarks.servers import Connection, Server, started_echo, started_service

SECONDS = 8.0
USERS, WATCHERS = 200, 20
TABLES = {"7 x 6": (7, 6), "100 x 30": (100, 30), "1,000 x 30": (1000, 30)}
"""Arms and max_delay."""
LOADS = {
    "plain": "no rules",
    "rules": "a cool-down of 2, 2 % explored",
    "caps": "two caps and a deadline, 2 % explored",
    "changes": f"as rules; arms come and go, {WATCHERS} watchers",
    "one user": f"no rules; {CLIENTS} callers for one user",
}
SILENCES = {"100 x 30": 50, "1,000 x 30": 150}
"""The longest silences that are wanted, in milliseconds."""
P99_RATIOS = {"100 x 30": 5}
"""The 99th percentiles of decisions that are wanted, in those of the echo."""
LABELS = {
    "p50": "p50",
    "p99": "p99",
    "p999": "p99.9",
    "longest": "longest",
    "silence": "silence",
    "probe": "healthz",
}
"""What is printed of waits, and how it is called."""


@dataclass(frozen=True)
class Scenario:
    """A table under a load."""

    table: str
    load: str

    def campaign(self) -> dict[str, Any]:
        """Return the settings of its campaign."""
        count, max_delay = TABLES[self.table]
        arms = [arm_name(number) for number in range(count)]
        settings: dict[str, Any] = {"arms": arms, "max_delay": max_delay}
        if self.load in ("rules", "changes"):
            settings |= {"explore": 0.02, "rules": {"cooldowns": 2}}
        if self.load == "caps":
            caps = [
                {"arms": arms[: len(arms) // 2], "pulls": 3, "rounds": 6},
                {"arms": arms[-3:], "pulls": 1, "rounds": 4},
            ]
            rules = {"at_most": caps, "at_least_once": {arms[0]: 10}}
            settings |= {"explore": 0.02, "rules": rules}
        return settings

    def demands(self, seconds: float) -> Load:
        """Return what is asked of the server."""
        if self.load == "changes":
            return Load(seconds, USERS, TABLES[self.table][0], WATCHERS)
        return Load(seconds, 1 if self.load == "one user" else USERS)

    def goals(self) -> str:
        """Return what was set beforehand."""
        goals = []
        if self.table in P99_RATIOS:
            goals.append(f"p99 {P99_RATIOS[self.table]} x")
        if self.table in SILENCES:
            goals.append(f"silence {SILENCES[self.table]} ms")
        return ", ".join(goals)


SCENARIOS = (
    *(Scenario(table, load) for table in TABLES for load in LOADS if load != "one user"),
    Scenario("7 x 6", "one user"),
)


def measured(echo: Server, scenario: Scenario, seconds: float) -> tuple[Waits, Waits]:
    """Return waits for the service and for the echo, one after the other under the same load."""
    with _service(scenario) as service:
        theirs = _waits(echo, scenario.demands(seconds))
        ours = _waits(service, scenario.demands(seconds))
    return ours, theirs


@contextmanager
def _service(scenario: Scenario) -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with started_service(folder, f"sqlite:///{folder}/fallow.db") as server:
            asyncio.run(_prepare(server.port, scenario.campaign()))
            yield server


async def _prepare(port: int, campaign: dict[str, Any]) -> None:
    """Wait until the service has its kernels, which it then plans by; make the campaign."""
    connection = await Connection.open(port)
    tiny = "/v1/campaigns/tiny"
    await connection.ask("PUT", tiny, {"arms": ["hymn", "waltz"], "max_delay": 2})
    while (await connection.ask("GET", tiny))["plan"] is None:
        await asyncio.sleep(0.1)
    await connection.ask("PUT", CAMPAIGN, campaign)
    connection.close()


def _waits(server: Server, load: Load) -> Waits:
    command = [sys.executable, "-m", "benchmarks.live_load", str(server.port)]
    done = subprocess.run(
        [*command, json.dumps(asdict(load))], check=True, stdout=subprocess.PIPE, text=True
    )
    return Waits(**json.loads(done.stdout))


def _warm_up() -> None:
    command = [sys.executable, "-m", "fallow", "warmup"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def measure() -> Section:
    _warm_up()
    rows = []
    with started_echo() as echo:
        for scenario in SCENARIOS:
            ours, theirs = measured(echo, scenario, SECONDS)
            print(_line(scenario, ours, theirs), flush=True)
            cells = (_cell(getattr(ours, name), getattr(theirs, name)) for name in LABELS)
            rows.append((scenario.table, LOADS[scenario.load], scenario.goals(), *cells))
    return Section(
        "The longest waits for the service",
        (
            "Arms x max_delay",
            "Load",
            "Reach",
            "Decisions: p50",
            "p99",
            "p99.9",
            "longest",
            "Longest silence",
            "Longest wait for /healthz",
        ),
        rows,
        f"Milliseconds, and in brackets how many times as long as the echo's: smaller is faster. "
        f"{CLIENTS} clients decide and report in turns, for {USERS} users in rotation, for "
        f"{SECONDS:g} s after {WARM_UP_SECONDS:g} s that are not counted. They are a process of "
        "their own, as are the service with a file of SQLite, the watchers, and the echo, which is "
        "uvicorn as for requests to the service and meets the same load just before. A silence is "
        "a time in which nobody is answered, though someone also asks for /healthz every 5 ms. "
        "With changes an arm comes or goes every 0.5 s.",
    )


def _cell(ours: float, theirs: float) -> str:
    return f"{short(ours)} ({short(ours / theirs)})"


def _line(scenario: Scenario, ours: Waits, theirs: Waits) -> str:
    """Return all that was measured as a line, in milliseconds, with the ratios to the echo."""
    parts = [f"{scenario.table + ', ' + scenario.load + ':':<21}"]
    for name, label in LABELS.items():
        parts.append(f"{label} {_cell(getattr(ours, name), getattr(theirs, name)):<13}")
    parts.append(f"warming {short(ours.first_silence)}, {ours.rate:,.0f}/s of {theirs.rate:,.0f}/s")
    if scenario.load == "changes":
        parts.append(f"arm {short(ours.change)}, {ours.streamed:.1f} MB/s streamed")
    parts.append(
        f"[clients: late {ours.pause:.2g} and {theirs.pause:.2g}, "
        f"busy {ours.busy:.0%} and {theirs.busy:.0%}]"
    )
    if scenario.goals():
        parts.append(f"[goals: {scenario.goals()}]")
    return " ".join(parts)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live_latency", description=__doc__)
    choices = (*TABLES, *LOADS)
    parser.add_argument(
        "choices", nargs="*", metavar="CHOICE", help=f"all if none: {', '.join(choices)}"
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="measured for each")
    options = parser.parse_args(words)
    for choice in options.choices:
        if choice not in choices:
            parser.error(f"CHOICE must be one of {', '.join(choices)}, got {choice!r}")
    tables = [table for table in TABLES if table in options.choices] or TABLES
    loads = [load for load in LOADS if load in options.choices] or LOADS
    package = find_spec("fallow")
    print(f"{package and package.origin}: milliseconds, and how many times the echo's", flush=True)
    start = time.perf_counter()
    _warm_up()
    with started_echo() as echo:
        for scenario in SCENARIOS:
            if scenario.table in tables and scenario.load in loads:
                ours, theirs = measured(echo, scenario, options.seconds)
                print(_line(scenario, ours, theirs), flush=True)
    print(f"({time.perf_counter() - start:.0f} s)")


if __name__ == "__main__":
    main()
