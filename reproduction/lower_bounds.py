"""Instances that no learner over ranking policies can tell apart in time.

docs/explanation/theorems.md has the lower bounds that they prove.
"""

import math
from typing import NamedTuple

from fallow.instance import Instance


class EqualAndTilted(NamedTuple):
    """Two arms whose ranking policies earn the same, and two instances close to that.

    Attributes
    ----------
    equal
        Both policies earn 1/2 per round.
    first, second
        The first or the second policy earns 1/2 + gap, the other one 1/2. Only pulls of an arm
        right after itself tell `first` from `equal`, only pulls of the second arm tell `second`.
    """

    equal: Instance
    first: Instance
    second: Instance


def equal_and_tilted(gap: float) -> EqualAndTilted:
    """Return the three instances of the lower bounds on switches.

    Examples
    --------
    >>> from fallow.planners import ranking_gains
    >>> [ranking_gains(instance).round(3).tolist() for instance in equal_and_tilted(0.01)]
    [[0.5, 0.5], [0.51, 0.5], [0.5, 0.51]]
    """
    return EqualAndTilted(
        Instance.b2dep([3 / 4, 1 / 4], [1, 1], [1 / 3]),
        Instance.b2dep([3 / 4, 1 / 4], [1, 1], [1 / 3 - 4 / 3 * gap]),
        Instance.b2dep([3 / 4, 1 / 4 + 2 * gap], [1, 1], [1 / 3]),
    )


def hidden_gap(arms: int, horizon: int) -> float:
    """Return the gap at which the bound on regret is largest."""
    return math.sqrt(arms / horizon) / 16


def hidden_best(arms: int, gap: float, best: int | None = None) -> Instance:
    """Return an instance in which one ranking policy, or none, earns `gap` more than the others.

    All delays are k. Policy pi_m earns (1 - f(m)) times the average of the first m baselines, and
    that is 1/2: averages fall by the factor 1 + 4 gap from one m to the next, and 1 - f(m) rises
    by it. So there is room to raise 1 - f(best) by the factor 1 + 2 gap. That changes what arms
    earn at the delay `best`, and at no other.

    Examples
    --------
    >>> from fallow.planners import ranking_gains
    >>> ranking_gains(hidden_best(4, 0.01, best=3)).round(3).tolist()
    [0.5, 0.5, 0.51, 0.5]
    """
    step = 1 + 4 * gap
    averages = [step ** (arms - m + 1) / 2 for m in range(1, arms + 1)]
    baselines = [average * (1 - 4 * gap * place) for place, average in enumerate(averages)]
    kept = [1 / (2 * average) for average in averages]
    if best is not None:
        kept[best - 1] *= 1 + 2 * gap
    return Instance.b2dep(baselines, [arms] * arms, [1 - share for share in kept])
