"""Which decisions have waited too long for feedback, whatever the clock did."""

from __future__ import annotations

import math
from array import array

import numpy as np

BLOCK = 1024
"""Decisions of which only the earliest open one is remembered."""


class Overdue:
    """Finds open decisions by their age, without a look at those that are too young.

    Nothing here is kept: it is found out again where it is not known.

    Attributes
    ----------
    earliest
        No open decision was made before this time.
    """

    def __init__(self) -> None:
        self.earliest = -math.inf
        self._lows = np.empty(0)
        """By full block, a time before which no open decision of it was made."""

    def find(self, at: array[float], status: array[int], wait: float, now: float) -> list[int]:
        """Return which decisions have status 0 and were made `wait` seconds ago, or before."""
        if self.earliest + wait > now:
            return []
        full, size = len(at) // BLOCK, -(-len(at) // BLOCK)
        lows = np.full(size, -math.inf)  # what is not known yet is looked at
        lows[: len(self._lows)] = self._lows
        found: list[int] = []
        for block in np.flatnonzero(lows + wait <= now).tolist():
            begin = block * BLOCK
            opened = np.flatnonzero(np.frombuffer(status[begin : begin + BLOCK], np.int8) == 0)
            times = np.frombuffer(at[begin : begin + BLOCK])[opened]
            lows[block] = times.min(initial=math.inf)
            found += (begin + opened[times + wait <= now]).tolist()
        self.earliest = float(lows.min(initial=math.inf))
        self._lows = lows[:full]
        return found
