"""Section 7: learning the order of the arms."""

import math
from collections.abc import Sequence

import numpy as np

from fallow import decay
from fallow.instance import Instance
from fallow.learners.bandit_ranker import BanditRanker
from fallow.simulation import simulate
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
        instance = Instance.b2dep(baselines, delays=[5, 1, 1], decay=decay.constant(0.95))
        ranker = _rank(instance, max_delay=5, seed=seed)
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
    method="Three shuffled arms, one of which is tired for five rounds, calibrated samples, delta "
    "= 0.1.",
    expected="holds",
    slack="Half the widths pass, as the union bound has that much room; no widths at all fail, and "
    "so do samples of tired arms.",
    check=_check_theorem4,
)


def sum_of_gaps(baselines: Sequence[float]) -> float:
    """Return sum_{i < k} 1/D_i^2 ln(1/(delta D_i)), the order of Theorem 4."""
    apart = -np.diff(baselines)
    gaps = np.minimum(np.append(apart, np.inf), np.append(np.inf, apart))[:-1]
    return float((1 / gaps**2 * np.log(1 / (DELTA * gaps))).sum())


ARMS = (
    (0.9, 0.5, 0.1),
    (0.7, 0.5, 0.3),
    (0.6, 0.5, 0.4),
    (0.95, 0.8, 0.65, 0.5, 0.35, 0.2, 0.15),
    (0.95, 0.9, 0.7, 0.5, 0.3, 0.1),
    (0.9, 0.7, 0.53, 0.5, 0.3, 0.1),
)
"""By decreasing baseline; the gaps of the last three differ, by a factor of up to 7."""


def _check_pulls() -> Finding:
    ratios, naive = [], []
    for baselines in ARMS:
        instance = Instance([[baseline] for baseline in baselines])
        pulls = float(np.mean([_rank(instance, None, seed).pulls for seed in range(2)]))
        least = float(-np.diff(baselines).max())
        ratios.append(pulls / sum_of_gaps(baselines))
        naive.append(pulls / (len(baselines) / least**2 * math.log(1 / (DELTA * least))))
    listed = ", ".join(f"{ratio:.1f}" for ratio in ratios)
    spread, naive_spread = max(ratios) / min(ratios), max(naive) / min(naive)
    return Finding(
        f"pulls over the sum: {listed} for gaps 0.4, 0.2, 0.1 and three sets of unequal ones, "
        f"within a factor of {spread:.1f}; over k / D^2 ln(1/(delta D)) with the least gap D they "
        f"spread by a factor of {naive_spread:.1f}",
        verdict(spread <= 2.5 and naive_spread > spread),
    )


THEOREM_4_PULLS = Claim(
    name="theorem-4-pulls",
    place="section 7, Theorem 4",
    statement="BanditRanker needs of the order of sum_i 1/D_i^2 ln(1/(delta D_i)) pulls, D_i the "
    "gap of arm i to its neighbours.",
    method="Mean pulls over that sum for six sets of three to seven arms, with equal and unequal "
    "gaps; they may spread by a factor of 2.5, and by less than pulls over k / (least gap)^2 do.",
    expected="holds",
    slack="Widths that are off by a tenth pass; half of them fail, and so does a ranker that "
    "samples all arms to the end.",
    check=_check_pulls,
)


def divergence(first: float, second: float) -> float:
    """Return the Kullback-Leibler divergence of two Bernoulli laws, in nats."""
    return first * math.log(first / second) + (1 - first) * math.log((1 - first) / (1 - second))


def _check_tight() -> Finding:
    ratios = []
    for gap in (0.4, 0.2, 0.1):
        instance = Instance([[0.5 + gap], [0.5], [0.5 - gap]])
        samples = _rank(instance, None, seed=0).samples
        needed = divergence(DELTA, 1 - DELTA) / divergence(0.5 + gap, 0.5)
        ratios.append(min(samples) / needed)
    listed = ", ".join(f"{ratio:.0f}" for ratio in ratios)
    return Finding(
        f"each arm is sampled {listed} times the least that any procedure needs, for gaps 0.4, "
        "0.2, 0.1",
        verdict(min(ratios) >= 1 and max(ratios) <= 2 * min(ratios)),
    )


TIGHT = Claim(
    name="theorem-4-tight",
    place="sections 1 and 7, after Theorem 4",
    statement="Up to logarithmic factors 1/D_i^2 samples of arm i are needed by any procedure.",
    method="That BanditRanker agrees: its samples of three arms around 1/2 over the known lower "
    "bound d(delta, 1 - delta) / d(mu_i, mu_j), with d the Kullback-Leibler divergence (Kaufmann, "
    "Cappe and Garivier 2016), are at least 1, and within a factor of 2 as gaps shrink.",
    expected="holds",
    slack="Any constant factor down to 1/10 passes; an order by guess, without samples, fails.",
    check=_check_tight,
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
    three = _factor([0.9, 0.8, 0.1], 2)
    six = _factor([0.9, 0.85, 0.6, 0.4, 0.2, 0.05], 5)
    only_twice = abs(full - 2) < 0.01
    return Finding(
        f"{full:.2f} times the pulls where groups of d_0 = 4 stay full; {three:.2f} for arms 0.9, "
        f"0.8, 0.1 and d_0 = 3, {six:.2f} for six arms with two 0.05 apart and d_0 = 6: the close "
        "pair stays to the end",
        verdict(only_twice and max(three, six) <= 2.01, repaired=only_twice),
    )


CALIBRATION = Claim(
    name="calibration",
    place="section 7, the end",
    statement="Calibrating the samples in groups of d_0 only costs a factor of two; repaired: "
    "while at least d_0 arms are active and groups are full. A short group is filled up with pulls "
    "that are not samples.",
    method="Pulls of BanditRanker with and without calibration, without noise, on arms that need "
    "equally many samples, and on d_0 arms with a close pair.",
    expected="holds as repaired",
    slack="None: a group that is longer by one pull fails, and one that is played once.",
    check=_check_calibration,
)
