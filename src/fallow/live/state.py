"""What a campaign knows: a fold over its events, the same whoever folds them."""

from __future__ import annotations

import json
import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import NamedTuple
from zlib import crc32

import numpy as np

from fallow.arrays import IntArray
from fallow.live.events import (
    ARM,
    CANCEL,
    DECISION,
    DEFAULT,
    EXPIRE,
    FEEDBACK,
    RETIRE,
    Event,
    checksum_after,
)
from fallow.live.settings import Settings

UNIT = 2.0**32
"""Rewards are added up as whole numbers of 1 / UNIT, so that their order makes no difference."""
FORMAT = b"fallow state 2\n"
"""What a state as bytes begins with, before a checksum; another number for another layout."""
OPEN, CLOSED, CANCELLED, DEFAULTED, EXPIRED = range(5)
"""What became of a decision: nothing yet, feedback, not shown, the default reward, or neither."""
STEPS = 4
"""Classes of the time between two decisions of a user, for each doubling of it."""
CLASSES = 256
SHORTEST_GAP = 2.0**-20
NO_GAPS = 1.0


class View(NamedTuple):
    """What decisions are planned from, as it was at one moment; as in `State`."""

    settings: Settings
    arms: tuple[str, ...]
    retired: tuple[bool, ...]
    counts: IntArray
    sums: IntArray
    waiting: IntArray
    pace: float


