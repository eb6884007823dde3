"""Sections 1 and 6: switches of pi_low and pi_ucb, and regret whatever the gap."""

import math

import numpy as np

from fallow import catalog
from fallow.instance import Instance
from fallow.learners.anytime_low_switch import AnytimeLowSwitch
from fallow.learners.low_switch import LowSwitch
from fallow.learners.ranking_ucb import RankingUCB
from fallow.learners.ranking_ucb2 import RankingUCB2
from fallow.protocol import Learner
from fallow.rewards import Rewards
from fallow.simulation import simulate
from fallow.studies.study import Factory
from reproduction.claims.claim import Claim, Finding, verdict
from reproduction.claims.studies import exponent, low_of, mean_regrets
from reproduction.claims.theorem_3 import DELTA, two_policies


def _switches(
    instance: Instance,
    learner: Learner,
    horizon: int,
    seed: int,
    rewards: Rewards = "bernoulli",
) -> int:
    run = simulate(instance, learner, horizon, seed, rewards, checkpoints=[horizon])
    return int(run.switches(horizon))


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
    slack="A quarter more switches pass, or none; stages that grow by a constant factor fail.",
    check=_check_switches,
)


def _check_gaps() -> Finding:
    horizon, runs = 10**6, 6
    gaps = [0.2, 0.1, 0.05, 0.025]
    exact, noisy, most = [], [], 0
    for gap in gaps:
        instance = two_policies(gap)
        order = instance.order
        exact.append(_switches(instance, RankingUCB(order), horizon, 0, "none"))
        counts = [_switches(instance, RankingUCB(order), horizon, seed) for seed in range(runs)]
        noisy.append(float(np.mean(counts)))
        low = [
            _switches(instance, LowSwitch(order, horizon), horizon, seed) for seed in range(runs)
        ]
        most = max(most, *low)
    by_exact, by_noisy = exponent(gaps, exact), exponent(gaps, noisy)
    few = most <= 2 * LowSwitch(order, horizon).stages
    return Finding(
        f"gap 0.2 to 0.025: pi_ucb switches {exact[0]:,} to {exact[-1]:,} times with feedback "
        f"without noise, as gap^{by_exact:.1f}. Remark: with Bernoulli noise {noisy[0]:,.0f} to "
        f"{noisy[-1]:,.0f} times, as gap^{by_noisy:.1f} only, because it stays with the worse "
        f"policy for a while. pi_low switches at most {most} times",
        verdict(few and by_exact < -1.5),
    )


GAPS = Claim(
    name="switches-by-gap",
    place="sections 1 and 6",
    statement="The switches of UCB grow with the squared inverse of the gaps; those of pi_low do "
    "not grow with it.",
    method="Two ranking policies with gaps 0.2 to 0.025, T = 10^6; slopes on log axes. The "
    "sentence is about the worst law of rewards, and feedback without noise attains it: the worse "
    "policy is selected of the order of ln T / gap^2 times, each time for one selection. With "
    "Bernoulli noise (6 runs) it is selected several times in a row: at its n-th selection its "
    "index moves by about 1/n at random and falls by sqrt(ln T / 2) n^-1.5, so it takes of the "
    "order of sqrt(n / ln T) selections to lose the lead, which makes about ln T / gap visits.",
    expected="holds",
    slack="The exponent, -2 up to a logarithm, may be -1.5; UCB that meets noise only fails.",
    check=_check_gaps,
)


def _check_gap_free() -> Finding:
    learners: dict[str, Factory] = {"pi_ucb": lambda drawn, _: RankingUCB(drawn.order)}
    gaps = np.geomspace(0.3, 1e-4, 14)
    ratios = []
    for horizon in (10**4, 10**5, 10**6):
        worst = max(mean_regrets(two_policies(gap), learners, horizon, runs=10) for gap in gaps)[0]
        ratios.append(worst / math.sqrt(2 * horizon * math.log(horizon)))
    listed = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    return Finding(
        f"the worst mean regret over sqrt(k T ln T): {listed} at T = 10^4, 10^5, 10^6",
        verdict(max(ratios) <= 1.1 * ratios[0]),
    )


