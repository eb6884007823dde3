"""What users were shown before the decisions that are remembered in full."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fallow.arrays import BoolArray, FloatArray, Int32Array, IntArray

HOLE = -1
"""Stands for the arm of an entry whose decision was cancelled."""


class Trail:
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
        may_go: BoolArray,
        open_entries: IntArray,
        limit: float,
    ) -> tuple[IntArray, IntArray]:
        """Add entries, and forget those that no longer matter.

        Parameters
        ----------
        users
            How many users there are.
        user, arm, at
            Of the new entries, those of a user in order; `at` is None where delays are rounds.
        may_go
            Which of these can no longer be cancelled.
        open_entries
            Entries from before that can still be cancelled.
        limit
            Entries matter that are not older than this time; or, where delays are rounds, up to
            so many of a user that can no longer be cancelled, and what is between them.

        Returns
        -------
        moved, added
            Where `open_entries` and the new entries are now, -1 if they were forgotten.
        """
        starts = np.array(self.starts, np.int64)
        starts = np.append(starts, np.full(users + 1 - len(starts), starts[-1]))
        lengths = np.diff(starts)
        added = np.bincount(user, minlength=users)
        sizes = lengths + added
        ends = np.cumsum(sizes)
        old = np.arange(len(self.arm)) + np.repeat(ends - sizes - starts[:-1], lengths)
        # Sorting by user and place at once is quicker than a stable sort.
        order = (user.astype(np.int64) << 32) + np.arange(len(user))
        order.sort()
        new = np.empty(len(user), np.int64)
        new[order & (2**32 - 1)] = np.arange(len(user)) + np.repeat(ends - np.cumsum(added), added)
        arms = np.empty(len(old) + len(new), np.int32)
        arms[old], arms[new] = np.asarray(self.arm), arm
        if at is None:
            is_final = arms != HOLE
            is_final[old[open_entries]] = False
            is_final[new] &= may_go
            so_far = np.cumsum(is_final)
            later = np.repeat(np.append(0, so_far)[ends], sizes) - so_far
            kept = later < limit
        else:
            times = np.empty(len(arms))
            times[old], times[new] = np.asarray(self.at), at
            kept = times >= limit
        kept &= arms != HOLE
        places = np.cumsum(kept)
        self.starts = array(
            "I", np.append(0, places)[np.append(0, ends)].astype(np.uint32).tobytes()
        )
        self.arm = array("i", arms[kept].tobytes())
        if at is not None:
            self.at = array("d", times[kept].tobytes())
        places = np.where(kept, places - 1, -1)
        return places[old[open_entries]], places[new]