class State:
    """Cells pooled over users, and what each user was shown.

    Attributes
    ----------
    arms, retired
        The arms by name, and which of them are no longer chosen.
    counts, sums, waiting
        By arm and delay: rewards, their sum in units of 1 / UNIT, and decisions without one.
    users
        The place of each user's latest decision.
    kinds
        How many events of each kind there were.
    head
        The number of the last event.
    checksum
        Of the settings and all events.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.arms: list[str] = []
        self.retired: list[bool] = []
        self.places: dict[str, int] = {}
        # Lists, because one cell at a time changes.
        self.counts: list[list[int]] = []
        self.sums: list[list[int]] = []
        self.waiting: list[list[int]] = []
        self.users: dict[str, int] = {}
        self.keys: dict[str, int] = {}
        self.kinds: Counter[str] = Counter()
        self.head = 0
        self.checksum = crc32(settings.to_json().encode())
        self.gaps = [0] * CLASSES
        self.snapshot_at = 0
        """The last event of the snapshot that it was read from."""
        self.oldest = 0
        """The place of the first decision that may still be waited for."""
        # By decision, in the order of their numbers.
        self.numbers = array("q")
        self.arm = array("i")
        self.column = array("i")
        self.previous = array("q")
        self.turn = array("i")
        self.at = array("d")
        self.expected = array("d")
        self.reward = array("d")
        self.status = array("b")
        for name in settings.arms:
            self._add_arm(name)

    def apply(self, number: int, event: Event) -> int:
        """Take in the next event; return the place of the decision that it is about, -1 if none."""
        self.head = number
        self.checksum = checksum_after(self.checksum, event)
        kind = event.kind
        self.kinds[kind] += 1
        place = self.place(event.ref)
        if kind == DECISION:
            place = self._decide(number, event)
        elif kind in (FEEDBACK, DEFAULT):
            self._close(place, event)
        elif kind in (CANCEL, EXPIRE):
            self._open_again(place)
            self.waiting[self.arm[place]][self.column[place]] -= 1
            self.status[place] = CANCELLED if kind == CANCEL else EXPIRED
        elif kind == ARM:
            self._add_arm(event.arm or "")
        elif kind == RETIRE:
            self.retired[self.places[event.arm or ""]] = True
        return place

    def place(self, number: int | None) -> int:
        """Return the place of the decision with a number, -1 if there is none."""
        if number is None:
            return -1
        place = bisect_left(self.numbers, number)
        return place if place < len(self.numbers) and self.numbers[place] == number else -1

    def recent(self, user: str) -> Iterator[int]:
        """Yield the places of the decisions that a user was shown, latest first."""
        place = self.users.get(user, -1)
        while place >= 0:
            if self.status[place] != CANCELLED:
                yield place
            place = self.previous[place]

    def overdue(self, now: float) -> Iterator[int]:
        """Yield the places of decisions for which feedback is late, oldest first."""
        wait = self.settings.wait
        if wait is None:
            return
        try:
            self.oldest = self.status.index(OPEN, self.oldest)
        except ValueError:
            self.oldest = len(self.status)
        place = self.oldest
        while place < len(self.at) and self.at[place] + wait <= now:
            if self.status[place] == OPEN:
                yield place
            place += 1

    @property
    def pace(self) -> float:
        """The median time in seconds between two decisions of a user, to a quarter of an octave."""
        total = sum(self.gaps)
        if total == 0:
            return NO_GAPS
        middle = int(np.searchsorted(np.cumsum(self.gaps), (total + 1) // 2))
        return float(SHORTEST_GAP * 2 ** ((middle + 0.5) / STEPS))

    def view(self) -> View:
        """Return a copy of what decisions are planned from."""
        return View(
            self.settings,
            tuple(self.arms),
            tuple(self.retired),
            np.array(self.counts, np.int64),
            np.array(self.sums, np.int64),
            np.array(self.waiting, np.int64),
            self.pace,
        )

    def _decide(self, number: int, event: Event) -> int:
        _, at, _, user, name, delay, _, _, expected, key, _ = event
        assert user is not None
        assert name is not None
        assert delay is not None
        place = len(self.numbers)
        previous = self.users.get(user, -1)
        turn = self.turn[previous] + 1 if previous >= 0 else 0
        while previous >= 0 and self.status[previous] == CANCELLED:
            previous = self.previous[previous]
        if previous >= 0:
            gap = max(at - self.at[previous], SHORTEST_GAP)
            step = int(math.log2(gap / SHORTEST_GAP) * STEPS)
            self.gaps[min(step, CLASSES - 1)] += 1
        self.users[user] = place
        if key is not None:
            self.keys[key] = place
        arm, column = self.places[name], delay - 1
        self.numbers.append(number)
        self.arm.append(arm)
        self.column.append(column)
        self.previous.append(previous)
        self.turn.append(turn)
        self.at.append(at)
        self.expected.append(math.nan if expected is None else expected)
        self.reward.append(math.nan)
        self.status.append(OPEN)
        self.waiting[arm][column] += 1
        return place

    def _close(self, place: int, event: Event) -> None:
        assert event.reward is not None
        self._open_again(place)
        arm, column = self.arm[place], self.column[place]
        self.waiting[arm][column] -= 1
        self.counts[arm][column] += 1
        self.sums[arm][column] += round(event.reward * UNIT)
        self.reward[place] = event.reward
        self.status[place] = CLOSED if event.kind == FEEDBACK else DEFAULTED

    def _open_again(self, place: int) -> None:
        """Take back that a decision was given its default reward, or given up."""
        arm, column = self.arm[place], self.column[place]
        if self.status[place] != OPEN:
            self.waiting[arm][column] += 1
        if self.status[place] == DEFAULTED:
            self.counts[arm][column] -= 1
            self.sums[arm][column] -= round(self.reward[place] * UNIT)
            self.reward[place] = math.nan

    def _add_arm(self, name: str) -> None:
        if name in self.places:
            self.retired[self.places[name]] = False
            return
        self.places[name] = len(self.arms)
        self.arms.append(name)
        self.retired.append(False)
        for table in (self.counts, self.sums, self.waiting):
            table.append([0] * self.settings.columns)

    def to_bytes(self) -> bytes:
        """Return the state as bytes, the same for the same events: a line of JSON, then arrays."""
        return self.snapshot()()

    def snapshot(self) -> Callable[[], bytes]:
        """Return what makes the state of this moment into bytes, in any thread, while it goes on.

        Only what may change is copied at once, which takes a tenth of the time of the whole.
        """
        header = {
            "settings": self.settings.document(),
            "users": list(self.users),
            "keys": list(self.keys),
            "decisions": len(self.numbers),
            **{name: deepcopy(getattr(self, name)) for name in PLAIN},
        }
        latest = array("q", self.users.values()), array("q", self.keys.values())
        fixed = [getattr(self, name) for name in FIXED]  # they only grow
        changing = [getattr(self, name)[:] for name in CHANGING]

        def make() -> bytes:
            line = json.dumps(header, separators=(",", ":")).encode() + b"\n"
            columns = (column[: header["decisions"]] for column in fixed)
            content = b"".join((line, *latest, *columns, *changing))
            return FORMAT + crc32(content).to_bytes(4) + content

        return make

    @classmethod
    def from_bytes(cls, content: bytes) -> State:
        """Return the state that `to_bytes` wrote."""
        view = memoryview(content)  # nothing is copied
        start = len(FORMAT) + 4
        if view[:start] != FORMAT + crc32(view[start:]).to_bytes(4):
            raise ValueError(
                f"content must be what to_bytes of this version wrote, got {content[:start]!r} "
                f"before {len(content):,} bytes with another checksum"
            )
        end = content.index(b"\n", start)
        header = json.loads(content[start:end])
        state = cls(Settings.from_document(header["settings"]))
        for name in PLAIN:
            setattr(state, name, header[name])
        state.kinds = Counter(state.kinds)
        state.places = {name: place for place, name in enumerate(state.arms)}
        view = view[end + 1 :]

        def take(type_code: str, length: int) -> array[int]:
            nonlocal view
            taken: array[int] = array(type_code)
            size = length * taken.itemsize
            taken.frombytes(view[:size])
            view = view[size:]
            return taken

        for name in ("users", "keys"):
            names = header[name]
            setattr(state, name, dict(zip(names, take("q", len(names)), strict=True)))
        for name in FIXED + CHANGING:
            code = getattr(state, name).typecode
            setattr(state, name, take(code, header["decisions"]))
        return state


PLAIN = ("arms", "retired", "kinds", "head", "checksum", "counts", "sums", "waiting", "gaps")
FIXED = ("numbers", "arm", "column", "previous", "turn", "at", "expected")
CHANGING = ("reward", "status")
