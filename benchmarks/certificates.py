"""How much of the optimum is proved where it is out of reach, and what does the proof cost?"""

from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

import numpy as np

import fallow
from benchmarks.ratios import Ratio, in_turns
from benchmarks.section import Section
from fallow import catalog
from fallow.planners.plan import PROVED

DRAWS = 100
TIMED = 5
SPIKES = ((9, 1), (9, 0), (18, 6), (9, 4), (12, 5), (18, 15), (12, 11), (18, 14), (18, 7), (18, 3))
"""Intervals and offsets that make a schedule without collisions."""
STEPS = (15, 15, 5, 15, 15, 10, 10, 15, 10)

Draw = Callable[[int], fallow.Instance]


def measure() -> Section:
    families: list[tuple[str, int, Draw, str]] = []
    for arms, delay, reach in (
        (10, 10, "half proved"),
        (20, 20, "mean 0.995, worst 0.99"),
        (100, 20, "mean 0.998"),
    ):
        draw = partial(_seeded, catalog.random_table, arms, delay)
        families.append((f"table, k = {arms}, D = {delay}", DRAWS, draw, reach))
    for name, family in (("geometric", catalog.random_geometric), ("power", catalog.random_power)):
        draw = partial(_seeded, family, 20, 20)
        families.append((f"{name}, k = 20, D = 20", DRAWS, draw, ""))
    families += [
        ("blocking, k = 20, D = 10", DRAWS, catalog.blocking_small, ""),
        ("blocking, k = 20, D = 20", DRAWS, catalog.blocking_large, ""),
        ("spikes: payoffs at one delay each", 1, lambda _: spikes(), ""),
        ("steps: maintenance, 9 machines", 1, lambda _: catalog.maintenance(STEPS), ""),
    ]
    rows = [
        (name, reach, *_certified([draw(seed) for seed in range(draws)]))
        for name, draws, draw, reach in families
    ]
    return Section(
        "Certificates where the optimum is out of reach",
        (
            "Instances",
            "Reach",
            "mean, quick",
            "worst, quick",
            "mean",
            "worst",
            "proved optimal",
            "`plan` took",
            "times as fast as quick",
        ),
        rows,
        "`plan(max_states=0)`, and quick: with `effort=0`. A certificate is gain / upper bound; "
        f"1 - 1e-9 or more counts as a proof. {DRAWS} draws each (seeds from 0), one in the last "
        f"two rows; times are means over {TIMED} draws.",
    )


def _seeded(
    family: Callable[..., fallow.Instance], arms: int, delay: int, seed: int
) -> fallow.Instance:
    return family(arms=arms, max_delay=delay, seed=seed)


def spikes() -> fallow.Instance:
    """Return arms that pay 1 at exactly their interval, and an idle one."""
    intervals = np.array([[interval] for interval, _ in SPIKES])
    means = np.arange(1, intervals.max() + 2) == intervals
    return fallow.Instance([*means.astype(float), np.zeros(means.shape[1])])


def _certified(draws: Sequence[fallow.Instance]) -> tuple[str, ...]:
    plans = {
        "quick": partial(fallow.plan, max_states=0, effort=0),
        "thorough": partial(fallow.plan, max_states=0),
    }
    quick, thorough = (
        np.array([plan(draw).certificate for draw in draws]) for plan in plans.values()
    )
    timed = draws[:TIMED]
    times = in_turns(
        {name: partial(_plan_all, plan, timed) for name, plan in plans.items()}, warm=True
    )
    return (
        f"{quick.mean():.4f}",
        f"{quick.min():.4f}",
        f"{thorough.mean():.4f}",
        f"{thorough.min():.4f}",
        f"{(thorough >= PROVED).mean():.0%}",
        f"{median(times['thorough']) / len(timed):.2f} s",
        str(Ratio.of(times["quick"], times["thorough"])),
    )


def _plan_all(
    plan: Callable[[fallow.Instance], fallow.Plan], draws: Sequence[fallow.Instance]
) -> None:
    for draw in draws:
        plan(draw)
