"""Plays cases of a fuzzer in this process, with a limit on time and memory."""

import json
import random
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

SECONDS = 2.0
"""Processor time that a case may take."""
MEMORY = 2**30
"""Bytes that all cases together may take beyond what a few took before."""
WARM_UP = 50
"""Cases that are played first, and compile what the others need."""


def main(kind: str, start: int, count: int) -> None:
    """Play so many cases of a kind, and print what they came to, and the faults, as JSON."""
    case = import_module(f"fuzzing.{kind}").case
    warnings.simplefilter("ignore")
    ends: Counter[str] = Counter()
    faults: list[str] = []
    slowest = (0.0, start)
    with tempfile.TemporaryDirectory() as name:
        for number in [*range(-WARM_UP, 0), *range(start, start + count)]:
            if number == start:
                _limit_memory()
                slowest = (0.0, start)
            print(number, file=sys.stderr, flush=True)  # the last one is the one that crashed
            end, seconds = _play(case, number, Path(name))
            if seconds > SECONDS:  # it may have compiled something, which a second time does not
                end, seconds = _play(case, number, Path(name))
            if end not in ("read", "refused"):
                faults.append(f"{kind} {number}: {end}")
                end = "fault"
            slowest = max(slowest, (seconds, number))
            if seconds > SECONDS and number >= start:
                faults.append(f"{kind} {number}: took {seconds:.1f} s")
            ends[end] += number >= start
    print(json.dumps({"ends": ends, "slowest": slowest, "faults": faults}))


def _play(
    case: Callable[[random.Random, Path], str], number: int, folder: Path
) -> tuple[str, float]:
    """Return how a case ends, by its last lines if by an error, and its processor time."""
    began = time.process_time()
    try:
        end = case(random.Random(number), folder)
    except BaseException as error:
        end = "".join(traceback.format_exception(error)[-3:])
    return end, time.process_time() - began


def _limit_memory() -> None:
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
