"""How fast and how good is `whittle` with a thousand arms?"""

from itertools import cycle

import numpy as np

import fallow
from benchmarks.ratios import Ratio, in_turns, spread
from benchmarks.section import Section
from fallow.arrays import FloatArray
from fallow.kernels.indices import whittle_indices


def measure() -> Section:
    draws = [
        family(arms=1000, max_delay=100, seed=seed)
        for family in (
            fallow.catalog.random_geometric,
            fallow.catalog.random_power,
            fallow.catalog.random_table,
        )
        for seed in range(5)
    ]
    shares = [fallow.planners.whittle(instance).certificate for instance in draws]
    rounds = 256 * 101
    turns = cycle(draws)  # a bound asked for twice in a row is remembered
    times = in_turns(
        {
            "whittle": lambda: fallow.planners.whittle(draws[0]),
            "loop": lambda: numpy_loop(whittle_indices(draws[0].means), draws[0].means, rounds),
            "bound": lambda: fallow.upper_bound(next(turns), effort=0),
            "sort": lambda: np.sort(draws[0].means, axis=0),
        }
    )
    against_loop = Ratio.of(times["loop"], times["whittle"])
    against_sort = Ratio.of(times["sort"], times["bound"])
    rows = [
        ("`whittle`, time", "under 0.5 s", spread(times["whittle"])),
        ("`whittle`, times as fast as a numpy loop of as many rounds", "", str(against_loop)),
        ("`whittle`, least share of the upper bound", "at least 0.99", f"{min(shares):.4f}"),
        ("`whittle`, mean share of the upper bound", "", f"{np.mean(shares):.4f}"),
        ("`upper_bound`, time", "", spread(times["bound"])),
        ("`upper_bound`, times as fast as `np.sort` of the means", "", str(against_sort)),
    ]
    return Section(
        "A thousand arms, delays up to 100",
        ("Work", "Reach", "Measured"),
        rows,
        "Shares over 15 draws: seeds 0 to 4 of random_geometric, random_power and random_table.",
    )


def numpy_loop(indices: FloatArray, means: FloatArray, rounds: int) -> float:
    """Follow an index for some rounds, one numpy expression a step, and return the gain."""
    arms, rested = means.shape
    rows = np.arange(arms)
    delays = np.full(arms, rested)
    earned = 0.0
    for _ in range(rounds):
        best = indices[rows, delays - 1].argmax()
        earned += means[best, delays[best] - 1]
        delays = np.minimum(delays + 1, rested)
        delays[best] = 1
    return earned / rounds
