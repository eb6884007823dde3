"""What do very long delays cost?"""

from collections.abc import Callable
from functools import partial

import numpy as np

import fallow
from benchmarks.ratios import Ratio, in_turns, spread
from benchmarks.section import Section
from fallow.arrays import FloatArray

Work = Callable[[FloatArray], object]


def measure() -> Section:
    planned: tuple[tuple[str, Work, str], ...] = (
        ("`plan`", lambda means: fallow.plan(fallow.Instance(means)), "under 5 s"),
        ("`upper_bound`", lambda means: fallow.upper_bound(fallow.Instance(means)), "under 1 s"),
    )
    learned = (("`Rotation`, 100 rounds", _rotate, "under 2 s"),)
    works = {(1, 10**6): planned, (10, 17_000): planned, (1000, 1000): planned}
    rows = []
    for (arms, delay), kinds in (works | {(2, 10_000): learned}).items():
        means = np.sort(np.random.default_rng(1).random((arms, delay + 1)), axis=1)
        shuffled = np.random.default_rng(2).permuted(means, axis=None)
        times = in_turns(
            {
                "sort": partial(np.sort, shuffled, axis=None),
                **{name: partial(work, means) for name, work, _ in kinds},
            }
        )
        for name, _, reach in kinds:
            size = f"k = {arms:,}, D = {delay:,}"
            ratio = Ratio.of(times["sort"], times[name])
            rows.append((name, size, reach, spread(times[name]), str(ratio)))
    return Section(
        "Long delays",
        ("Work", "instance", "Reach", "Measured", "times as fast as `np.sort` of all means"),
        rows,
        "Means drawn uniformly (seed 1) that rise with the delay. Instances are made anew each "
        "time, so that no bound is remembered.",
    )


def _rotate(means: FloatArray) -> None:
    instance = fallow.Instance(means)
    fallow.simulate(instance, fallow.Rotation(instance.arms, instance.max_delay), 100, seed=0)
