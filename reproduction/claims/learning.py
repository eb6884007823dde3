"""Section 6: the regret and the switches of pi_low."""

import math
from collections.abc import Sequence

import numpy as np

from fallow import catalog
from fallow.arrays import FloatArray
from fallow.instance import Instance
from fallow.learners.low_switch import LowSwitch
from fallow.learners.ranking_ucb import RankingUCB
from fallow.planners.ranking import ranking_gains
from fallow.protocol import Learner
from fallow.simulate import simulate
from fallow.studies import replicate
from reproduction.claims.claim import Claim, Finding, verdict

DELTA = 0.1


def two_policies(gap: float) -> Instance:
    """Return Figure 3's instance with its second baseline lowered so that g(1) - g(2) = gap."""
    # g(2) is 3/4 of the average baseline, so it falls by 3/8 of what the second baseline falls.
    return catalog.figure3(epsilon=-gap / (3 / 8))


def regret_bound(arms: int, horizon: int) -> float:
    """Return k^2 S + T_1 + sum_{s = 2..S} 4 T_s C_{s-1}, as in the proof of Theorem 3."""
    stages = LowSwitch(range(arms), horizon, DELTA).stages
    rounds = [float(horizon) ** (1 - 2.0**-stage) for stage in range(1, stages + 1)]
    log = math.log(2 * arms * stages / DELTA)
    widths = [math.sqrt(arms / (2 * length) * log) for length in rounds]
    races = math.fsum(
        4 * length * width for length, width in zip(rounds[1:], widths[:-1], strict=True)
    )
    return float(arms**2 * stages + rounds[0] + races)


def _exponent(causes: Sequence[float] | FloatArray, effects: Sequence[float]) -> float:
    """Return the slope on log axes."""
    return float(np.polyfit(np.log(causes), np.log(effects), 1)[0])


def _low_regrets(instance: Instance, horizon: int, runs: int) -> FloatArray:
    """Return the final regret of pi_low in each run."""
    study = replicate(
        instance,
        lambda drawn, _: LowSwitch(drawn.order, horizon, DELTA),
        horizon,
        runs,
        seed=0,
        checkpoints=[horizon],
    )
    return study.regret("learner")[:, -1]


def _check_theorem3() -> Finding:
    instances = [catalog.random_geometric(4, 3, seed) for seed in range(40)]
    parts, enough = [], True
    for power in (4, 6, 9):
        horizon = 10**power
        bound = regret_bound(4, horizon)
        regrets = np.concatenate([_low_regrets(each, horizon, runs=5) for each in instances])
        within = float(np.mean(regrets <= bound))
        enough &= within >= 1 - DELTA
        parts.append(f"10^{power}: {within:.1%}, at most {regrets.max() / bound:.2f} of it")
    worst = [horizon * float(np.ptp(ranking_gains(instance))) for instance in instances]
    breaks = sum(regret > bound for regret in worst)
    return Finding(
        f"{len(regrets)} runs within the bound at T = {'; '.join(parts)}. The worst policy alone "
        f"would break the last one in {breaks} of {len(instances)} instances",
        verdict(enough and breaks > len(instances) / 2),
    )


THEOREM_3 = Claim(
    name="theorem-3",
    place="section 6, Theorem 3",
    statement="With probability at least 1 - delta the regret of pi_low against ghost is "
    "O(k^2 ln ln T + sqrt(k T (ln(k/delta) + ln ln ln T))).",
    method="Share of runs within the bound with the constants of the proof, delta = 0.1, four "
    "arms, random geometric instances.",
    expected="holds",
    check=_check_theorem3,
)


def _check_rate() -> Finding:
    horizons = [10**power for power in range(4, 10)]
    gaps = np.geomspace(0.3, 1e-5, 16)
    worst = [
        max(float(_low_regrets(two_policies(gap), horizon, runs=10).mean()) for gap in gaps)
        for horizon in horizons
    ]
    slope = _exponent(horizons, worst)
    return Finding(
        f"the worst mean regret grows from {worst[0]:,.0f} at T = 10^4 to {worst[-1]:,.0f} at "
        f"10^9, as T^{slope:.2f}",
        verdict(slope <= 0.55),
    )


