"""How does the cost of planning grow with the arms and their delays?"""

from collections.abc import Callable, Mapping
from functools import partial
from statistics import median

import fallow
from benchmarks.index_policy import numpy_loop
from benchmarks.pictures import Axes, log_log
from benchmarks.ratios import Ratio, duration, in_turns
from benchmarks.section import Section
from fallow.planners import HEURISTICS

ARMS = (10, 100, 1_000, 10_000)
DELAYS = (5, 10, 20, 50, 100)
EXACT = ((3, 20), (4, 20), (5, 20), (6, 6), (7, 6), (8, 6))
LIMIT = 3.0
"""Seconds that a call may be expected to take."""
LOOP = 1000
BASELINE = f"{LOOP:,} rounds of a numpy loop"
ROUNDS = 1000


def measure() -> Section:
    by_arms = {arms: (arms, 20) for arms in ARMS}
    by_delay = {delay: (100, delay) for delay in DELAYS}
    rows = []
    panels: tuple[dict[str, tuple[list[int], list[float]]], ...] = ({}, {})
    for name, work in CALLS.items():
        print(f"  {name}", flush=True)
        cells: list[str] = []
        for panel, sizes in zip(panels, (by_arms, by_delay), strict=True):
            times = _growth(work, sizes)
            panel[name] = list(times), [median(each[1]) for each in times.values()]
            cells += [_cell(*times[size]) if size in times else "-" for size in sizes]
        rows.append((f"`{name}`", *cells))
    axes = [
        Axes("largest delay D = 20", "arms k", "seconds a call", panels[0]),
        Axes("arms k = 100", "largest delay D", "seconds a call", panels[1]),
    ]
    return Section(
        "Cost against arms and delays",
        (
            "call",
            *(f"k = {arms:,}, D = 20" for arms in ARMS),
            *(f"k = 100, D = {delay}" for delay in DELAYS),
        ),
        rows,
        f"random_geometric, medians of 5; in brackets, how many times as fast as {BASELINE} that "
        "pulls the arm with the largest mean, at the same size. `plan` is without the exact "
        f"planner; `Rotation` plays {ROUNDS:,} rounds. A dash: a call would take more than "
        f"{LIMIT:g} s.",
        pictures={"size.svg": log_log(axes, list(CALLS))},
    )


def measure_optimal() -> Section:
    rows = []
    for arms, delay in EXACT:
        times = _times(fallow.optimal, arms, delay)
        rows.append((str(arms), str(delay), _cell(*times)))
    return Section(
        "Cost of the exact optimum",
        ("k", "D", "`optimal`"),
        rows,
        "As above. What grows is the number of delay vectors.",
    )


def _rotate(instance: fallow.Instance) -> None:
    learner = fallow.Rotation(instance.arms, instance.max_delay)
    fallow.simulate(instance, learner, ROUNDS, 0, checkpoints=[ROUNDS])


CALLS: Mapping[str, Callable[[fallow.Instance], object]] = {
    "upper_bound(effort=0)": partial(fallow.upper_bound, effort=0),
    **HEURISTICS,
    "plan": partial(fallow.plan, max_states=0),
    "Rotation": _rotate,
}


def _times(
    work: Callable[[fallow.Instance], object], arms: int, delay: int
) -> tuple[list[float], list[float]]:
    """Return the times of the baseline and of the work, means over two instances.

    They take turns, because the bound of the last instance is remembered.
    """
    family = fallow.catalog.random_geometric
    draws = [family(arms=arms, max_delay=delay, seed=seed) for seed in (1, 2)]
    times = in_turns(
        {
            "baseline": lambda: [numpy_loop(draw.means, draw.means, LOOP) for draw in draws],
            "work": lambda: [work(draw) for draw in draws],
        }
    )
    baseline, taken = ([time / len(draws) for time in each] for each in times.values())
    return baseline, taken


def _growth(
    work: Callable[[fallow.Instance], object], sizes: Mapping[int, tuple[int, int]]
) -> dict[int, tuple[list[float], list[float]]]:
    """Return the times by size, up to where a call is expected to pass the limit."""
    times: dict[int, tuple[list[float], list[float]]] = {}
    taken = grown = 0.0
    for size, (arms, delay) in sizes.items():
        times[size] = _times(work, arms, delay)
        before, taken = taken, median(times[size][1])
        grown = taken / before if before else 1.0
        if taken * grown > LIMIT:
            break
    return times


def _cell(baseline: list[float], times: list[float]) -> str:
    return f"{duration(median(times))} ({Ratio.of(baseline, times).median:.2g})"
