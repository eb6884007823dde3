"""Section 2: what the model has in common with others."""

import numpy as np

from fallow import catalog, decay
from fallow.instance import Instance
from reproduction.claims.claim import Claim, Finding, verdict


def _check_blocking() -> Finding:
    drawn = [catalog.blocking_small(seed) for seed in range(50)]
    same = nothing = 0
    for instance in drawn:
        ours = Instance.b2dep(instance.baselines, instance.delays, decay.constant(1))
        same += ours == instance
        tired = np.arange(1, instance.max_delay + 2) <= instance.delays[:, np.newaxis]
        nothing += bool((instance.means[tired] == 0).all())
    return Finding(
        f"{same} of {len(drawn)} blocking instances are the model with f = 1, and {nothing} pay "
        "nothing at delays up to d_i",
        verdict(same == nothing == len(drawn)),
    )


BLOCKING = Claim(
    name="blocking-special-case",
    place="section 2",
    statement="Blocking bandits are the special case mu_i(tau) = 0 for tau <= d_i.",
    method="Random blocking instances beside those of equation 1 with f = 1; exact.",
    expected="holds",
    slack="None: a delay that is off by one fails.",
    check=_check_blocking,
)


def is_concave(means: Instance) -> bool:
    """Tell whether each arm's mean rises by less and less with the delay."""
    return bool((np.diff(means.means, n=2) <= 1e-12).all())


def _check_incomparable() -> Finding:
    ours = Instance.b2dep([1], delays=[2], decay=decay.constant(0.5))
    jump = not is_concave(ours)
    horizon = 1000
    theirs = np.sqrt(np.arange(1, horizon + 1) / horizon)
    still_rising = bool((np.diff(theirs) > 0).all())
    shared = is_concave(Instance.b2dep([1], delays=[2], decay=[0.5, 0.2]))
    return Finding(
        f"baseline 1, delay 2, f = 1/2 gives means {ours.means[0].tolist()}, which are "
        f"{'not ' if jump else ''}concave; sqrt(tau) is concave, rises by less than 1 a round and "
        f"has {'no ' if still_rising else 'a '}delay from which it is constant; "
        f"{'some' if shared else 'no'} instances are in both models",
        verdict(jump and still_rising and shared),
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
