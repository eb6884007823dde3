"""Does a learner without a horizon come close to the better of pi_ucb and pi_low at every gap?"""

from collections.abc import Mapping, Sequence

import numpy as np

import fallow
from benchmarks.section import Section
from fallow.drawing.figures import Panel, curve_figure, image
from fallow.intervals import Estimate, estimate
from fallow.learners.registry import learner_factory
from fallow.studies import Result
from fallow.studies.study import Factory, Family

EPSILONS = (-0.86, -0.6, -0.4, -0.2, -0.1, -0.05, -0.02, -0.01, 0, 0.01, 0.02, 0.05, 0.1, 0.13)
HORIZONS = (10**3, 10**4, 10**5)
RUNS = 100
SEED = 1  # constants of the learners were chosen with seed 1000
PAPER = ("ranking-ucb", "low-switch")
ANYTIME = ("ranking-ucb2", "anytime-low-switch")
GAPS = (-0.05, -0.02, -0.005, 0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
COSTS = (0.0, 0.1, 1.0)
DRAWN = 10**5
"""Rounds of the picture of regret by gap."""
MOST_ROUNDS = 4 * 10**6
"""Rounds of all runs of a learner whose plays may be blocks of their own, if at least 10 runs."""


def measure() -> Section:
    rows = []
    for horizon in HORIZONS:
        sweep = [_regrets(fallow.catalog.figure3(epsilon), horizon) for epsilon in EPSILONS]
        seven = _regrets(fallow.catalog.figure2, horizon)
        for name in ANYTIME:
            ratios = [_ratio(regrets, name) for regrets in sweep]
            worst = max(ratios)
            rows.append(
                (
                    f"{horizon:,}",
                    f"`{name}`",
                    f"{worst:.2f}",
                    f"{EPSILONS[ratios.index(worst)]:g}",
                    f"{_ratio(seven, name):.2f}",
                    f"{seven[name]:,.0f}",
                    f"{min(seven[other] for other in PAPER):,.0f}",
                )
            )
    return Section(
        "Anytime learners against the better of pi_ucb and pi_low",
        (
            "T",
            "learner",
            "(regret - 10) / best, worst of the gap sweep",
            "at epsilon",
            "the same on Figure 2",
            "regret on Figure 2",
            "best of the paper's two",
        ),
        rows,
        f"Reach: a ratio of at most 1.25 everywhere, by one learner. Regret against ghost with "
        f"unit switching cost, mean of {RUNS} paired runs with seed {SEED}, Bernoulli rewards; "
        f"constants were chosen with seed 1000. The sweep is Figure 3's instance with "
        f"{len(EPSILONS)} values of epsilon from {EPSILONS[0]} to {EPSILONS[-1]}, gaps from 0 to "
        f"0.32; Figure 2's delays are drawn anew in each run.",
    )


def measure_alternating() -> Section:
    rows = []
    pictures = {}
    for horizon in (*HORIZONS, 10**6):
        sweep = [_play_with_costs(_two_policies(gap), horizon) for gap in GAPS]
        seven = _play_with_costs(fallow.catalog.figure2, horizon)
        if horizon == DRAWN:
            pictures["alternating.svg"] = _draw_by_gap(sweep)
        for cost in COSTS:
            more = [_more_than_better(study, cost) for study in sweep]
            worst = max(more, key=lambda estimated: float(estimated.mean))
            rows.append(
                (
                    f"{cost:g}",
                    f"{horizon:,}",
                    f"{worst:,.1f}",
                    f"{GAPS[more.index(worst)]:g}",
                    *_cells(sweep[GAPS.index(0)], cost),
                    *_cells(seven, cost),
                )
            )
    shown = ("better of both", "`ranking-ucb2`", "`alternating-ucb`")
    return Section(
        "Best of pi_ucb and pi_low: `alternating-ucb`",
        (
            "cost",
            "T",
            "more regret than the better of pi_ucb and pi_low, worst of the gaps",
            "at gap",
            *(f"equal gains: {name}" for name in shown),
            *(f"Figure 2: {name}" for name in shown),
        ),
        sorted(rows, key=lambda row: float(row[0])),
        "Reach: at most 0 in the third column, without a cost and with unit cost. Regret against "
        "ghost with the cost of switches; below 0 it earns more than ghost. `alternating-ucb` "
        f"knows the cost. Paired runs with seed {SEED}, {RUNS} up to T = 10,000, then 40 and 10; "
        "constants were chosen with seed 1000. The gap is g(1) - g(2) of Figure 3's instance with "
        f"another second baseline, {len(GAPS)} gaps from {GAPS[0]:g} to {GAPS[-1]:g}. The picture "
        f"has T = {DRAWN:,}.",
        pictures,
    )


def measure_doubling() -> Section:
    rows = []
    for horizon in (*HORIZONS, 10**6):
        learners: dict[str, Factory] = {
            "`low-switch`, told T": learner_factory("low-switch", horizon),
            "`doubling` of it": learner_factory("doubling", horizon),
            "`doubling` of it, committing": learner_factory(
                "doubling", horizon, {"options": {"cut_stage": "commit"}}
            ),
            "`anytime-low-switch`": learner_factory("anytime-low-switch", horizon),
            "`ranking-ucb2`": learner_factory("ranking-ucb2", horizon),
        }
        study = fallow.replicate(
            fallow.catalog.figure2, learners, horizon, RUNS, SEED, checkpoints=[horizon]
        )
        for place, name in enumerate(learners):
            regret = fallow.studies.estimate(study.regret(name, switching_cost=1)[:, -1])
            switches = study.switches[:, place, -1].mean()
            rows.append((f"{horizon:,}", name, f"{regret:,.0f}", f"{switches:,.1f}"))
    return Section(
        "Without a horizon: the doubling trick, and better",
        ("T", "learner", "regret with unit switching cost", "switches"),
        rows,
        f"Figure 2's family, {RUNS} paired runs with seed {SEED}. The doubling trick restarts "
        "pi_low from nothing with twice the horizon, from 128 rounds on.",
    )


def measure_joint() -> Section:
    rows = []
    for horizon in HORIZONS:
        study = fallow.replicate(
            fallow.catalog.figure2,
            learner_factory("joint-ranking", horizon),
            horizon,
            RUNS,
            SEED,
            checkpoints=[horizon],
        )
        regret = fallow.studies.estimate(study.regret("learner", switching_cost=1))
        rows.append(
            (
                f"{horizon:,}",
                f"{regret.mean[0]:,.0f} ± {regret.half_width[0]:,.0f}",
                f"{study.switches.mean():.0f}",
            )
        )
    return Section(
        "Ranking and cutoff learned together: `joint-ranking`",
        ("T", "regret against ghost", "switches"),
        rows,
        f"Figure 2's family, unit switching cost, {RUNS} runs with seed {SEED}. The learner does "
        f"not know the order of the arms. Below 0 it earns more than ghost, which takes the arms "
        f"by baseline: the best m arms at delay m need not be those.",
    )


def _regrets(instance: fallow.Instance | Family, horizon: int) -> Mapping[str, float]:
    """Return the mean regret of each learner, with unit switching cost."""
    study = fallow.replicate(
        instance,
        {name: learner_factory(name, horizon) for name in (*PAPER, *ANYTIME)},
        horizon,
        RUNS,
        SEED,
        checkpoints=[horizon],
    )
    return {name: float(study.regret(name, switching_cost=1).mean()) for name in study.learners}


def _ratio(regrets: Mapping[str, float], name: str) -> float:
    return (regrets[name] - 10) / min(regrets[other] for other in PAPER)


def _two_policies(gap: float) -> fallow.Instance:
    """Return Figure 3's instance with another second baseline, so that g(1) - g(2) = gap."""
    return fallow.catalog.figure3(epsilon=-gap * 8 / 3)


def _play_with_costs(instance: fallow.Instance | Family, horizon: int) -> Result:
    """Play the paper's two, ranking-ucb2, and alternating-ucb with each cost, in paired runs."""
    learners = {name: learner_factory(name, horizon) for name in (*PAPER, "ranking-ucb2")}
    for cost in COSTS:
        learners[_alternating(cost)] = learner_factory(
            "alternating-ucb", horizon, {"switching_cost": cost}
        )
    runs = min(max(MOST_ROUNDS // horizon, 10), RUNS)
    return fallow.replicate(instance, learners, horizon, runs, SEED, checkpoints=[horizon])


def _alternating(cost: float) -> str:
    return f"alternating-ucb, cost {cost:g}"


def _regret(study: Result, name: str, cost: float) -> Estimate:
    return estimate(study.regret(name, switching_cost=cost)[:, -1])


def _better(study: Result, cost: float) -> str:
    """Return the one of pi_ucb and pi_low that has less regret."""
    return min(PAPER, key=lambda name: float(_regret(study, name, cost).mean))


def _more_than_better(study: Result, cost: float) -> Estimate:
    better = _better(study, cost)
    return study.difference(_alternating(cost), better, switching_cost=cost).at(-1)


def _cells(study: Result, cost: float) -> list[str]:
    names = (_better(study, cost), "ranking-ucb2", _alternating(cost))
    return [f"{_regret(study, name, cost):,.0f}" for name in names]


def _draw_by_gap(sweep: Sequence[Result]) -> bytes:
    """Return an SVG file of regret by gap, without switching cost and with unit cost."""
    panels = []
    for cost, title in ((0.0, "without switching cost"), (1.0, "with unit cost")):
        names = (_alternating(cost), *PAPER, "ranking-ucb2")
        shown = ("alternating-ucb", "pi_ucb", "pi_low", "ranking-ucb2")
        curves = {}
        for name, label in zip(names, shown, strict=True):
            regrets = [_regret(study, name, cost) for study in sweep]
            means, half_widths = zip(*regrets, strict=True)
            curves[label] = Estimate(np.array(means), np.array(half_widths))
        panels.append(Panel(title, np.array(GAPS), curves))
    title = f"Two ranking policies, T = {DRAWN:,}"
    return image(
        lambda: curve_figure(panels, title, "gap g(1) - g(2)", "regret against ghost", "symlog"),
        "svg",
    )
