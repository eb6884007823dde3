"""Measure the ratios again, and report those that fell by more than 30 %."""

import sys
from collections.abc import Callable

from benchmarks.questions import CHECKED
from benchmarks.ratios import LIMIT, Ratio, load, regressed
from benchmarks.section import Section


def measured(question: Callable[[], Section]) -> dict[str, Ratio]:
    """Return the ratios of a question, by name."""
    print(f"{question.__module__}.{question.__name__} ...", file=sys.stderr, flush=True)
    return {ratio.name: ratio for ratio in question().ratios}


def table(stored: dict[str, Ratio], now: dict[str, Ratio]) -> str:
    """Write what was stored beside what was measured."""
    width = max(map(len, [*stored, *now]))
    lines = [f"{'times as fast':{width}}  {'stored':>9}  {'now':>9}  change"]
    for name in sorted({*stored, *now}):
        before, after = stored.get(name), now.get(name)
        cells = [f"{ratio.median:9.3g}" if ratio else f"{'-':>9}" for ratio in (before, after)]
        change = f"{after.median / before.median - 1:+.0%}" if before and after else "-"
        lines.append(f"{name:{width}}  {cells[0]}  {cells[1]}  {change}")
    return "\n".join(lines)


def main() -> int:
    stored = load()
    now: dict[str, Ratio] = {}
    for question in CHECKED:
        found = measured(question)
        if regressed({name: stored[name] for name in found if name in stored}, found):
            # Once more, so that a moment's load on the machine raises no alarm.
            for name, ratio in measured(question).items():
                found[name] = max(ratio, found[name], key=lambda one: one.median)
        now |= found
    print(table(stored, now))
    worse = regressed(stored, now)
    for name in worse:
        print(f"more than {LIMIT:.0%} slower against its baseline, or not measured: {name}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
