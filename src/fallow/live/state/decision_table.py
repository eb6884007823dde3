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

from fallow.live.settings import CampaignSettings
from fallow.live.state.archive import Archive
from fallow.live.state.digest_map import DigestMap

OPEN, CLOSED, CANCELLED, DEFAULTED, EXPIRED = range(5)
"""What became of a decision: nothing yet, feedback, not shown, the default reward, or neither."""
DAY = 86_400.0
GROWTH = 1.5
"""Times the decisions that stayed in memory, until those that are forgotten are dropped again."""
NONE, CUT = -1, -(2**31)
"""In `previous`: no decision; and an entry that the archive no longer has. Entry n is -2 - n."""
# The last two change, the others do not.
COLUMNS = ("numbers", "user", "arm", "column", "previous", "at", "expected", "reward", "status")


class DecisionTable:
    """Decisions by their row in columns, in the order of their numbers.

    Decisions that are settled are remembered for at least `key_days` of the settings, and so are
    keys. Now and then what is older is dropped, and rows change: when a decision is added, before
    it gets its own row. What a user was shown stays in the archive as far back as it matters.

    Parameters
    ----------
    settings
        Those of the campaign.
    least_rows
        Decisions in memory before any are dropped.
    block
        Decisions of which only the time of the earliest open one is known.

    Attributes
    ----------
    users
        The number of each user, in the order in which they came.
    turn
        By user, how many decisions there were before the latest one.
    latest
        By user, the row of the latest decision, or -1 if it is in the archive.
    numbers, user, arm, column, at, expected, reward, status
        By row.
    previous
        By row, the decision of the same user before it, or -1. The entry of the archive, if the
        decision itself is there.
    dropped
        The largest number of a decision that was dropped.
    reach
        How many decisions of a user, or how many seconds, matter for the next one.
    """

    def __init__(self, settings: CampaignSettings, least_rows: int, block: int) -> None:
        self.last_times = [-math.inf] * 3
        self.dropped = 0
        self._least_rows = self.most_rows = least_rows
        self.users = DigestMap()
        self.latest = array("i")
        self.turn = array("I")
        self.archive = Archive()
        self.numbers = array("q")
        self.user = array("I")
        self.arm = array("i")
        self.column = array("i")
        self.previous = array("i")
        self.at = array("d")
        self.expected = array("d")
        self.reward = array("d")
        self.status = array("b")
        self.keys = DigestMap()
        self._overdue = OverdueIndex(block)
        self._block = block
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

    def row(self, number: int | None) -> int:
        """Return the row of the decision with a number, -1 if it never was or is forgotten."""
        numbers = self.numbers
        if number is None or not numbers:
            return -1
        # Each number is at least one above the one before, so the row is not far from the end.
        first = len(numbers) - 1 - max(0, numbers[-1] - number)
        row = bisect_left(numbers, number, max(0, first))
        return row if row < len(numbers) and numbers[row] == number else -1

    def forgot(self, number: int) -> bool:
        """Tell whether the decision with a number was settled and is forgotten.

        Numbers of other events up to that of a dropped decision are taken for such decisions.
        """
        return 0 < number <= self.dropped and self.row(number) < 0

    def decisions_for(self, user: str) -> int:
        """Return how many decisions were made for a user."""
        number = self.users.get(user)
        return 0 if number is None else self.turn[number] + 1

    def recent(self, user: str) -> Iterator[int]:
        """Yield the rows of the decisions that a user was shown, latest first.

        Those in the archive are left out; see `past`.
        """
        number = self.users.get(user)
        row = NONE if number is None else self.latest[number]
        while row >= 0:
            if self.status[row] != CANCELLED:
                yield row
            row = self.previous[row]

    def past(self, user: str) -> Iterator[tuple[int, float]]:
        """Yield arm and time of what a user was shown, latest first, as far back as it matters.

        There may be more, and where delays are rounds, a time that is no longer known is -inf.
        """
        number = self.users.get(user)
        if number is None:
            return
        for row in self.recent(user):
            yield self.arm[row], self.at[row]
        yield from self.archive.latest(number)

    def overdue(self, now: float) -> list[int]:
        """Return the rows of decisions for which feedback is late, oldest first."""
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
        """Add a decision for a user, and return its row."""
        if len(self.numbers) >= self.most_rows:
            self._drop()
        row, previous = len(self.numbers), NONE
        user = self.users.setdefault(name, len(self.latest))
        if user == len(self.latest):
            self.latest.append(row)
            self.turn.append(0)
        else:
            previous = self.latest[user]
            while previous >= 0 and self.status[previous] == CANCELLED:
                previous = self.previous[previous]
            self.latest[user] = row
            self.turn[user] += 1
        if key is not None:
            self.keys.put(key, row)
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
        return row

    def _cancel(self, row: int) -> None:
        self.status[row] = CANCELLED
        if CUT < self.previous[row] < NONE:
            self.archive.cancel(-2 - self.previous[row])

    def _drop(self) -> None:
        """Drop decisions that are forgotten, after what they showed is in the archive.

        Decisions of a user enter the archive in their order, so that a young one holds up those
        after it. Open decisions enter it and stay as well.
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
        moved, added = self.archive.extend(
            users,
            user[enters],
            np.asarray(self.arm)[enters],
            at[enters] if self._by_time else None,
            is_final[enters],
            -2 - previous[tracked],
            self.now - self.reach if self._by_time else self.reach,
        )
        rows = np.cumsum(stays, dtype=np.int32) - np.int32(1)
        links = np.append(np.where(stays & ~(leaves | is_entry), rows, NONE), NONE)
        latest = np.asarray(self.latest)
        latest[:] = links[latest]  # -1 stays -1
        before = links[np.maximum(previous, NONE)]
        before[is_entry] = CUT
        for chosen, entries in ((tracked, moved), (enters, added)):
            before[chosen] = np.where(entries < 0, CUT, -2 - entries)
        self.dropped = int(np.asarray(self.numbers)[~stays].max(initial=self.dropped))
        keyed = self.keys.numbers()
        known = ~is_old[keyed]
        self.keys = DigestMap.of(self.keys.digests()[known], rows[keyed[known]].astype(np.uint32))
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
        self._overdue = OverdueIndex(self._block)
        self.most_rows = max(self._least_rows, int(GROWTH * len(self.numbers)))
        if sys.platform == "linux" and (give_back := getattr(CDLL(None), "malloc_trim", None)):
            give_back(0)  # glibc holds on to what was used here, twice as much as what stays


class OverdueIndex:
    """Finds open decisions by their age, without a look at those that are too young.

    Nothing here is kept: it is found out again where it is not known.

    Attributes
    ----------
    earliest
        No open decision was made before this time.
    """

    def __init__(self, block: int) -> None:
        self.earliest = -math.inf
        self._block = block
        self._lows = np.empty(0)
        """By full block, a time before which no open decision of it was made."""

    def find(self, at: array[float], status: array[int], wait: float, now: float) -> list[int]:
        """Return which decisions have status 0 and were made `wait` seconds ago, or before."""
        if self.earliest + wait > now:
            return []
        block_size = self._block
        full, size = len(at) // block_size, -(-len(at) // block_size)
        lows = np.full(size, -math.inf)  # what is not known yet is looked at
        lows[: len(self._lows)] = self._lows
        found: list[int] = []
        for block in np.flatnonzero(lows + wait <= now).tolist():
            begin = block * block_size
            opened = np.flatnonzero(np.frombuffer(status[begin : begin + block_size], np.int8) == 0)
            times = np.frombuffer(at[begin : begin + block_size])[opened]
            lows[block] = times.min(initial=math.inf)
            found += (begin + opened[times + wait <= now]).tolist()
        self.earliest = float(lows.min(initial=math.inf))
        self._lows = lows[:full]
        return found
