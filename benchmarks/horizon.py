"""How does the cost of a run grow with the horizon, learner by learner?"""

import math
from functools import partial
from statistics import median

import fallow
from benchmarks.pictures import Axes, log_log
from benchmarks.ratios import Ratio, duration, in_turns
from benchmarks.section import Section
from fallow.learners.registry import LEARNERS, learner_factory

POWERS = range(3, 16)
SHOWN = (3, 6, 9, 12, 15)
STEADY = 5
"""The power of T from which the growth of flat learners is told."""
LIMIT = 1.0
"""Seconds that a run may take."""


def measure() -> Section:
    rows = []
    curves = {}
    for name in LEARNERS:
        print(f"  {name}", flush=True)
        times, growth = _times(name)
        curves[name] = ([10**power for power in times], list(times.values()))
        rows.append(
            (
                f"`{name}`",
                _growth(times),
                *(_cell(power, times) for power in SHOWN),
                f"10^{max(times)}: {growth}",
            )
        )
    shown = [f"T = 10^{power}" for power in SHOWN]
    last = "T = 10^3, times as fast as the longest"
    return Section(
        "Cost against the horizon",
        ("learner", "growth", *shown, last),
        rows,
        "Time of one run on Figure 2's family, seed 3, medians of 5, with checkpoints=[T] and the "
        "learners told what they may know. In brackets is the power of T by which the cost grows, "
        f"from 10^{STEADY} to 10^{POWERS[-1]} or else over the last two horizons: below 0.1 flat, "
        f"above 0.6 linear. Where a run takes more than {LIMIT:g} s, *in italics* is what it would "
        "take, if linear from the last one below.",
        pictures={
            "horizon.svg": log_log(
                [Axes("Figure 2's family, k = 7", "T", "seconds a run", curves)], list(curves)
            )
        },
    )


def _run(name: str, horizon: int) -> None:
    instance = fallow.catalog.figure2(seed=3)
    learner = learner_factory(name, horizon)(instance, 0)
    fallow.simulate(instance, learner, horizon, 0, checkpoints=[horizon])


def _times(name: str) -> tuple[dict[int, float], Ratio]:
    """Return the time of a run by the power of its horizon, and the last against the first."""
    times: dict[int, float] = {}
    for power in POWERS:
        works = {"short": partial(_run, name, 10**3), "long": partial(_run, name, 10**power)}
        taken = in_turns(works)
        times[power] = median(taken["long"])
        growth = Ratio.of(taken["long"], taken["short"])
        grown = times[power] / times.get(power - 1, times[power])
        slow = times[power] * grown > LIMIT and power < POWERS[-1]
        if slow and _once(name, power + 1) > LIMIT:
            break
    return times, growth


def _once(name: str, power: int) -> float:
    """Return the time of a single run; growth so far may have come to its end."""
    work = {name: partial(_run, name, 10**power)}
    return in_turns(work, repeats=1, warm=True)[name][0]


def _exponent(times: dict[int, float]) -> float:
    """Return by what power of T the cost grows, at the end."""
    last = max(times)
    first = last - 1 if last < POWERS[-1] else STEADY
    return math.log10(times[last] / times[first]) / (last - first)


def _growth(times: dict[int, float]) -> str:
    exponent = _exponent(times)
    if exponent < 0.1:
        return f"flat ({exponent:.2f})"
    if exponent < 0.6:
        return f"slow ({exponent:.2f})"
    last = max(times)
    each = (times[last] - times[last - 1]) / (10**last - 10 ** (last - 1))
    pace = f"{1e9 * each:.3g} ns" if each < 1e-6 else f"{1e6 * each:.3g} µs"
    return f"linear ({exponent:.2f}), {pace} a round"


def _cell(power: int, times: dict[int, float]) -> str:
    if power in times:
        return duration(times[power])
    last = max(times)
    return f"*{duration(times[last] * 10 ** (power - last))}*"
