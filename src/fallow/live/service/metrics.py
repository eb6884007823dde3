"""What the service did, in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

EVENTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)


class Histogram:
    """Counts values by the first edge that they do not exceed."""

    def __init__(self, edges: tuple[float, ...]) -> None:
        self._edges, self._counts, self._sum = edges, [0] * (len(edges) + 1), 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._edges, value)] += 1
        self._sum += value

    def lines(self, name: str) -> list[str]:
        """Return it as text."""
        lines, total = [], 0
        for edge, count in zip((*self._edges, "+Inf"), self._counts, strict=True):
            total += count
            lines.append(f'{name}_bucket{{le="{edge}"}} {total}')
        return [*lines, f"{name}_sum {self._sum:.9g}", f"{name}_count {total}"]


class Metrics:
    """Counts since the start."""

    def __init__(self) -> None:
        self.answers: Counter[tuple[str, int]] = Counter()
        """By what was asked for, and the status of the answer."""
        self._batch, self._seconds = Histogram(EVENTS), Histogram(SECONDS)

    def committed(self, events: int, seconds: float) -> None:
        """Count a transaction."""
        self._batch.add(events)
        self._seconds.add(seconds)

    def text(self, gauges: dict[str, tuple[str, float]]) -> str:
        """Return all counts, and some values of the moment with what they mean."""
        lines = [
            "# HELP fallow_answers_total Answers by call and HTTP status.",
            "# TYPE fallow_answers_total counter",
        ]
        for (call, status), count in sorted(self.answers.items()):
            lines.append(f'fallow_answers_total{{call="{call}",status="{status}"}} {count}')
        for name, histogram, meaning in (
            ("fallow_commit_events", self._batch, "Events in a transaction."),
            ("fallow_commit_seconds", self._seconds, "Time that a transaction takes."),
        ):
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} histogram"]
            lines += histogram.lines(name)
        for name, (meaning, value) in gauges.items():
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} gauge", f"{name} {value:.9g}"]
        return "\n".join(lines) + "\n"