UCB_GAP_FREE = Claim(
    name="ucb-gap-free",
    place="section 1",
    statement="UCB over ranking policies has a regret of O(sqrt(k T ln T)), whatever the gaps.",
    method="The largest mean regret over 14 gaps from 0.3 to 10^-4 between two ranking policies, "
    "over that expression; it may grow by a tenth from T = 10^4 to 10^6.",
    expected="holds",
    slack="Any constant factor passes, such as an index with half the bonus, and k is 2 "
    "throughout; a learner that never explores fails.",
    check=_check_gap_free,
)


def close_pair(horizon: int) -> tuple[Instance, Instance, float]:
    """Return two instances that only pulls of an arm right after itself tell apart, and their gap.

    In both, arms 1 and 2 in turn earn 1/2 a round; arm 1 right after itself earns 1/2 + gap or
    1/2 - gap, and arm 2 a third of that, which tells less. The gap, 1 / (4 sqrt(T)), is where the
    bound below is largest. A rested pull of arm 1 goes with one of arm 2, so other pulls earn at
    most 1/2 a round and 1/4 more in all: n pulls of arm 1 after itself lose gap n in one instance,
    and gap (T - n) in the other.
    """
    gap = 1 / (4 * math.sqrt(horizon))
    better, worse = (
        Instance.b2dep([0.75, 0.25], [1, 1], [1 - (0.5 + side) / 0.75]) for side in (gap, -gap)
    )
    return better, worse, gap


def _check_lower_bound() -> Finding:
    bounds, reached = [], []
    for horizon in (10**4, 10**5, 10**6):
        better, worse, gap = close_pair(horizon)
        apart = 2 * gap * math.log((0.5 + gap) / (0.5 - gap))  # divergence of one telling pull
        bounds.append(gap * horizon / 8 * math.exp(-horizon * apart) / math.sqrt(horizon))
        learners: dict[str, Factory] = {
            "pi_low": low_of(horizon),
            "pi_ucb": lambda drawn, _: RankingUCB(drawn.order),
            "ranking-ucb2": lambda drawn, _: RankingUCB2(drawn.order),
            "anytime-low-switch": lambda drawn, _: AnytimeLowSwitch(drawn.order),
        }
        found = [mean_regrets(each, learners, horizon, runs=20) for each in (better, worse)]
        reached += (np.max(found, axis=0) / math.sqrt(horizon)).tolist()
    steady = max(bounds) <= 1.05 * min(bounds)
    proved = math.floor(min(bounds) * 1e4) / 1e4  # rounded down, so that it stays a bound
    return Finding(
        f"by formula at least {proved:.4f} sqrt(T) - 1/4 for any learner; pi_low, pi_ucb, "
        f"ranking-ucb2 and anytime-low-switch come to {min(reached):.2f} to {max(reached):.2f} "
        "sqrt(T) at T = 10^4, 10^5, 10^6",
        verdict(steady and min(reached) >= max(bounds)),
    )


LOWER_BOUND = Claim(
    name="sqrt-rate",
    place="section 6, after Theorem 3",
    statement="The rate sqrt(T) of a bound that does not depend on the gaps cannot be improved.",
    method="Two instances with gaps of 1 / (4 sqrt(T)) that only pulls of an arm right after "
    "itself tell apart: no learner can do well on both (Bretagnolle and Huber's inequality, gap T "
    "/ 8 exp(-T divergence)). The larger of two mean regrets, 20 runs each, has to exceed it.",
    expected="holds",
    slack="A sixth of the regret passes, and any larger one; a learner that is told which instance "
    "it plays fails.",
    check=_check_lower_bound,
)
