"""Does a learner without a horizon come close to the better of pi_ucb and pi_low at every gap?"""

from collections.abc import Mapping

import fallow
from benchmarks.section import Section
from fallow.learners.registry import learner_factory
from fallow.studies.study import Factory, Family

EPSILONS = (-0.86, -0.6, -0.4, -0.2, -0.1, -0.05, -0.02, -0.01, 0, 0.01, 0.02, 0.05, 0.1, 0.13)
HORIZONS = (10**3, 10**4, 10**5)
RUNS = 100
SEED = 1  # constants of the learners were chosen with seed 1000
PAPER = ("ranking-ucb", "low-switch")
ANYTIME = ("ranking-ucb2", "anytime-low-switch")


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
