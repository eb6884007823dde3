"""Fixed periods: which lengths of a cycle suit the arms, and how the arms share its rounds."""

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import compiled, tiered

FREE = -1


@tiered(lambda values: values.size * (1 + np.log(values.shape[1])))
def promises(values: FloatArray) -> FloatArray:
    """Return, for each length of a cycle, the total value if no two arms ever met.

    `values[arm, period - 1]` is what a period is worth; it must divide the length.
    """
    arms, longest = values.shape
    totals = np.zeros(longest)
    for arm in range(arms):
        best = np.zeros(longest)
        for period in range(1, longest + 1):
            for length in range(period, longest + 1, period):
                best[length - 1] = max(best[length - 1], values[arm, period - 1])
        totals += best
    return totals


@compiled
def _drawn(random: int) -> int:
    """Return the next random number (the minimal standard generator of Park and Miller)."""
    return random * 48271 % 2147483647


@compiled
def _best_rounds(
    values: FloatArray,
    periods: IntArray,
    enough: float,
    cycle: IntArray,
    costs: FloatArray,
    random: int,
) -> tuple[int, int, int, int]:
    """Return start and period of the best rounds for an arm, how many were looked at, and `random`.

    Rounds are worth the value of their period, which must be above `enough`, less the costs of the
    arms that have some of them. Ties are drawn.
    """
    counted = np.full(len(costs), -1)  # the look at which an arm was last counted from
    best, best_start, best_period = -np.inf, 0, 0
    ties = looks = 0
    for period in periods:
        value = values[period - 1]
        if value <= enough or value < best:
            continue
        for start in range(period):
            merit, first_look = value, looks
            for now in range(start, len(cycle), period):
                owner = cycle[now]
                looks += 1
                if owner != FREE and counted[owner] < first_look:
                    counted[owner] = first_look
                    merit -= costs[owner]
                    if merit < best:
                        break
            if merit > best:
                best, best_start, best_period, ties = merit, start, period, 1
            elif merit == best:
                ties += 1
                random = _drawn(random)
                if random % ties == 0:
                    best_start, best_period = start, period
    return best_start, best_period, looks, random


@tiered(lambda max_looks: 2 * max_looks)
def place(values: FloatArray, length: int, max_looks: int) -> tuple[IntArray, float]:
    """Return a cycle in which no two arms meet, some rounds free, and the value of all periods.

    Again and again an arm that could have a better period is drawn. It takes the rounds that are
    best for it, and whoever had some of them leaves. An arm gets dearer each time it has to leave,
    so that no quarrel lasts (after the breakout method of Morris 1993). The best cycle on the way
    is returned, once every arm has its best period or `max_looks` rounds were looked at.
    """
    arms = len(values)
    periods = np.array([period for period in range(1, length + 1) if length % period == 0])
    goals = np.zeros(arms)
    for arm in range(arms):
        for period in periods:
            goals[arm] = max(goals[arm], values[arm, period - 1])
    cycle = np.full(length, FREE)
    worth = np.zeros(arms)
    costs = np.zeros(arms)
    departures = np.zeros(arms)
    best_cycle, best_total = cycle.copy(), 0.0
    random = length
    looks = 0
    while looks < max_looks:
        wanting = np.flatnonzero(worth < goals)
        if len(wanting) == 0:
            break
        random = _drawn(random)
        arm = wanting[random % len(wanting)]
        cycle[cycle == arm] = FREE
        start, period, looked, random = _best_rounds(
            values[arm], periods, worth[arm], cycle, costs, random
        )
        looks += looked
        for now in range(start, length, period):
            owner = cycle[now]
            if owner != FREE:
                cycle[cycle == owner] = FREE
                worth[owner] = 0.0
                departures[owner] += 1
        cycle[start::period] = arm
        worth[arm] = values[arm, period - 1]
        costs[arm] = worth[arm] * (1 + departures[arm])
        total = 0.0
        for each in worth:
            total += each
        if total > best_total:
            best_cycle, best_total = cycle.copy(), total
    return best_cycle, float(best_total)
