"""Time the pairs again, and report what became more than 30 % slower against its baseline.

Counted is processor time, so that work which waits for a core does not seem slow. Baseline and work
take turns in slices of a few milliseconds, and the shortest of each counts: other work on the
machine only ever adds. What seems slow is measured again after all others, and longer each time;
it is reported if it seems slow every time.
"""

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.pairs import PAIRS, Pair, Work
from fallow import kernels

STORED = Path(__file__).parent / "ratios.json"
LIMIT = 0.3
"""The share of a ratio that may be lost before it is reported."""
SLICE = 0.002
"""Seconds, at least; short, so that some slices are not disturbed."""
FEWEST = 3
"""Slices of a measurement."""
EFFORTS = (0.3, 0.6, 1.2, 2.4)
"""Seconds for each pair: for all of them, then for those that seem slow until then."""
PASSES = 5
"""How often each pair is measured to be stored; the median is."""


def processor_seconds() -> float:
    """Return the time that processors spent on this process and on those it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def ratio(baseline: Sequence[float], work: Sequence[float]) -> float:
    """Return how many times as fast as its baseline some work is, given the times of slices."""
    return min(baseline) / min(work)


def is_slower(stored: float, found: Sequence[float]) -> bool:
    """Return whether every measurement of a ratio is below the limit."""
    return max(found) < (1 - LIMIT) * stored


def checked(
    stored: Mapping[str, float], measure: Callable[[str, float], float]
) -> dict[str, list[float]]:
    """Measure all ratios once, and those again that seem slow; return them in order."""
    found: dict[str, list[float]] = {name: [] for name in stored}
    suspects = list(stored)
    for seconds in EFFORTS:
        for name in suspects:
            found[name].append(measure(name, seconds))
        suspects = [name for name in suspects if is_slower(stored[name], found[name])]
    return found


def measured(pair: Pair, seconds: float) -> float:
    """Return the ratio of a pair, timed in turns for some seconds, in slices of equal length."""
    works = (pair.baseline, pair.work)
    for work in works:
        work()  # compiles
    once = [_seconds(work, calls=1) for work in works]
    length = max(SLICE, *once)
    calls = [round(length / each) for each in once]
    slices: list[list[float]] = []
    end = processor_seconds() + seconds
    while processor_seconds() < end or len(slices) < FEWEST:
        slices.append([_seconds(*each) for each in zip(works, calls, strict=True)])
    baseline, work_times = zip(*slices, strict=True)
    return ratio(baseline, work_times)


def _seconds(work: Work, calls: int) -> float:
    """Return the processor time of a call, averaged over some."""
    start = processor_seconds()
    for _ in range(calls):
        work()
    return (processor_seconds() - start) / calls


def load() -> dict[str, float]:
    ratios: dict[str, float] = json.loads(STORED.read_text(encoding="utf-8"))
    return ratios


def save(names: Iterable[str]) -> None:
    """Measure some ratios anew and store them, with three digits."""
    passes = [{name: _told(name, EFFORTS[0]) for name in names} for _ in range(PASSES)]
    ratios = {name: ratio for name, ratio in load().items() if name in PAIRS}
    for name in passes[0]:
        ratios[name] = float(f"{median(each[name] for each in passes):.3g}")
    ordered = {name: ratios[name] for name in PAIRS if name in ratios}
    STORED.write_text(json.dumps(ordered, indent=2) + "\n", encoding="utf-8")


def table(stored: Mapping[str, float], found: Mapping[str, Sequence[float]]) -> str:
    """Write what was stored beside the best that was measured."""
    width = max(map(len, found))
    lines = [f"{'times as fast as its baseline':{width}}   stored      now  change  measured"]
    for name, ratios in found.items():
        best = max(ratios)
        change = f"{best / stored[name] - 1:+.0%}"
        times = "once" if len(ratios) == 1 else f"{len(ratios)} times"
        lines.append(f"{name:{width}}  {stored[name]:7.3g}  {best:7.3g}  {change:>6}  {times}")
    return "\n".join(lines)


def _told(name: str, seconds: float) -> float:
    print(f"{name} ...", file=sys.stderr, flush=True)
    return measured(PAIRS[name], seconds)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.check", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of a pair; all if none is given")
    parser.add_argument("--save", action="store_true", help="store what is measured")
    arguments = parser.parse_args()
    names = arguments.names or list(PAIRS)
    for name in names:
        if name not in PAIRS:
            parser.error(f"NAME must be one of {', '.join(PAIRS)}, got {name!r}")
    if arguments.save:
        save(names)
        return 0
    stored = load()
    found = checked({name: stored[name] for name in names}, _told)
    print(table(stored, found))
    slower = [name for name in names if is_slower(stored[name], found[name])]
    for name in slower:
        print(f"more than {LIMIT:.0%} slower against its baseline, each time: {name}")
    return 1 if slower else 0


if __name__ == "__main__":
    kernels.compile_all()  # as a process does that works for more than a moment
    sys.exit(main())
