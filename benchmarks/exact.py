"""How large a problem does `optimal` solve, how fast, and is it ever beaten?"""

import json
import subprocess
import sys

import numba
import numpy as np

import fallow
from benchmarks.families import small_instances
from benchmarks.ratios import REPEATS, Ratio, in_turns, spread
from benchmarks.section import Section
from fallow.arrays import FloatArray
from fallow.planners.graph import graph_of
from fallow.planners.problem import problem_of

LARGE = """
import json, time, numpy, fallow
def solve(arms, delay):
    means = numpy.random.default_rng(1).random(arms)
    instance = fallow.Instance.b2dep(means, [delay] * arms, fallow.decay.geometric(0.9))
    start = time.perf_counter()
    plan = fallow.optimal(instance)
    return time.perf_counter() - start, plan.residual
solve(7, 6)  # compiles, or loads from the cache
small = solve(7, 6)[0] / 28_357
elapsed, residual = solve(10, 8)
peak = int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) / 1e6
print(json.dumps([small, elapsed, peak, residual]))
"""


def measure() -> Section:
    instance = fallow.Instance.b2dep(
        np.random.default_rng(0).random(7), [6] * 7, fallow.decay.geometric(0.9)
    )
    times = in_turns(
        {
            "optimal": lambda: fallow.optimal(instance),
            "iterated": lambda: value_iteration(instance, tolerance=1e-3),
        }
    )
    ratio = Ratio.of(times["iterated"], times["optimal"])
    worst = min(
        fallow.optimal(small).gain - best_of_all_cycles(small.means, longest=8)
        for small in small_instances(500, seed=11, max_arms=4, max_delay=6)
    )
    rows = [
        ("k = 7, all d = 6 (28,357 delay vectors)", "under 0.2 s", spread(times["optimal"])),
        (
            "the same, times as fast as value iteration to a residual of 1e-3",
            "",
            str(ratio),
        ),
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


def measure_large() -> Section:
    vectors = 10_473_760
    runs = []
    for _ in range(REPEATS):
        print("  a process", flush=True)
        command = [sys.executable, "-c", LARGE]
        result = subprocess.run(command, check=True, capture_output=True, text=True)
        runs.append(json.loads(result.stdout))
    small, elapsed, peaks, residuals = (list(column) for column in zip(*runs, strict=True))
    each = Ratio.of(small, [time / vectors for time in elapsed])
    rows = [
        ("time", "under 180 s", spread(elapsed)),
        ("speed by delay vector, times that of k = 7, all d = 6", "", str(each)),
        ("peak memory of the process", "under 4 GB", f"{max(peaks):.2f} GB"),
        ("residual", "", f"{max(residuals):.1e}"),
    ]
    return Section(
        f"The exact optimum of k = 10, all d = 8 ({vectors:,} delay vectors)",
        ("Work", "Reach", "Measured"),
        rows,
        f"{REPEATS} processes, decay 0.9^tau.",
    )


def value_iteration(instance: fallow.Instance, tolerance: float) -> float:
    """Return a gain within the tolerance of the optimum."""
    problem = problem_of(instance)
    graph = graph_of(problem.means, problem.delays, problem.limits)
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
