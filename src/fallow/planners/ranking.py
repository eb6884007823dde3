"""Ranking policies (paper, section 5): cycle over the m arms with the largest baselines."""

from typing import NamedTuple

import numpy as np

from fallow.arrays import FloatArray
from fallow.errors import InputError
from fallow.instance import Instance, check_instance
from fallow.planners.cycle import Plan, certify
from fallow.planners.feasible import StuckError, possible_problem
from fallow.planners.problem import Problem


class Guarantee(NamedTuple):
    """The ranking policy over `arms` arms, and so ghost, earns `factor` of the optimum or more."""

    arms: int
    factor: float


def ranking_gains(instance: Instance) -> FloatArray:
    """Return g(1), ..., g(k): the gain of cycling over the best m arms, in reward per round.

    g(m) = (1/m) sum_{j <= m} mu_j(m), arms numbered by decreasing baseline (section 5).

    Examples
    --------
    >>> ranking_gains(Instance.b2dep([1, 0.8, 0.4], delays=[2, 2, 2], decay=[0.5, 0.5]))
    array([0.5       , 0.45      , 0.73333333])
    """
    return _ranking_gains(_ranked_means(instance))


def _ranking_gains(ranked: FloatArray) -> FloatArray:
    """Return g(1), ..., g(k) for means by decreasing baseline."""
    arms, width = ranked.shape
    rested = ranked[:, -1]
    tired_gains = [ranked[:m, m - 1].mean() for m in range(1, min(arms + 1, width))]
    # Sums of differences to the best arm do not drift where many arms are equal.
    losses = np.cumsum(rested[0] - rested) / np.arange(1, arms + 1)
    return np.append(tired_gains, (rested[0] - losses)[len(tired_gains) :])


def transition_totals(instance: Instance) -> FloatArray:
    """Return what a play of one ranking policy earns after a play of another (Figure 1).

    Element [n - 1, m - 1] is the expected total reward of one play of pi_m right after one of pi_n
    when the two alternate. The arms of both were last pulled n rounds ago; those of pi_m alone, in
    the play of pi_m before, n + m rounds ago. The diagonal is m g(m).

    Examples
    --------
    >>> transition_totals(Instance.b2dep([1, 0.8], delays=[2, 2], decay=[0.5, 0.25]))
    array([[0.5 , 1.3 ],
           [0.75, 1.35]])
    """
    ranked = _ranked_means(instance)
    width = ranked.shape[1]
    totals = np.empty((instance.arms, instance.arms))
    for before in range(1, instance.arms + 1):
        for now in range(1, instance.arms + 1):
            shared = ranked[: min(before, now), min(before, width) - 1]
            others = ranked[before:now, min(before + now, width) - 1]
            totals[before - 1, now - 1] = shared.sum() + others.sum()
    return totals


def ghost(instance: Instance) -> Plan:
    """Return the best ranking policy, the paper's pi_ghost (equation 3); ties go to fewer arms.

    With rules, the best of the ranking policies over the arms not excluded that obey them.

    Examples
    --------
    >>> ghost(Instance.blocking([1, 0.5, 0.1], delays=[1, 1, 1])).cycle
    (0, 1)
    """
    return ghost_plan(possible_problem(instance))


def ghost_plan(problem: Problem) -> Plan:
    """Return the plan of `ghost`."""
    ranked = problem.ranked
    gains = _ranking_gains(problem.instance.means[ranked.arms])
    if not problem.limits.bind:
        best = int(np.argmax(gains >= gains.max() * (1 - 1e-12))) + 1
        return certify(problem, ranked.arms[:best], "ghost")
    for best in np.argsort(-gains, kind="stable") + 1:
        if ranked.permits(np.arange(best)):
            return certify(problem, ranked.arms[:best], "ghost")
    raise StuckError("ghost")


def theorem2_index(instance: Instance) -> int:
    """Return the r_0 of the paper's Theorem 2, a number of arms.

    It is the largest r such that mu_i > max_{j < i} mu_j(i - j) for i = 2, ..., r. When delays
    differ, the theorem's bound (1 - f(r_0)) can fail: `guarantee` is the repaired one.

    Examples
    --------
    >>> theorem2_index(Instance.b2dep([1, 0.99, 0.01], delays=[2, 1, 1], decay=[1, 1]))
    3
    """
    ranked = _ranked_means(instance)
    width = ranked.shape[1]
    for arm in range(1, instance.arms):
        earlier = np.arange(arm)
        since_pulled = np.minimum(arm - earlier, width)
        if ranked[arm, -1] <= ranked[earlier, since_pulled - 1].max():
            return arm
    return instance.arms


def guarantee(instance: Instance) -> Guarantee:
    """Return what ghost is sure to earn: Theorem 2, repaired to hold when delays differ.

    r_1 is the largest r with max_j mu_j(r - 1) <= mu_r. In r_1 rounds in a row a first pull of an
    arm earns at most its baseline and a repeat at most mu_{r_1}, so ghost >= factor * optimum with
    factor = min_{i <= r_1} mu_i(r_1) / mu_i. That is 1 - f(r_1) if one of these arms has
    d_i >= r_1 (and mu_i > 0), else 1.

    Examples
    --------
    >>> guarantee(Instance.b2dep([1, 0.9, 0.8], delays=[3, 3, 3], decay=[0.5, 0.25, 0.25]))
    Guarantee(arms=3, factor=0.75)
    """
    ranked = _ranked_means(instance)
    falls = np.argwhere(np.diff(instance.means, axis=1) < 0)
    if falls.size:
        arm, column = falls[0]
        raise InputError(
            "instance",
            "must have means that never fall with the delay",
            f"a fall for arm {arm} after delay {column + 1}; use upper_bound(instance) instead",
        )
    width = ranked.shape[1]
    counts = np.arange(2, instance.arms + 1)
    repeats = ranked.max(axis=0)[np.minimum(counts - 1, width) - 1]
    largest = int(np.max(counts[repeats <= ranked[1:, -1]], initial=1))
    paid = ranked[:largest, min(largest, width) - 1]
    rested = ranked[:largest, -1]
    kept = np.divide(paid, rested, out=np.ones(largest), where=rested > 0)
    return Guarantee(largest, float(kept.min()))


def _ranked_means(instance: Instance) -> FloatArray:
    """Return the means by decreasing baseline, as the paper numbers arms."""
    check_instance(instance)
    return instance.means[instance.order]
