"""What users were shown before the decisions that are remembered in full."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fallow.arrays import BoolArray, FloatArray, Int32Array

HOLE = -1
"""Stands for the arm of an entry whose decision was cancelled."""


class Archive:
    """Arms by user, oldest first, and when they were shown where delays are elapsed time.

    Attributes
    ----------
    starts
        The first entry of each user, and of the user after the last one.
    arm, at
        By entry; `at` is empty where delays are rounds.
    """

    def __init__(self) -> None:
        self.starts = array("I", [0])
        self.arm = array("i")
        self.at = array("d")

    def latest(self, user: int) -> Iterator[tuple[int, float]]:
        """Yield what a user was shown, latest first: the arm, and when, or -inf where unknown."""
        if user + 1 >= len(self.starts):
            return
        for entry in reversed(range(self.starts[user], self.starts[user + 1])):
            if self.arm[entry] != HOLE:
                yield self.arm[entry], self.at[entry] if self.at else -math.inf

    def cancel(self, entry: int) -> None:
        """Take back that something was shown."""
        self.arm[entry] = HOLE

    def extend(
        self,
        users: int,
        user: npt.NDArray[np.uint32],
        arm: Int32Array,
        at: FloatArray | None,
        is_settled: BoolArray,
        open_entries: Int32Array,
        limit: float,
    ) -> tuple[Int32Array, Int32Array]:
        """Add entries, and forget those that no longer matter.

        Parameters
        ----------
        users
            How many users there are.
        user, arm, at
            Of the new entries, those of a user in order; `at` is None where delays are rounds.
        is_settled
            Which of these can no longer be cancelled.
        open_entries
            Entries from before that can still be cancelled.
        limit
            Entries matter that are not older than this time; or, where delays are rounds, up to
            this number of a user that can no longer be cancelled, and those between them.

        Returns
        -------
        moved, added
            Where `open_entries` and the new entries are now, -1 if they were forgotten.
        """
        # Numbers of 32 bits, because there are many.
        starts = np.array(self.starts).astype(np.int32)
        starts = np.append(starts, np.full(users + 1 - len(starts), starts[-1]))
        lengths = np.diff(starts)
        additions = np.bincount(user, minlength=users).astype(np.int32)
        sizes = lengths + additions
        ends = np.cumsum(sizes, dtype=np.int32)
        old = _ranges(ends - sizes, lengths)
        # To sort by user and position at once is quicker than a stable sort.
        order = (user.astype(np.int64) << 32) + np.arange(len(user))
        order.sort()
        new = np.empty(len(user), np.int32)
        new[order & (2**32 - 1)] = _ranges(ends - additions, additions)
        arms = np.empty(len(old) + len(new), np.int32)
        arms[old], arms[new] = np.asarray(self.arm), arm
        kept = arms != HOLE
        if at is None:
            is_final = kept.copy()
            is_final[old[open_entries]] = False
            is_final[new] &= is_settled
            so_far = np.append(np.int32(0), np.cumsum(is_final, dtype=np.int32))
            kept &= np.repeat(so_far[ends], sizes) - so_far[1:] < limit
        else:
            times = np.empty(len(arms))
            times[old], times[new] = np.asarray(self.at), at
            kept &= times >= limit
            self.at = array("d", times[kept].tobytes())
        positions = np.append(np.int32(0), np.cumsum(kept, dtype=np.int32))
        self.starts = array("I", positions[np.append(0, ends)].tobytes())
        self.arm = array("i", arms[kept].tobytes())
        moved = old[open_entries]
        return np.where(kept[moved], positions[moved], -1), np.where(kept[new], positions[new], -1)


def _ranges(starts: Int32Array, lengths: Int32Array) -> Int32Array:
    """Return ranges of whole numbers, one after the other.

    Examples
    --------
    >>> _ranges(np.array([5, 9], np.int32), np.array([2, 1], np.int32)).tolist()
    [5, 6, 9]
    """
    before = np.cumsum(lengths, dtype=np.int32) - lengths
    ranges = np.repeat(starts - before, lengths)
    ranges += np.arange(len(ranges), dtype=np.int32)
    return ranges
