"""How things are timed together, and the ratios of their times."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

REPEATS = 5
SHORTEST = 0.02
"""Seconds that a measurement should take."""


@dataclass(frozen=True)
class Ratio:
    """How many times as fast as a baseline something is, over pairs timed together.

    Attributes
    ----------
    median, low, high
        Over the pairs; larger is faster.
    """

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, baseline: Sequence[float], times: Sequence[float]) -> "Ratio":
        """Return the ratio of a baseline's times to those taken in turns with it."""
        values = [theirs / ours for theirs, ours in zip(baseline, times, strict=True)]
        return cls(median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{short(self.median)} ({short(self.low)} to {short(self.high)})"


def in_turns(
    works: Mapping[str, Callable[[], object]], repeats: int = REPEATS, warm: bool = False
) -> dict[str, list[float]]:
    """Return the seconds of each piece of work, done in turns so that a drift meets them all.

    Each is done beforehand, which is not counted, unless all is `warm`. Short work is done over and
    over until it can be timed well.
    """
    calls = {name: 1 if warm else _calls(work) for name, work in works.items()}
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            times[name].append(_seconds(work, calls[name]) / calls[name])
    return times


def _calls(work: Callable[[], object]) -> int:
    """Return how many calls take as long as can be timed well."""
    if _seconds(work) > SHORTEST:
        return 1
    return math.ceil(SHORTEST / _seconds(work))


def _seconds(work: Callable[[], object], calls: int = 1) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        work()
    return time.perf_counter() - start


def spread(times: Sequence[float]) -> str:
    """Write the median of some times with their range."""
    return f"{median(times):.3g} s ({min(times):.3g} to {max(times):.3g})"


def duration(seconds: float) -> str:
    """Write a time in the unit that suits it."""
    units = (("years", 3.156e7), ("days", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))
    for unit, size in units:
        if seconds >= size:
            return f"{seconds / size:,.{0 if seconds >= 10 * size else 1}f} {unit}"
    return f"{1000 * seconds:.3g} ms"


def short(value: float) -> str:
    """Write a number with three digits or more."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
