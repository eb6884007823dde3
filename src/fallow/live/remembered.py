"""The decisions that a campaign remembers, and what its users were shown."""

from __future__ import annotations

import math
import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from ctypes import CDLL
from weakref import ref

import numpy as np

from fallow.live.names import Names
from fallow.live.overdue import Overdue
from fallow.live.settings import Settings
from fallow.live.trail import Trail

OPEN, CLOSED, CANCELLED, DEFAULTED, EXPIRED = range(5)
"""What became of a decision: nothing yet, feedback, not shown, the default reward, or neither."""
DAY = 86_400.0
GROWTH = 1.5
"""Times the decisions that stayed in memory, until those that are forgotten are dropped again."""
LEAST_ROWS = 2**14
"""Decisions in memory before any are dropped."""
NONE, CUT = -1, -(2**31)
"""In `previous`: no decision; and an entry that the trail no longer has. Entry n is -2 - n."""
# The last two change, the others do not.
COLUMNS = ("numbers", "user", "arm", "column", "previous", "at", "expected", "reward", "status")


class Remembered:
    """Decisions by their place in columns, in the order of their numbers.

    Decisions that are settled are remembered for at least `key_days` of the settings, and so are
    keys. Now and then what is older is dropped, and places change: when a decision is added, before
    it gets its own place. What a user was shown stays in the trail as far back as
    it matters.

    Attributes
    ----------
    users
        The number of each user, in the order in which they came.
    turn
        By user, how many decisions there were before the latest one.
    latest
        By user, the place of the latest decision, or -1 if it is in the trail.
    numbers, user, arm, column, at, expected, reward, status
        By place.
    previous
        By place, the decision of the same user before it, or -1. The entry of the trail, if the
        decision itself is there.
    dropped
        The largest number of a decision that was dropped.
    reach
        How many decisions of a user, or how many seconds, matter for the next one.
    """

    def __init__(self, settings: Settings) -> None:
        self.last_times = [-math.inf] * 3
        self.dropped = 0
        self.most_rows = LEAST_ROWS
        self.users = Names()
        self.latest = array("i")
        self.turn = array("I")
        self.trail = Trail()
        self.numbers = array("q")
        self.user = array("I")
        self.arm = array("i")
        self.column = array("i")
        self.previous = array("i")
        self.at = array("d")
        self.expected = array("d")
        self.reward = array("d")
        self.status = array("b")
        self.keys = Names()
        self._overdue = Overdue()
        self._reader: ref[Callable[[], bytes]] | None = None
        """What still has to read the columns as they are."""
        self._wait = settings.wait
        self._memory = settings.key_days * DAY
        self._by_time = settings.clock == "time"
        spans = [settings.max_delay]
        for rule in settings.rules:
            spans += [rule.rounds, rule.seconds or 0.0]
        self.reach = max(*spans, self._memory if self._by_time else 0)

    @property
    def now(self) -> float:
        """The median time of the last three events, which a single wild time does not change."""
        return sorted(self.last_times)[1]

    def place(self, number: int | None) -> int:
        """Return the place of the decision with a number, -1 if it never was or is forgotten."""
        numbers = self.numbers
        if number is None or not numbers:
            return -1
        # Each number is at least one above the one before, so the place is not far from the end.
        first = len(numbers) - 1 - max(0, numbers[-1] - number)
        place = bisect_left(numbers, number, max(0, first))
        return place if place < len(numbers) and numbers[place] == number else -1

    def forgot(self, number: int) -> bool:
        """Tell whether the decision with a number was settled and is forgotten.

        Numbers of other events up to that of a dropped decision are taken for such decisions.
        """
        return 0 < number <= self.dropped and self.place(number) < 0

    def recent(self, user: str) -> Iterator[int]:
        """Yield the places of the decisions that a user was shown, latest first.

        Those in the trail are left out; see `past`.
        """
        number = self.users.get(user)
        place = NONE if number is None else self.latest[number]
        while place >= 0:
            if self.status[place] != CANCELLED:
                yield place
            place = self.previous[place]

    def past(self, user: str) -> Iterator[tuple[int, float]]:
        """Yield arm and time of what a user was shown, latest first, as far back as it matters.

        There may be more, and where delays are rounds, a time that is no longer known is -inf.
        """
        number = self.users.get(user)
        if number is None:
            return
        for place in self.recent(user):
            yield self.arm[place], self.at[place]
        yield from self.trail.latest(number)

    def overdue(self, now: float) -> list[int]:
        """Return the places of decisions for which feedback is late, oldest first."""
        if self._wait is None:
            return []
        return self._overdue.find(self.at, self.status, self._wait, now)

    def _add(
        self,
        name: str,
        key: str | None,
        number: int,
        arm: int,
        column: int,
        at: float,
        expected: float,
    ) -> int:
        """Add a decision for a user, and return its place."""
        if len(self.numbers) >= self.most_rows:
            self._drop()
        place, previous = len(self.numbers), NONE
        user = self.users.setdefault(name, len(self.latest))
        if user == len(self.latest):
            self.latest.append(place)
            self.turn.append(0)
        else:
            previous = self.latest[user]
            while previous >= 0 and self.status[previous] == CANCELLED:
                previous = self.previous[previous]
            self.latest[user] = place
            self.turn[user] += 1
        if key is not None:
            self.keys.put(key, place)
        if at < self._overdue.earliest:
            self._overdue.earliest = at
        self.numbers.append(number)
        self.user.append(user)
        self.arm.append(arm)
        self.column.append(column)
        self.previous.append(previous)
        self.at.append(at)
        self.expected.append(expected)
        self.reward.append(math.nan)
        self.status.append(OPEN)
        return place

    def _cancel(self, place: int) -> None:
        self.status[place] = CANCELLED
        if CUT < self.previous[place] < NONE:
            self.trail.cancel(-2 - self.previous[place])

    def _drop(self) -> None:
        """Drop decisions that are forgotten, after what they showed is in the trail.

        Decisions of a user enter the trail in their order, so that a young one holds up those after
        it. Open decisions enter it and stay as well.
        """
        size, users = len(self.numbers), len(self.users)
        user, previous = np.asarray(self.user), np.asarray(self.previous)  # no copies
        at, status = np.asarray(self.at), np.asarray(self.status)
        is_old = at < self.now - self._memory
        is_open = status == OPEN
        is_final = (status == CLOSED) | (status == CANCELLED) | (is_old & ~is_open)
        is_entry = previous < NONE
        young = np.flatnonzero(~(is_old | is_entry))[::-1]
        first_young = np.full(users, size, np.int32)
        first_young[user[young]] = young  # where a user has several, the last write is the first
        leaves = is_old & ~is_entry & (np.arange(size, dtype=np.int32) < first_young[user])
        stays = is_open | ~(is_old & (leaves | is_entry))
        if stays.all() and not leaves.any():
            self.most_rows = int(GROWTH * size)
            return
        enters = np.flatnonzero(leaves & (status != CANCELLED))
        tracked = np.flatnonzero(is_entry & (previous > CUT) & ~is_final)
        moved, added = self.trail.extend(
            users,
            user[enters],
            np.asarray(self.arm)[enters],
            at[enters] if self._by_time else None,
            is_final[enters],
            -2 - previous[tracked],
            self.now - self.reach if self._by_time else self.reach,
        )
        places = np.cumsum(stays, dtype=np.int32) - np.int32(1)
        links = np.append(np.where(stays & ~(leaves | is_entry), places, NONE), NONE)
        latest = np.asarray(self.latest)
        latest[:] = links[latest]  # -1 stays -1
        before = links[np.maximum(previous, NONE)]
        before[is_entry] = CUT
        for chosen, entries in ((tracked, moved), (enters, added)):
            before[chosen] = np.where(entries < 0, CUT, -2 - entries)
        self.dropped = int(np.asarray(self.numbers)[~stays].max(initial=self.dropped))
        keyed = self.keys.numbers()
        known = ~is_old[keyed]
        self.keys = Names.of(self.keys.digests()[known], places[keyed[known]].astype(np.uint32))
        del user, previous, at, status, latest  # no column changes its size while it is looked at
        # Columns shrink where they are, which leaves no holes in memory.
        is_lent = self._reader is not None and self._reader() is not None
        size = int(np.count_nonzero(stays))
        for name in COLUMNS:
            column = getattr(self, name)
            if is_lent:
                column = column[:]
                setattr(self, name, column)
            values = np.asarray(column)
            values[:size] = (before if name == "previous" else values)[stays]
            del values, column[size:]
        self._overdue = Overdue()
        self.most_rows = max(LEAST_ROWS, int(GROWTH * len(self.numbers)))
        if sys.platform == "linux" and (give_back := getattr(CDLL(None), "malloc_trim", None)):
            give_back(0)  # glibc holds on to what was used here, twice as much as what stays
