"""Section 7: learning the order of the arms."""

import math

import numpy as np

from fallow.instance import Instance
from fallow.learners.bandit_ranker import BanditRanker
from fallow.simulate import simulate
from reproduction.claims.claim import Claim, Finding, verdict

DELTA = 0.1
ENOUGH = 10**7


def _rank(instance: Instance, max_delay: int | None, seed: int) -> BanditRanker:
    """Return a ranker that has played the instance until it was done."""
    ranker = BanditRanker(instance.arms, DELTA, max_delay)
    simulate(instance, ranker, ENOUGH, seed, checkpoints=[ENOUGH])
    return ranker


def _check_theorem4() -> Finding:
    runs, right = 100, 0
    for seed in range(runs):
        baselines = np.random.default_rng(seed).permutation([0.9, 0.5, 0.1])
        instance = Instance.b2dep(baselines, delays=[2, 1, 2], decay=[0.9, 0.5])
        ranker = _rank(instance, max_delay=2, seed=seed)
        right += ranker.order == tuple(instance.order) and not ranker.unresolved
    share = right / runs
    return Finding(
        f"the order is right in {right} of {runs} runs, {1 - DELTA:.0%} are promised",
        verdict(share >= 1 - DELTA),
    )


THEOREM_4 = Claim(
    name="theorem-4",
    place="section 7, Theorem 4",
    statement="BanditRanker returns the right order with probability at least 1 - delta.",
    method="Three shuffled arms with delays, calibrated samples, delta = 0.1.",
    expected="holds",
    check=_check_theorem4,
)


def _check_pulls() -> Finding:
    ratios = []
    for gap, runs in ((0.4, 40), (0.2, 10), (0.1, 2)):
        instance = Instance([[0.5 + gap], [0.5], [0.5 - gap]])
        pulls = [_rank(instance, None, seed).pulls for seed in range(runs)]
        order = 2 / gap**2 * math.log(1 / (DELTA * gap))
        ratios.append(float(np.mean(pulls)) / order)
    listed = ", ".join(f"{ratio:.1f}" for ratio in ratios)
    return Finding(
        f"pulls over the sum: {listed} for gaps 0.4, 0.2, 0.1",
        verdict(max(ratios) <= 1.25 * min(ratios)),
    )


THEOREM_4_PULLS = Claim(
    name="theorem-4-pulls",
    place="section 7, Theorem 4",
    statement="BanditRanker needs of the order of sum_i 1/D_i^2 ln(1/(delta D_i)) pulls, D_i the "
    "gap of arm i to its neighbours.",
    method="Mean pulls over that sum for three arms around 1/2; as the gaps shrink it may change "
    "by a quarter at most.",
    expected="holds",
    check=_check_pulls,
)


def _factor(baselines: list[float], max_delay: int) -> float:
    """Return how many times the pulls of plain samples calibrated ones take, over whole runs.

    There is no noise, so both need the same number of samples of each arm.
    """
    instance = Instance([[baseline] for baseline in baselines])
    plain, calibrated = (BanditRanker(len(baselines), DELTA, each) for each in (None, max_delay))
    for ranker in (plain, calibrated):
        simulate(instance, ranker, ENOUGH, seed=0, rewards="none", checkpoints=[ENOUGH])
    return calibrated.pulls / plain.pulls


def _check_calibration() -> Finding:
    full = max(_factor(np.linspace(0.9, 0.1, arms).tolist(), 3) for arms in (4, 8))
    close_pair = _factor([0.9, 0.8, 0.5, 0.1], 3)
    few_arms = _factor([0.9, 0.5, 0.1], 7)
    return Finding(
        f"{full:.2f} times the pulls where groups of d_0 = 4 stay full; {close_pair:.1f} where two "
        f"of four arms are close and stay to the end; {few_arms:.1f} for three arms and d_0 = 8",
        verdict(max(full, close_pair, few_arms) <= 2.01, repaired=full <= 2.01),
    )


CALIBRATION = Claim(
    name="calibration",
    place="section 7, the end",
    statement="Calibrating the samples in groups of d_0 only costs a factor of two; repaired: "
    "while at least d_0 arms are active and groups are full. A short group is filled up with pulls "
    "that are not samples.",
    method="Pulls of BanditRanker with and without calibration, without noise, on arms that need "
    "equally many samples, with a close pair, and on fewer arms than d_0.",
    expected="holds as repaired",
    check=_check_calibration,
)
