"""How close to the optimum is each planner, and how close can larger plans be proved to be?"""

from functools import partial
from statistics import median

import numpy as np

import fallow
from benchmarks.families import small_instances
from benchmarks.ratios import Ratio, in_turns
from benchmarks.section import Section
from fallow.planners import HEURISTICS


def measure() -> Section:
    planners = {**HEURISTICS, "plan without the exact one": without_exact}
    small = list(small_instances(200, seed=2026, max_arms=6, max_delay=5))
    optima = np.array([fallow.optimal(instance).gain for instance in small])
    rows = []
    for name, planner in planners.items():
        shares = np.array([planner(instance).gain for instance in small]) / optima
        reach = "mean 0.995, worst 0.93" if planner is without_exact else ""
        rows.append((name, reach, f"{shares.mean():.4f}", f"{shares.min():.4f}"))
    return Section(
        "Share of the optimum on 200 small instances",
        ("Planner", "Reach", "Mean", "Worst"),
        rows,
        "2 to 6 arms, delays up to 5, geometric, power, table and blocking decays in equal parts "
        "(seed 2026). No planner was tuned on these draws.",
    )


def measure_larger() -> Section:
    rows = []
    for arms, delay in [(20, 20), (20, 100), (100, 20), (1000, 100), (10_000, 100)]:
        instance = fallow.catalog.random_table(arms=arms, max_delay=delay, seed=1)
        plan = fallow.plan(instance, max_states=0)
        whittle = fallow.planners.whittle(instance).certificate
        times = in_turns(
            {
                "plan": partial(fallow.plan, instance, max_states=0),
                "whittle": partial(fallow.planners.whittle, instance),
            }
        )
        ratio = Ratio.of(times["whittle"], times["plan"])
        rows.append(
            (
                f"{arms:,}",
                str(delay),
                f"{fallow.planners.ghost(instance).certificate:.4f}",
                f"{whittle:.4f}",
                f"{plan.certificate:.4f}",
                plan.method,
                f"{median(times['plan']):.2f} s",
                str(ratio),
            )
        )
    last = "times as fast as `whittle`"
    return Section(
        "Proved share of the optimum on larger instances",
        ("Arms", "Delays up to", "`ghost`", "`whittle`", "`plan`", "found by", "`plan` took", last),
        rows,
        "random_table, seed 1: gain / upper bound, so the true share is at least this.",
    )


def without_exact(instance: fallow.Instance) -> fallow.Plan:
    return fallow.plan(instance, max_states=0, effort=0)
