"""Sections 1 and 2: what the model is for, and what it has in common with others."""

import numpy as np

from fallow import catalog, decay
from fallow.arrays import FloatArray
from fallow.instance import Instance
from fallow.planners.optimal import optimal
from reproduction.claims.claim import Claim, Finding, verdict


def _check_same_arm() -> Finding:
    drawn = [catalog.random_geometric(4, 3, seed) for seed in range(300)]
    drawn += [catalog.random_table(4, 3, seed) for seed in range(300)]
    one_arm = sum(len(optimal(instance).cycle) == 1 for instance in drawn)
    return Finding(
        f"in {one_arm} of {len(drawn)} random instances of four arms it is optimal to repeat one",
        verdict(one_arm <= len(drawn) / 20),
    )


SAME_ARM = Claim(
    name="same-arm-seldom",
    place="section 1",
    statement="Policies that consistently recommend the same arm are seldom optimal.",
    method="The exact optimum of random geometric instances and random tables; seldom is at most "
    "one in twenty.",
    expected="holds",
    slack="A few instances may come out wrongly; a planner that repeats the best arm fails.",
    check=_check_same_arm,
)


def _check_blocking() -> Finding:
    seeds = range(50)
    right = 0
    for seed in seeds:
        generator = np.random.default_rng(seed)
        baselines, delays = generator.random(5), generator.integers(1, 8, 5)
        instance = Instance.blocking(baselines, delays)
        rested = np.arange(1, instance.max_delay + 2) > delays[:, np.newaxis]
        right += np.array_equal(instance.means, rested * baselines[:, np.newaxis])
    return Finding(
        f"in {right} of {len(seeds)} instances of equation 1 with f = 1 an arm pays nothing at "
        "delays up to d_i, and its baseline after them",
        verdict(right == len(seeds)),
    )


BLOCKING = Claim(
    name="blocking-special-case",
    place="section 2",
    statement="Blocking bandits are the special case mu_i(tau) = 0 for tau <= d_i.",
    method="Random instances of equation 1 with f = 1, against that definition; exact.",
    expected="holds",
    slack="None: a delay that is off by one fails.",
    check=_check_blocking,
)


def is_recharging(means: FloatArray) -> bool:
    """Tell whether a mean is concave in the delay, never falls, and rises by at most 1 a round."""
    rises = np.diff(means)
    return bool((np.diff(rises) <= 1e-12).all() and (rises >= 0).all() and (rises <= 1).all())


def _check_incomparable() -> Finding:
    ours = Instance.b2dep([1], delays=[2], decay=decay.constant(0.5)).means[0]
    theirs = np.sqrt(np.arange(1, 1001))  # of any delay, so it is never at rest
    both = Instance.b2dep([1], delays=[2], decay=[0.5, 0.2]).means[0]
    only_ours = not is_recharging(ours)
    only_theirs = is_recharging(theirs) and bool((np.diff(theirs) > 0).all() and theirs.max() > 1)
    return Finding(
        f"means {ours.tolist()} of baseline 1, delay 2, f = 1/2 are "
        f"{'not ' if only_ours else ''}of their model; sqrt(tau), which never rests and exceeds 1, "
        f"is {'' if only_theirs else 'not '}of theirs alone; means {both.tolist()} are "
        f"{'' if is_recharging(both) else 'not '}of both",
        verdict(only_ours and only_theirs and is_recharging(both)),
    )


INCOMPARABLE = Claim(
    name="incomparable-with-recharging",
    place="section 2",
    statement="This setting and that of recharging bandits, concave means with increments of at "
    "most 1, are incomparable.",
    method="One instance in each that is not in the other, and one in both; exact.",
    expected="holds",
    slack="None: the examples are checked against both definitions.",
    check=_check_incomparable,
)
