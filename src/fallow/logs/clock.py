"""Which delays are told apart, by the user's own plays ("rounds") or by elapsed time ("time").

An edge is the longest time that counts as a delay. `elapsed` are the times between two plays of the
same arm by the same user.
"""

from typing import Any

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray, Int32Array, IntArray
from fallow.errors import InputError

CLOCKS = ("rounds", "time")
MOST_DELAYS = 30
"""Longest delay in rounds that is told apart unless the caller says otherwise."""
LONG = 0.9
"""The share of delays that should not exceed it."""
PLAYS = 40
"""Plays that an arm should have on average at the longest, if it has them at any."""
BINS = 8
"""Delays that elapsed time is sorted into, evenly spaced in its logarithm."""
SHORT = 0.1
"""The share of elapsed times that the shortest of them should hold."""


def check_max_delay(clock: str, value: Any) -> float:
    """Return what the caller says of the longest delay, a whole number if it is in rounds."""
    if clock == "time":
        return checks.positive("max_delay", value)
    return checks.whole_number("max_delay", value, 1, checks.MAX_VALUES)


def rounds(starts: IntArray) -> FloatArray:
    """Return how many plays of the user came before each play."""
    positions = np.arange(float(starts[-1]))
    positions -= np.repeat(starts[:-1], np.diff(starts))
    return positions


def round_edges(elapsed: FloatArray, max_delay: float | None, arms: int) -> FloatArray:
    """Return one edge for each number of rounds."""
    if max_delay is None:
        max_delay = 1.0
        if elapsed.size:
            longest = int(np.quantile(elapsed, LONG, method="inverted_cdf"))
            longest = min(longest, MOST_DELAYS)
            plays = np.bincount(elapsed[elapsed <= longest].astype(np.int64), minlength=longest + 1)
            enough = np.flatnonzero(plays[1:] >= PLAYS * arms)
            max_delay = int(enough[-1]) + 1 if enough.size else longest
    return np.arange(1.0, max_delay + 1)


def time_edges(elapsed: FloatArray, max_delay: float | None) -> FloatArray:
    """Return edges that are evenly spaced in the logarithm of time."""
    elapsed = _above_zero(elapsed, np.inf)
    if max_delay is None:
        if not np.isfinite(elapsed).any():
            raise InputError(
                "max_delay", "must be given, as no user has an arm at two different times", "None"
            )
        max_delay = float(np.quantile(elapsed, LONG))
    shorter = elapsed[elapsed < max_delay]
    first = float(np.quantile(shorter, SHORT)) if shorter.size else max_delay
    # With a first edge near the last one they would tell nothing apart.
    return np.geomspace(min(first, max_delay / 2), max_delay, BINS)


def time_spans(edges: FloatArray, elapsed: FloatArray, delays: Int32Array) -> FloatArray:
    """Return the mean elapsed time at each delay, the last for rested, in its logarithm.

    Where there is none, the middle between the edges stands for it.
    """
    ratio = edges[1] / edges[0]
    spans: FloatArray = np.append(edges, edges[-1] * ratio) / np.sqrt(ratio)
    plays = np.bincount(delays - 1, minlength=spans.size)
    logs = np.bincount(delays - 1, np.log(_above_zero(elapsed, edges[0])), minlength=spans.size)
    seen = plays > 0
    spans[seen] = np.exp(logs[seen] / plays[seen])
    return spans


def _above_zero(elapsed: FloatArray, most: float) -> FloatArray:
    """Return elapsed times with the smallest one above 0 in place of 0, or `most` if it is less."""
    return np.maximum(elapsed, np.min(elapsed, where=elapsed > 0, initial=most))


def pace(starts: IntArray, times: FloatArray) -> float:
    """Return the median time between two plays of a user that differ in time."""
    steps = np.diff(times)
    steps[starts[1:-1] - 1] = 0  # from one user to the next
    steps = steps[steps > 0]
    return float(np.median(steps)) if steps.size else 1.0
