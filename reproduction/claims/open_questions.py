"""Sections 8 and 9: what the paper leaves to others."""

import numpy as np

from fallow import catalog
from fallow.instance import Instance
from fallow.learners.alternating_ucb import AlternatingUCB
from fallow.learners.doubling import Doubling
from fallow.learners.joint_ranking import JointRanking
from fallow.learners.low_switch import LowSwitch
from fallow.studies import replicate
from fallow.studies.study import Factory, Family
from reproduction.claims.claim import Claim, Finding, verdict
from reproduction.claims.studies import exponent, low_of, mean_regrets, pi_ucb
from reproduction.claims.theorem_3 import two_policies

GEOMETRIC = 1 / (1 - 2**-0.5)
"""Sum of sqrt(T), sqrt(T / 2), sqrt(T / 4), ... over sqrt(T)."""


def _check_doubling() -> Finding:
    horizons = [2**power - 128 for power in (14, 17, 20, 23, 26)]  # each ends a life
    doubling, ratios = [], []
    for horizon in horizons:
        learners: dict[str, Factory] = {
            "doubling": lambda drawn, _: Doubling(LowSwitch, order=drawn.order.tolist()),
            "known": low_of(horizon),
        }
        gaps = np.geomspace(0.3, 1e-4, 10)
        found = [mean_regrets(two_policies(gap), learners, horizon, runs=10) for gap in gaps]
        without, known = np.max(found, axis=0).tolist()
        doubling.append(without)
        ratios.append(without / known)
    slope = exponent(horizons, doubling)
    return Finding(
        f"the worst mean regret grows as T^{slope:.2f} without the horizon, and is "
        f"{min(ratios):.1f} to {max(ratios):.1f} times that with it, T = 2^14 to 2^26",
        verdict(slope <= 0.55 and max(ratios) <= GEOMETRIC),
    )


DOUBLING = Claim(
    name="doubling",
    place="section 8, the end",
    statement="That T is known can be dispensed with using a doubling trick.",
    method="pi_low restarted with twice the horizon, against pi_low that knows it: the largest "
    "mean regret over 10 gaps from 0.3 to 10^-4 may grow at most as T^0.55, and be 3.4 times as "
    "large, the sum of sqrt(T), sqrt(T/2), ... over sqrt(T).",
    expected="holds",
    slack="Any constant factor below 1.9 passes; lives that grow by a tenth, not twofold, fail.",
    check=_check_doubling,
)


def _alternating(switching_cost: float) -> Factory:
    """Return how the learner is made that knows the cost of a switch."""
    return lambda drawn, _: AlternatingUCB(drawn.order, switching_cost)


def _check_best_of_both() -> Finding:
    cases: dict[str, tuple[Instance | Family, int]] = {
        f"two policies with gap {gap:g}": (two_policies(gap), 10**4)
        for gap in (0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.3)
    }
    cases["Figure 2's family"] = (catalog.figure2, 10**3)
    more = {}
    for cost, runs in ((0, 8), (1, 60)):  # each play of an alternation takes time
        for name, (source, horizon) in cases.items():
            learners: dict[str, Factory] = {
                "both": _alternating(cost),
                "pi_low": low_of(horizon),
                "pi_ucb": lambda drawn, _: pi_ucb(drawn),
            }
            both, *paper = mean_regrets(source, learners, horizon, runs, cost)
            more[f"{name}, cost {cost}"] = both - min(paper)
    worst = max(more, key=lambda case: more[case])
    return Finding(
        f"the regret of alternating-ucb less that of the better one is at most {more[worst]:.1f}, "
        f"on {worst}",
        verdict(more[worst] <= 0),
    )


BEST_OF_BOTH = Claim(
    name="best-of-both",
    place="section 8, the end (left open)",
    statement="Some method has at most the regret of the better of pi_ucb and pi_low at gaps from "
    "0 to 0.3, both without switching cost and with unit cost.",
    method="AlternatingUCB, which knows the cost, against both: two policies with seven gaps from "
    "0 to 0.3, T = 10^4, and Figure 2's family, T = 1,000; mean regret of 8 runs without cost and "
    "of 60 with unit cost.",
    expected="holds",
    slack="A fifth more regret passes; pi_low or RankingUCB2 in its place fails.",
    check=_check_best_of_both,
    open_question=True,
)


def _check_joint() -> Finding:
    rounds = [10**power for power in range(4, 8)]
    by_gap = []
    for gap in [*np.geomspace(0.3, 1e-4, 10), *-np.geomspace(0.045, 1e-4, 8)]:
        study = replicate(
            two_policies(gap),
            lambda drawn, _: JointRanking(drawn.arms, 2),
            rounds[-1],
            runs=40,
            seed=0,
            checkpoints=rounds,
        )
        by_gap.append(study.regret("learner").mean(axis=0))
    worst = np.max(by_gap, axis=0)
    ratios = worst / np.sqrt(rounds * np.log(rounds))
    slope = exponent(rounds, worst.tolist())
    return Finding(
        f"the worst mean regret over sqrt(T ln T): {', '.join(f'{ratio:.2f}' for ratio in ratios)} "
        f"at T = 10^4, 10^5, 10^6, 10^7; it grows as T^{slope:.2f}",
        verdict(bool(slope <= 0.6 and ratios.max() <= 1)),
    )


JOINT = Claim(
    name="joint-learning",
    place="section 9 (left open)",
    statement="Ranking and cutoff can be learned together, with regret against the best ranking "
    "policy of order sqrt(k D T ln T), whatever the gaps.",
    method="JointRanking, which does not know the order, on two arms: the largest mean regret over "
    "10 gaps from 0.3 to 10^-4 by which the first ranking policy is better, and 8 by which the "
    "second one is, 40 runs each, regret below 0 included. It may grow at most as T^0.6, and be at "
    "most sqrt(T ln T). The bound is proved for exploration = 3; this is the default, 1.",
    expected="holds",
    slack="Three times the regret passes; a learner that stays with one cycle fails.",
    check=_check_joint,
    open_question=True,
)
