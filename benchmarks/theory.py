"""Do the theorems about the learners show in runs?"""

import math

import numpy as np

import fallow
from benchmarks.section import Section
from fallow.learners.registry import learner_factory
from reproduction.lower_bounds import hidden_best, hidden_gap


def measure_stages() -> Section:
    rows = []
    for power in range(3, 16):
        horizon = 10**power
        instance = fallow.catalog.figure2(seed=3)
        switches = []
        for seed in range(20):
            learner = fallow.LowSwitch(instance.order, horizon)
            run = fallow.simulate(instance, learner, horizon, seed)
            switches.append(int(run.switches(horizon)))
        rows.append(
            (
                f"10^{power}",
                str(learner.stages),
                f"{math.log(math.log(horizon)):.2f}",
                str(7 * learner.stages),
                f"{np.mean(switches):.1f}",
                str(max(switches)),
            )
        )
    return Section(
        "Stages and switches of `LowSwitch`",
        ("T", "S", "ln ln T", "bound k S", "switches, mean", "switches, most"),
        rows,
        "k = 7, Figure 2's family, seed 3, 20 runs each.",
    )


def measure_theorem3() -> Section:
    rows = []
    for horizon in (10**4, 10**6, 10**9):
        arms, delta = 4, 0.1
        shares = []
        for seed in range(1000):
            instance = fallow.catalog.random_geometric(arms=arms, max_delay=3, seed=seed)
            learner = fallow.LowSwitch(instance.order, horizon, delta)
            run = fallow.simulate(instance, learner, horizon, seed, checkpoints=[horizon])
            widths = sum(
                4 * learner.stage_rounds(stage) * learner.width(stage - 1)
                for stage in range(2, learner.stages + 1)
            )
            bound = arms**2 * learner.stages + learner.stage_rounds(1) + widths
            shares.append(float(run.regret(fallow.planners.ghost(instance), horizon)) / bound)
        within = np.mean(np.array(shares) <= 1)
        rows.append(
            (f"{horizon:.0e}", f"{within:.1%}", f"{np.mean(shares):.3f}", f"{max(shares):.3f}")
        )
    return Section(
        "Theorem 3: regret under its bound",
        ("T", "runs within the bound", "regret / bound, mean", "regret / bound, most"),
        rows,
        "1,000 runs each, k = 4, random geometric instances, delta = 0.1, so 90 % is promised. The "
        "bound is k^2 S + T_1 + sum_s 4 T_s C_(s-1), as in the proof.",
    )


def measure_theorem4() -> Section:
    rows = []
    delta = 0.1
    for gap, runs in ((0.4, 1000), (0.3, 300), (0.2, 100), (0.1, 30), (0.05, 10)):
        baselines = [0.5 + gap, 0.5, 0.5 - gap]
        instance = fallow.Instance([[baseline] for baseline in baselines])
        pulls, right = [], 0
        for seed in range(runs):
            ranker = fallow.BanditRanker(3, delta)
            fallow.simulate(instance, ranker, 10**7, seed, checkpoints=[10**7])
            pulls.append(ranker.pulls)
            right += ranker.order == (0, 1, 2) and not ranker.unresolved
        bound = 2 / gap**2 * math.log(1 / (delta * gap))
        rows.append(
            (
                f"{gap}",
                str(runs),
                f"{right / runs:.1%}",
                f"{np.mean(pulls):,.0f}",
                f"{np.mean(pulls) / bound:.1f}",
            )
        )
    return Section(
        "Theorem 4: the right order, and pulls against the bound",
        ("gap", "runs", "order right", "pulls, mean", "pulls / (sum 1/D^2 ln(1/(delta D)))"),
        rows,
        "Three arms around 0.5, delta = 0.1, so 90 % is promised. A ratio that stays about the "
        "same as the gap shrinks is what the theorem says.",
    )


def measure_lower_bound() -> Section:
    rows = []
    for arms in (4, 8, 16):
        for horizon in (arms**5, 100 * arms**5):
            lost: dict[str, list[float]] = {}
            for best in range(1, arms + 1):
                instance = hidden_best(arms, hidden_gap(arms, horizon), best)
                learners = {
                    "`low-switch`, active widths": learner_factory(
                        "low-switch", horizon, {"widths": "active"}
                    ),
                    "`anytime-low-switch`": learner_factory("anytime-low-switch", horizon),
                    "`ranking-ucb2`": learner_factory("ranking-ucb2", horizon),
                }
                study = fallow.replicate(
                    instance, learners, horizon, 20, best, checkpoints=[horizon]
                )
                for name in learners:
                    regrets = study.regret(name, switching_cost=1)[:, -1]
                    lost.setdefault(name, []).extend(regrets / math.sqrt(arms * horizon))
            for name, ratios in lost.items():
                ratio = fallow.studies.estimate(np.array(ratios))
                rows.append((f"{arms}", f"{horizon:,}", name, f"{ratio:.3f}"))
    return Section(
        "The lower bound of order sqrt(k T)",
        ("k", "T", "learner", "regret / sqrt(k T)"),
        rows,
        "One ranking policy is better than all others by sqrt(k / T) / 16, and no learner over "
        "ranking policies can find it in time. With a unit switching cost the ratio, averaged over "
        "the k places of the best policy, is proved to be at least 1/45 = 0.022, less 1 / sqrt(k "
        "T). 20 runs for each place.",
    )
