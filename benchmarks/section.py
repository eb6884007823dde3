"""What a measurement returns, and how things are timed."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

REPEATS = 5


@dataclass(frozen=True)
class Section:
    """A question with its answer: a table and a remark on how it was measured."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    remark: str

    def markdown(self) -> str:
        """Return the section as it stands in docs/benchmarks.md."""
        lines = ["| " + " | ".join(row) + " |" for row in (self.header, *self.rows)]
        lines.insert(1, "|---" * len(self.header) + "|")
        return "\n".join([f"## {self.title}", "", *lines, "", self.remark, ""])


def seconds(work: Callable[[], object], repeats: int = REPEATS) -> list[float]:
    """Return the time of each of several calls, after one that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return times


def spread(times: Sequence[float]) -> str:
    """Write the median of some times with their range."""
    return f"{statistics.median(times):.3g} s ({min(times):.3g} to {max(times):.3g})"


def ratio(slow: Sequence[float], fast: Sequence[float]) -> str:
    """Write how many times faster the second is, by medians."""
    return f"{statistics.median(slow) / statistics.median(fast):.3g} times"