THEOREM_3_RATE = Claim(
    name="theorem-3-rate",
    place="section 6, Theorem 3",
    statement="The regret of pi_low grows at most like sqrt(T), whatever the gap g(r*) - g(m).",
    method="The largest mean regret over 16 gaps from 0.3 to 10^-5 between two ranking policies, "
    "by horizon; slope on log axes, at most 0.55.",
    expected="holds",
    check=_check_rate,
)


def _switches(instance: Instance, learner: Learner, horizon: int, seed: int) -> int:
    return int(simulate(instance, learner, horizon, seed, checkpoints=[horizon]).switches(horizon))


def _check_switches() -> Finding:
    most, kept, runs = 0.0, 0, 0
    excess = -math.inf
    for power in range(3, 16):
        horizon = 10**power
        stages = LowSwitch(range(7), horizon, DELTA).stages
        allowed = 7 * stages
        excess = max(excess, stages - math.log2(math.log2(horizon)))
        for seed in range(20):
            instance = catalog.figure2(seed)
            learner = LowSwitch(instance.order, horizon, DELTA)
            switches = _switches(instance, learner, horizon, seed)
            most = max(most, switches / allowed)
            kept += switches <= allowed
            runs += 1
    return Finding(
        f"at most k S switches in {kept} of {runs} runs, at most {most:.0%} of that; S <= "
        f"log2 log2 T + {excess:.1f} for T = 10^3 to 10^15",
        verdict(kept == runs and excess < 2),
    )


SWITCHES = Claim(
    name="few-switches",
    place="section 6",
    statement="pi_low switches at most k S times in every run, and S = O(ln ln T).",
    method="Figure 2's family, T = 10^3, 10^4, ..., 10^15, 20 draws each; S is compared with "
    "log2 log2 T.",
    expected="holds",
    check=_check_switches,
)


def _check_gaps() -> Finding:
    horizon, runs = 10**6, 6
    gaps = [0.2, 0.1, 0.05, 0.025]
    switches, selections, most = [], [], 0
    for gap in gaps:
        instance = two_policies(gap)
        learners = [RankingUCB(instance.order) for _ in range(runs)]
        counts = [_switches(instance, each, horizon, seed) for seed, each in enumerate(learners)]
        switches.append(float(np.mean(counts)))
        selections.append(float(np.mean([each.statistics.counts[1] for each in learners])))
        for seed in range(runs):
            learner = LowSwitch(instance.order, horizon)
            most = max(most, _switches(instance, learner, horizon, seed))
    by_switches, by_selections = _exponent(gaps, switches), _exponent(gaps, selections)
    few = most <= 2 * LowSwitch(instance.order, horizon).stages
    return Finding(
        f"gap 0.2 to 0.025: pi_ucb switches {switches[0]:,.0f} to {switches[-1]:,.0f} times, as "
        f"gap^{by_switches:.1f}, and selects the worse policy {selections[0]:,.0f} to "
        f"{selections[-1]:,.0f} times, as gap^{by_selections:.1f}; pi_low switches at most {most} "
        "times",
        verdict(
            few and by_switches < -1.5,
            repaired=few and by_switches < -0.5 and by_selections < -1.5,
        ),
    )


GAPS = Claim(
    name="switches-by-gap",
    place="sections 1 and 6",
    statement="The switches of UCB grow with the squared inverse of the gaps, those of pi_low do "
    "not grow with them; repaired: UCB's selections of a worse policy do, and come in runs, so its "
    "switches grow with about the inverse.",
    method="Two ranking policies with gaps 0.2 to 0.025, T = 10^6, 6 runs each; slopes on log "
    "axes.",
    expected="holds as repaired",
    check=_check_gaps,
)
