"""Simulate a range of seeds: `python -m simulation FIRST COUNT`, from the folder of tests."""

from __future__ import annotations

import sys
import time

from simulation.oracle import BrokenError
from simulation.world import World


def main(first: int, count: int) -> int:
    """Play seeds, print those that fail, and how much was simulated; return how many failed."""
    begun = time.perf_counter()
    failed = days = requests = events = 0.0
    for seed in range(first, first + count):
        world = World(seed)
        try:
            world.run()
        except BrokenError as broken:
            failed += 1
            print(f"seed {seed}: {broken}", flush=True)
        days += world.scheduler.now / 86_400
        requests += world.requests
        events += world.events
    minutes = max(time.perf_counter() - begun, 1e-9) / 60
    print(
        f"{count:,} seeds, {failed:.0f} failed; {requests:,.0f} requests, {events:,.0f} events; "
        f"{days:.2f} simulated days, {days / minutes:.2f} a minute"
    )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])) > 0)
