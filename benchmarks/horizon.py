"""How does the cost of a run grow with the horizon, learner by learner?"""

import math
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np

import fallow
from benchmarks.minimal import minimal_ucb1
from benchmarks.pictures import Axes, log_log
from benchmarks.ratios import Ratio, in_turns
from benchmarks.section import Section
from fallow.learners.named import LEARNERS, build_learner

POWERS = range(3, 16)
SHOWN = (3, 6, 9, 12, 15)
LIMIT = 1.0
"""Seconds that a run may be expected to take."""
BASELINE_ROUNDS = 10**6


def measure() -> Section:
    rows = []
    curves = {}
    for name in LEARNERS:
        print(f"  {name}", flush=True)
        times, growth = _times(name)
        slope = _slope(times)
        curves[name] = ([10**power for power in times], list(times.values()))
        rows.append(
            (
                f"`{name}`",
                f"{_kind(slope)} ({slope:.2f})",
                *(_cell(power, times, slope) for power in SHOWN),
                f"10^{max(times)}: {growth}",
            )
        )
    shown = [f"T = 10^{power}" for power in SHOWN]
    last = "times as fast at 10^3 as at the longest"
    return Section(
        "Cost against the horizon",
        ("learner", "growth", *shown, last),
        rows,
        "Time of one run on Figure 2's family, seed 3, medians of 5, with checkpoints=[T] and the "
        "learners told what they may know. The number is the exponent of T from 10^5 (or two "
        f"horizons before the longest) on: below 0.1 flat, above 0.8 linear. A run that would take "
        f"more than {LIMIT:g} s was not made; *in italics* what it would take.",
        pictures={
            "horizon.svg": log_log(
                [Axes("Figure 2's family, k = 7", "T", "seconds a run", curves)], list(curves)
            )
        },
    )


def measure_speed() -> Section:
    instance = fallow.catalog.figure2(seed=3)
    baseline = f"{BASELINE_ROUNDS:,} rounds of UCB1 in a numba loop"
    works: dict[str, Callable[[], object]] = {
        baseline: lambda: minimal_ucb1(instance.means, BASELINE_ROUNDS, np.random.default_rng(0))
    }
    works |= {name: partial(_run, name, 10**4) for name in LEARNERS}
    times = in_turns(works, repeats=9)
    ratios = [
        Ratio.of(f"learners: {name}, T = 10^4, against {baseline}", times[baseline], times[name])
        for name in LEARNERS
    ]
    rows = [
        (f"`{name}`", f"{1000 * median(times[name]):.3g} ms", str(ratio))
        for name, ratio in zip(LEARNERS, ratios, strict=True)
    ]
    return Section(
        "Cost of 10^4 rounds, learner by learner",
        ("learner", "a run", "times as fast as the numba loop"),
        rows,
        f"As above; the numba loop plays {baseline.partition(' in')[0]} (`minimal_ucb1`), in "
        f"{1000 * median(times[baseline]):.3g} ms.",
        ratios,
    )


def _run(name: str, horizon: int) -> None:
    instance = fallow.catalog.figure2(seed=3)
    learner = build_learner(name, instance, horizon, 0)
    fallow.simulate(instance, learner, horizon, 0, checkpoints=[horizon])


def _times(name: str) -> tuple[dict[int, float], Ratio]:
    """Return the time of a run by the power of its horizon, and the last against the first."""
    times: dict[int, float] = {}
    for power in POWERS:
        works = {"short": partial(_run, name, 10**3), "long": partial(_run, name, 10**power)}
        taken = in_turns(works)
        times[power] = median(taken["long"])
        growth = Ratio.of(name, taken["long"], taken["short"])
        grown = times[power] / times.get(power - 1, times[power])
        if times[power] * max(grown, 1) > LIMIT:
            break
    return times, growth


def _slope(times: dict[int, float]) -> float:
    """Return the exponent of the horizon over the longer horizons."""
    first, last = min(5, max(times) - 2), max(times)
    first = max(first, min(times))
    return math.log10(times[last] / times[first]) / (last - first)


def _kind(slope: float) -> str:
    if slope > 0.8:
        return "linear"
    return "flat" if slope < 0.1 else "in between"


def _cell(power: int, times: dict[int, float], slope: float) -> str:
    if power in times:
        return _duration(times[power])
    last = max(times)
    return f"*{_duration(times[last] * 10 ** (slope * (power - last)))}*"


def _duration(seconds: float) -> str:
    units = (("years", 3.156e7), ("days", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))
    for unit, size in units:
        if seconds >= size:
            return (
                f"{seconds / size:,.2g} {unit}"
                if seconds < 100 * size
                else (f"{seconds / size:,.0f} {unit}")
            )
    return f"{1000 * seconds:.2g} ms"
