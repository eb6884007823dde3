"""How large a problem does `optimal` solve, how fast, and is it ever beaten?"""

import json
import subprocess
import sys

import numba
import numpy as np

import fallow
from benchmarks.families import small_instances
from benchmarks.section import Section, ratio, seconds, spread
from fallow.arrays import FloatArray
from fallow.kernels import states
from fallow.planners.optimal import _space

LARGE = """
import json, resource, time, numpy, fallow
fallow.optimal(fallow.catalog.figure2())  # compiles, or loads from the cache
instance = fallow.Instance.b2dep(
    numpy.random.default_rng(1).random(10), [8] * 10, fallow.decay.geometric(0.9)
)
start = time.perf_counter()
plan = fallow.optimal(instance)
elapsed = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(json.dumps([elapsed, peak, plan.residual]))
"""


def measure() -> Section:
    instance = fallow.Instance.b2dep(
        np.random.default_rng(0).random(7), [6] * 7, fallow.decay.geometric(0.9)
    )
    exact = seconds(lambda: fallow.optimal(instance))
    iterated = seconds(lambda: value_iteration(instance, tolerance=1e-3), repeats=3)
    large = subprocess.run(
        [sys.executable, "-c", LARGE], check=True, capture_output=True, text=True
    )
    elapsed, peak, residual = json.loads(large.stdout)
    worst = min(
        fallow.optimal(small).gain - best_of_all_cycles(small.means, longest=8)
        for small in small_instances(500, seed=11, max_arms=4, max_delay=6)
    )
    rows = [
        ("k = 7, all d = 6 (28,357 delay vectors)", "under 0.2 s", spread(exact)),
        ("the same against value iteration to a residual of 1e-3", "", ratio(iterated, exact)),
        ("k = 10, all d = 8 (10,473,760 delay vectors), time", "under 180 s", f"{elapsed:.1f} s"),
        ("the same, peak memory of the process", "under 4 GB", f"{peak:.2f} GB"),
        ("the same, residual", "", f"{residual:.1e}"),
        (
            "least lead over all cycles up to length 8, 500 draws",
            "never below",
            f"{worst:.1e}",
        ),
    ]
    return Section(
        "The exact optimum",
        ("Work", "Reach", "Measured"),
        rows,
        "Decay 0.9^tau. Value iteration runs on the same graph with numpy. The 500 draws have 2 to "
        "4 arms, delays up to 6, and geometric, power, table and blocking decays (seed 11); leads "
        "around 1e-16 are rounding.",
    )


def value_iteration(instance: fallow.Instance, tolerance: float) -> float:
    """Return a gain within the tolerance of the optimum."""
    graph = states.build_graph(
        instance.means, _space(instance.delays), _space(np.maximum(instance.delays - 1, 0))
    )
    rewards = instance.means[np.arange(instance.arms), graph.delays - 1]
    after = graph.successors[graph.aged]
    values = np.zeros(len(rewards))
    while True:
        better = (rewards + values[after]).max(axis=1)
        rises = better - values
        if rises.max() - rises.min() < tolerance:
            return float(rises.max())
        values = (better + values) / 2  # averaging keeps periodic problems from oscillating


@numba.njit(cache=True)
def best_of_all_cycles(means: FloatArray, longest: int) -> float:
    """Return the best gain of all cycles up to a length, each evaluated by playing it."""
    arms, width = means.shape
    best = 0.0
    for length in range(1, longest + 1):
        cycle = np.zeros(length, np.int64)
        while True:
            last = np.full(arms, -width)
            total = 0.0
            passes = width // length + 2
            for now in range(passes * length):
                arm = cycle[now % length]
                if now >= (passes - 1) * length:
                    total += means[arm, min(now - last[arm], width) - 1]
                last[arm] = now
            best = max(best, total / length)
            place = 0
            while place < length and cycle[place] == arms - 1:
                cycle[place] = 0
                place += 1
            if place == length:
                break
            cycle[place] += 1
    return best
