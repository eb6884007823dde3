"""How close to the optimum does `Rotation` come from nothing, and how fast is it?"""

from functools import partial

import numpy as np

import fallow
from benchmarks.minimal import minimal_ucb1
from benchmarks.ratios import Ratio, in_turns, spread
from benchmarks.section import Section
from fallow.learners.registry import learner_factory
from fallow.studies.study import Family

SEED = 1
"""Of the reported runs; the constants were chosen on draws 1000 to 1029."""


def measure() -> Section:
    horizons = [10**3, 10**4, 10**5]
    learners = {
        "Rotation": learner_factory("rotation", 10**5),
        "Rotation, delays unknown": learner_factory("rotation-unbounded", 10**5),
        "Rotation, switching cost 1": learner_factory("rotation", 10**5, {"switching_cost": 1.0}),
        "JointRanking": learner_factory("joint-ranking", 10**5),
        "pi_ucb, told the order": learner_factory("ranking-ucb", 10**5),
    }
    study = fallow.replicate(
        fallow.catalog.figure2,
        learners,
        horizons[-1],
        runs=100,
        seed=SEED,
        checkpoints=horizons,
        references={"ghost": fallow.planners.ghost, "optimum": fallow.optimal},
    )
    rows = []
    for place, name in enumerate(learners):
        mean, half_width = fallow.studies.estimate(study.share(name))
        cells = [f"{m:.4f} ± {h:.4f}" for m, h in zip(mean, half_width, strict=True)]
        rows.append((name, *cells, f"{study.switches[:, place, -1].mean():.0f}"))
    rows.append(("reach for `Rotation`", "0.93", "0.975", "0.99", ""))
    return Section(
        "`Rotation` from nothing on Figure 2's family: share of the optimum",
        ("learner", "T = 10^3", "T = 10^4", "T = 10^5", "switches at 10^5"),
        rows,
        "100 fresh draws, Bernoulli rewards, replicate seed 1, 95 % intervals.",
    )


def _regrets(source: fallow.Instance | Family, cost: float, horizon: int) -> list[str]:
    learners = {
        "rotation": learner_factory("rotation", horizon, {"switching_cost": cost}),
        "pi_ucb": learner_factory("ranking-ucb", horizon),
        "pi_low": learner_factory("low-switch", horizon),
    }
    study = fallow.replicate(source, learners, horizon, runs=50, seed=SEED)
    finals = [
        fallow.studies.estimate(study.regret(name, switching_cost=cost)[:, -1]) for name in learners
    ]
    return [f"{final.mean:,.0f} ± {final.half_width:,.0f}" for final in finals]


def measure_costs() -> Section:
    rows = [
        (f"Figure 3, cost {cost:g}, T = 1,000", *_regrets(fallow.catalog.figure3(), cost, 10**3))
        for cost in (0.0, 1.0, 5.0)
    ]
    rows += [
        (f"Figure 2, cost 1, T = {horizon:,}", *_regrets(fallow.catalog.figure2, 1.0, horizon))
        for horizon in (10**3, 10**4, 10**5)
    ]
    return Section(
        "`Rotation` with switching costs: regret against ghost",
        ("setting", "`Rotation`", "pi_ucb", "pi_low"),
        rows,
        "50 runs, replicate seed 1. Negative regret is earning more than the best ranking policy.",
    )


def measure_speed() -> Section:
    horizon = 10**6
    many = fallow.catalog.random_geometric(arms=100, max_delay=20, seed=3)
    reaches = ((fallow.catalog.figure2(seed=3), "0.5 s"), (many, "10 s"))
    rows = []
    for instance, reach in reaches:
        size = f"k = {instance.arms}, D = {instance.max_delay}"
        times = in_turns(
            {
                "loop": partial(_loop, instance, horizon),
                "rotation": partial(_rotate, instance, horizon),
            }
        )
        ratio = Ratio.of(times["loop"], times["rotation"])
        rows.append((size, f"{horizon:,}", spread(times["rotation"]), reach, str(ratio)))
    return Section(
        "Speed of `Rotation`",
        ("instance", "T", "a run", "reach", "times as fast as UCB1 in a numba loop"),
        rows,
        "The numba loop is `minimal_ucb1` of `benchmarks/minimal.py` on the same instance.",
    )


def _rotate(instance: fallow.Instance, horizon: int) -> None:
    learner = fallow.Rotation(instance.arms, instance.max_delay)
    fallow.simulate(instance, learner, horizon, 0, checkpoints=[horizon])


def _loop(instance: fallow.Instance, horizon: int) -> None:
    minimal_ucb1(instance.means, horizon, np.random.default_rng(0))
