"""How much memory does it take to read a long log?"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars

from benchmarks.section import Section

PIECES, PIECE = 10, 1_000_000
USERS, ARMS = 100_000, 100
YEAR = 365 * 24 * 3600 * 1_000_000
READ = """
import json, sys, time
import fallow
path, clock = sys.argv[1:]
start = time.perf_counter()
log = fallow.Log.read(path, user="user", time="time", arm="arm", reward="reward", clock=clock)
elapsed = time.perf_counter() - start
peak = int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) / 1e6
print(json.dumps([log.plays, elapsed, peak]))
"""


def measure() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        log = write_log(Path(folder))
        size = log.stat().st_size / 1e6
        rows = []
        for clock in ("rounds", "time"):
            command = [sys.executable, "-c", READ, str(log), clock]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            plays, elapsed, peak = json.loads(done.stdout)
            rows.append((f"{plays:,}", clock, "under 1 GB", f"{peak:.2f} GB", f"{elapsed:.1f} s"))
    return Section(
        "Reading a long log",
        ("plays", "clock", "Reach", "peak memory of the process", "seconds"),
        rows,
        f"`Log.read` of a Parquet file of {size:.0f} MB whose rows are in no order: {USERS:,} "
        f"users and {ARMS} arms as text, datetimes, rewards 0 and 1. Each is a process of its own, "
        "and its peak holds the interpreter and all libraries.",
    )


def write_log(folder: Path) -> Path:
    """Write a log in pieces, so that it is never in memory, and put them together."""
    generator = np.random.default_rng(0)
    users = polars.Series([f"user-{number * 79}" for number in range(USERS)])
    arms = polars.Series([f"song-{arm}" for arm in range(ARMS)])
    for piece in range(PIECES):
        polars.DataFrame(
            {
                "user": users[generator.integers(USERS, size=PIECE)],
                "time": generator.integers(YEAR, size=PIECE),
                "arm": arms[generator.integers(ARMS, size=PIECE)],
                "reward": generator.integers(2, size=PIECE),
            }
        ).with_columns(polars.col("time").cast(polars.Datetime("us"))).write_parquet(
            folder / f"piece-{piece}.parquet"
        )
    log = folder / "plays.parquet"
    polars.scan_parquet(folder / "piece-*.parquet").sink_parquet(log)
    return log
