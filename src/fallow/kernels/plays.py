"""Passes over the plays of a log, which stand user by user in the order of time."""

import math

import numpy as np

from fallow.arrays import BoolArray, FloatArray, Int32Array, IntArray
from fallow.kernels import tiered

LEAST = 1e-12
"""Chances below it are rounding: something else was played."""


@tiered(lambda arms: 4 * arms.size)
def follow_plays(
    starts: IntArray,
    arms: Int32Array,
    times: FloatArray,
    edges: FloatArray,
    origins: FloatArray,
    count: int,
) -> tuple[Int32Array, Int32Array, Int32Array, BoolArray]:
    """Return for each play its delay, and what is known of the plays before it.

    These are the plays since the arm's last one, those in the window, and whether that is whole.

    The user's plays are those from `starts[user]` on, and before `origins[user]` nothing is known
    of them. A delay is the number of the edge, counted from 1, that the elapsed time does not
    exceed, one more where it exceeds all, and 0 where it is unknown. Plays since the last one are 0
    where the log has none. The window holds the earlier plays that are not past the last edge; it
    is whole where it does not reach back to the origin.
    """
    delays = np.zeros(arms.size, np.int32)
    gaps = np.zeros(arms.size, np.int32)
    windows = np.zeros(arms.size, np.int32)
    whole = np.zeros(arms.size, np.bool_)
    last = np.full(count, -1, np.int64)
    for user in range(starts.size - 1):
        start, stop = starts[user], starts[user + 1]
        first = start
        for play in range(start, stop):
            while times[play] - times[first] > edges[-1]:
                first += 1
            windows[play] = play - first
            whole[play] = times[play] - origins[user] > edges[-1]
            before = last[arms[play]]
            if before >= start:
                gaps[play] = play - before
                elapsed = times[play] - times[before]
                delays[play] = 1 + np.searchsorted(edges, elapsed)
            elif whole[play]:
                delays[play] = 1 + edges.size
            last[arms[play]] = play
    return delays, gaps, windows, whole


@tiered(lambda arms, lags: 4 * arms.size * lags)
def chance_of_recency(
    starts: IntArray,
    arms: Int32Array,
    propensity: FloatArray,
    propensities: FloatArray,
    shares: FloatArray,
    lags: int,
) -> FloatArray:
    """Return for each play how recent chance has made its arm: the instrument for its delay.

    The sum over the user's plays before, `lags` of them at most, of what was played, less what was
    to be expected, divided by how many plays ago it was. Where only the chosen arm's propensity is
    known (no rows of `propensities`), it stands for what was to be expected.
    """
    recency = np.zeros(arms.size)
    for user in range(starts.size - 1):
        start = starts[user]
        for play in range(start, starts[user + 1]):
            arm = arms[play]
            total = 0.0
            for lag in range(1, min(lags, play - start) + 1):
                earlier = play - lag
                played = 1.0 if arms[earlier] == arm else 0.0
                if propensities.shape[0] > 0:
                    surprise = played - propensities[earlier, arm]
                else:
                    surprise = shares[arm] * (played / propensity[earlier] - 1.0)
                total += surprise / lag
            recency[play] = total
    return recency


@tiered(lambda arms, average: 4 * arms.size * average.size)
def usual_propensity(
    starts: IntArray, arms: Int32Array, propensities: FloatArray, average: FloatArray, lags: int
) -> FloatArray:
    """Return for each play its arm's average propensity with the user, but for the last plays.

    These are `lags`; the average over all users counts as so many plays more. Where propensities
    are not known, what was played stands for them.
    """
    usual = np.zeros(arms.size)
    total = np.zeros(average.size)
    for user in range(starts.size - 1):
        start = starts[user]
        total[:] = lags * average
        for play in range(start, starts[user + 1]):
            past = play - lags - 1
            if past >= start:
                if propensities.shape[0] > 0:
                    total += propensities[past]
                else:
                    total[arms[past]] += 1.0
            usual[play] = total[arms[play]] / (max(past - start + 1, 0) + lags)
    return usual


@tiered(lambda arms, windows: 4 * arms.size + 4 * int(windows.sum()))
def log_window_weights(
    starts: IntArray,
    arms: Int32Array,
    delays: Int32Array,
    gaps: Int32Array,
    windows: Int32Array,
    rested: int,
    propensity: FloatArray,
    propensities: FloatArray,
    shares: FloatArray,
) -> FloatArray:
    """Return for each play minus the logarithm of the chance that its arm came up at its delay.

    Only the window from the arm's last play on matters, as the reward depends on the delay alone.
    Where only the chosen arm's propensity is known, the arms that were played in between are
    weighed to come up as often as on average among the others.
    """
    weights = np.zeros(arms.size)
    for user in range(starts.size - 1):
        for play in range(starts[user], starts[user + 1]):
            arm, delay = arms[play], delays[play]
            if delay == 0:
                continue
            weight = -math.log(propensity[play])
            first = play - windows[play]
            if delay < rested:
                first = play - gaps[play] + 1
                weight -= math.log(propensity[first - 1])
            for between in range(first, play):
                if propensities.shape[0] > 0:
                    chance = 1.0 - propensities[between, arm]
                else:
                    other = shares[arms[between]] / (1.0 - shares[arm])
                    chance = propensity[between] / other
                weight -= math.log(max(chance, LEAST))
            weights[play] = weight
    return weights
