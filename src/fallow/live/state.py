"""What a campaign knows: a fold over its events, the same whoever folds them."""

from __future__ import annotations

import json
import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

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
)
from fallow.live.settings import Settings

UNIT = 2.0**32
"""Rewards are added up as whole numbers of 1 / UNIT, so that their order makes no difference."""
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
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.arms: list[str] = []
        self.retired: list[bool] = []
        self.places: dict[str, int] = {}
        self.counts = np.zeros((0, settings.columns), np.int64)
        self.sums = self.counts.copy()
        self.waiting = self.counts.copy()
        self.users: dict[str, int] = {}
        self.keys: dict[str, int] = {}
        self.kinds: Counter[str] = Counter()
        self.head = 0
        self.gaps = np.zeros(CLASSES, np.int64)
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

    def apply(self, number: int, event: Event) -> None:
        """Take in the next event."""
        self.head = number
        self.kinds[event.kind] += 1
        kind = event.kind
        if kind == DECISION:
            self._decide(number, event)
        elif kind in (FEEDBACK, DEFAULT):
            self._close(self.place(event.ref), event)
        elif kind in (CANCEL, EXPIRE):
            place = self.place(event.ref)
            self._stop_waiting(place)
            self.status[place] = CANCELLED if kind == CANCEL else EXPIRED
        elif kind == ARM:
            self._add_arm(event.arm or "")
        elif kind == RETIRE:
            self.retired[self.places[event.arm or ""]] = True

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
        while self.oldest < len(self.at) and self.status[self.oldest] != OPEN:
            self.oldest += 1
        place = self.oldest
        while place < len(self.at) and self.at[place] + wait <= now:
            if self.status[place] == OPEN:
                yield place
            place += 1

    @property
    def pace(self) -> float:
        """The median time in seconds between two decisions of a user, to a quarter of an octave."""
        total = int(self.gaps.sum())
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
            self.counts.copy(),
            self.sums.copy(),
            self.waiting.copy(),
            self.pace,
        )

    def _decide(self, number: int, event: Event) -> None:
        assert event.user is not None
        assert event.arm is not None
        assert event.delay is not None
        place = len(self.numbers)
        previous = self.users.get(event.user, -1)
        if previous >= 0:
            gap = max(event.at - self.at[previous], SHORTEST_GAP)
            step = int(math.log2(gap / SHORTEST_GAP) * STEPS)
            self.gaps[min(step, CLASSES - 1)] += 1
        self.users[event.user] = place
        if event.key is not None:
            self.keys[event.key] = place
        arm, column = self.places[event.arm], event.delay - 1
        self.numbers.append(number)
        self.arm.append(arm)
        self.column.append(column)
        self.previous.append(previous)
        self.turn.append(self.turn[previous] + 1 if previous >= 0 else 0)
        self.at.append(event.at)
        self.expected.append(math.nan if event.expected is None else event.expected)
        self.reward.append(math.nan)
        self.status.append(OPEN)
        self.waiting[arm, column] += 1

    def _close(self, place: int, event: Event) -> None:
        assert event.reward is not None
        cell = self.arm[place], self.column[place]
        if self.status[place] == DEFAULTED:
            self.sums[cell] -= round(self.reward[place] * UNIT)
        else:
            self._stop_waiting(place)
            self.counts[cell] += 1
        self.sums[cell] += round(event.reward * UNIT)
        self.reward[place] = event.reward
        self.status[place] = CLOSED if event.kind == FEEDBACK else DEFAULTED

    def _stop_waiting(self, place: int) -> None:
        if self.status[place] == OPEN:
            self.waiting[self.arm[place], self.column[place]] -= 1

    def _add_arm(self, name: str) -> None:
        if name in self.places:
            self.retired[self.places[name]] = False
            return
        self.places[name] = len(self.arms)
        self.arms.append(name)
        self.retired.append(False)
        for table in ("counts", "sums", "waiting"):
            row = np.zeros((1, self.settings.columns), np.int64)
            setattr(self, table, np.vstack([getattr(self, table), row]))

    def to_bytes(self) -> bytes:
        """Return the state as bytes: a line of JSON, then arrays."""
        arrays = [*(getattr(self, name) for name in TABLES), *(getattr(self, n) for n in COLUMNS)]
        header = {
            "settings": self.settings.document(),
            "arms": self.arms,
            "retired": self.retired,
            "users": list(self.users),
            "keys": list(self.keys),
            "kinds": dict(self.kinds),
            "head": self.head,
            "oldest": self.oldest,
            "decisions": len(self.numbers),
        }
        latest = array("q", self.users.values()), array("q", self.keys.values())
        line = json.dumps(header, separators=(",", ":")).encode() + b"\n"
        return line + b"".join(each.tobytes() for each in (*latest, *arrays))

    @classmethod
    def from_bytes(cls, content: bytes) -> State:
        """Return the state that `to_bytes` wrote."""
        line, _, _ = content.partition(b"\n")
        header = json.loads(line)
        state = cls(Settings.from_document(header["settings"]))
        state.arms, state.retired = header["arms"], header["retired"]
        state.places = {name: place for place, name in enumerate(state.arms)}
        state.kinds = Counter(header["kinds"])
        state.head, state.oldest = header["head"], header["oldest"]
        view = memoryview(content)[len(line) + 1 :]

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
        cells = len(state.arms) * state.settings.columns
        for name in TABLES:
            length = CLASSES if name == "gaps" else cells
            table: IntArray = np.frombuffer(take("q", length), np.int64).copy()
            shaped = table if name == "gaps" else table.reshape(-1, state.settings.columns)
            setattr(state, name, shaped)
        for name in COLUMNS:
            code = getattr(state, name).typecode
            setattr(state, name, take(code, header["decisions"]))
        return state


TABLES = ("counts", "sums", "waiting", "gaps")
COLUMNS = ("numbers", "arm", "column", "previous", "turn", "at", "expected", "reward", "status")
