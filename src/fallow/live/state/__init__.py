"""What a campaign knows: a fold over its events, the same bits for the same events."""

from __future__ import annotations

import json
import math
import sys
from array import array
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from itertools import chain
from typing import Any, NamedTuple
from weakref import ref
from zlib import crc32

import numpy as np

from fallow.arrays import IntArray
from fallow.live.events import (
    ARM,
    CANCEL,
    DECISION,
    EXPIRE,
    FEEDBACK,
    RETIRE,
    Event,
    checksum_after,
)
from fallow.live.settings import CampaignSettings
from fallow.live.state.decision_table import CANCELLED as CANCELLED
from fallow.live.state.decision_table import CLOSED as CLOSED
from fallow.live.state.decision_table import COLUMNS, DecisionTable
from fallow.live.state.decision_table import DEFAULTED as DEFAULTED
from fallow.live.state.decision_table import EXPIRED as EXPIRED
from fallow.live.state.decision_table import OPEN as OPEN
from fallow.live.state.digest_map import DigestMap

UNIT = 2.0**32
"""Rewards are added up as whole numbers of 1 / UNIT, so that their order makes no difference."""
FORMAT = f"fallow state 3 {sys.byteorder}\n".encode()
"""What a state as bytes begins with, before a checksum; the number is that of the layout."""
STEPS = 4
"""Classes of the time between two decisions of a user, for each doubling of it."""
CLASSES = 256
SHORTEST_GAP = 2.0**-20
NO_GAPS = 1.0
LEAST_ROWS = 2**14
"""Decisions in memory before any are dropped."""
BLOCK = 1024
"""Decisions of which only the time of the earliest open one is known."""


class PlanningView(NamedTuple):
    """What decisions are planned from, as it was at one moment; as in `State`."""

    settings: CampaignSettings
    arms: tuple[str, ...]
    retired: tuple[bool, ...]
    counts: IntArray
    sums: IntArray
    waiting: IntArray
    pace: float


class State(DecisionTable):
    """Cells pooled over users, and the decisions that are remembered.

    Attributes
    ----------
    arms, retired
        The arms by name, and which of them are no longer chosen.
    counts, sums, waiting
        By arm and delay: rewards, their sum in units of 1 / UNIT, and decisions without one.
    kinds
        How many events of each kind there were.
    head
        The number of the last event.
    checksum
        Of the settings and all events.
    """

    def __init__(
        self, settings: CampaignSettings, *, least_rows: int = LEAST_ROWS, block: int = BLOCK
    ) -> None:
        super().__init__(settings, least_rows, block)
        self.settings = settings
        self.arms: list[str] = []
        self.retired: list[bool] = []
        self.arm_indices: dict[str, int] = {}
        # Lists, because one cell at a time changes.
        self.counts: list[list[int]] = []
        self.sums: list[list[int]] = []
        self.waiting: list[list[int]] = []
        self.kinds: Counter[str] = Counter()
        self.head = 0
        self.checksum = crc32(settings.to_json().encode())
        self.gaps = [0] * CLASSES
        self.snapshot_at = 0
        """The last event of the snapshot that it was read from."""
        for name in settings.arms:
            self._add_arm(name)

    @property
    def decisions(self) -> int:
        """How many decisions were made."""
        return self.kinds[DECISION]

    def apply(self, number: int, event: Event) -> int:
        """Take in the next event; return the row of the decision that it is about, -1 if none.

        Nothing else changes when that decision was forgotten since the event was made.
        """
        self.head = number
        self.checksum = checksum_after(self.checksum, event)
        kind = event.kind
        self.kinds[kind] += 1
        row = -1 if event.ref is None else self.row(event.ref)
        self.last_times[number % 3] = event.at
        if kind == DECISION:
            return self._decide(number, event)
        if kind == ARM:
            self._add_arm(event.arm or "")
        elif kind == RETIRE:
            self.retired[self.arm_indices[event.arm or ""]] = True
        elif row >= 0:
            self._settle(row, event)
        return row

    @property
    def pace(self) -> float:
        """The median time in seconds between two decisions of a user, to a quarter of an octave.

        It is found out where delays are elapsed time, from what `past` knows.
        """
        total = sum(self.gaps)
        if total == 0:
            return NO_GAPS
        middle = int(np.searchsorted(np.cumsum(self.gaps), (total + 1) // 2))
        return float(SHORTEST_GAP * 2 ** ((middle + 0.5) / STEPS))

    def view(self) -> PlanningView:
        """Return a copy of what decisions are planned from."""
        return PlanningView(
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
        if self._by_time and (shown := next(self.past(user), None)) is not None:
            gap = max(at - shown[1], SHORTEST_GAP)
            step = int(math.log2(gap / SHORTEST_GAP) * STEPS)
            self.gaps[min(step, CLASSES - 1)] += 1
        arm, column = self.arm_indices[name], delay - 1
        self.waiting[arm][column] += 1
        expected = math.nan if expected is None else expected
        return self._add(user, key, number, arm, column, at, expected)

    def _settle(self, row: int, event: Event) -> None:
        self._open_again(row)
        arm, column = self.arm[row], self.column[row]
        self.waiting[arm][column] -= 1
        if event.kind == CANCEL:
            self._cancel(row)
        elif event.kind == EXPIRE:
            self.status[row] = EXPIRED
        else:
            assert event.reward is not None
            self.counts[arm][column] += 1
            self.sums[arm][column] += round(event.reward * UNIT)
            self.reward[row] = event.reward
            self.status[row] = CLOSED if event.kind == FEEDBACK else DEFAULTED

    def _open_again(self, row: int) -> None:
        """Take back that a decision was given its default reward, or given up."""
        arm, column = self.arm[row], self.column[row]
        if self.status[row] != OPEN:
            self.waiting[arm][column] += 1
        if self.status[row] == DEFAULTED:
            self.counts[arm][column] -= 1
            self.sums[arm][column] -= round(self.reward[row] * UNIT)
            self.reward[row] = math.nan

    def _add_arm(self, name: str) -> None:
        if name in self.arm_indices:
            self.retired[self.arm_indices[name]] = False
            return
        self.arm_indices[name] = len(self.arms)
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
        names = [
            each.tobytes()
            for known in (self.users, self.keys)
            for each in (known.digests(), known.numbers())
        ]
        growing, changing = self._arrays()
        lengths = [len(each) for each in growing]
        changing = [each[:] for each in changing]
        header = {
            "settings": self.settings.document(),
            "lengths": [*map(len, names), *lengths, *map(len, changing)],
            **{name: deepcopy(getattr(self, name)) for name in PLAIN},
        }

        def make() -> bytes:
            line = json.dumps(header, separators=(",", ":")).encode() + b"\n"
            fixed = (each[:length] for each, length in zip(growing, lengths, strict=True))
            content = b"".join((line, *names, *fixed, *changing))
            return FORMAT + crc32(content).to_bytes(4) + content

        self._reader = ref(make)
        return make

    @classmethod
    def from_bytes(cls, content: bytes, *, least_rows: int = LEAST_ROWS) -> State:
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
        state = cls(CampaignSettings.from_document(header["settings"]), least_rows=least_rows)
        for name in PLAIN:
            setattr(state, name, header[name])
        state.kinds = Counter(state.kinds)
        state.arm_indices = {name: index for index, name in enumerate(state.arms)}
        lengths = iter(header["lengths"])
        view = view[end + 1 :]

        def take(item_size: int) -> memoryview:
            nonlocal view
            size = next(lengths) * item_size
            taken, view = view[:size], view[size:]
            return taken

        for name in ("users", "keys"):
            digests = np.frombuffer(take(1), np.uint64)
            setattr(state, name, DigestMap.of(digests, np.frombuffer(take(1), np.uint32)))
        for part in chain(*state._arrays()):
            del part[:]
            part.frombytes(take(part.itemsize))
        return state

    def _arrays(self) -> tuple[list[array[Any]], list[array[Any]]]:
        """Return the arrays that only grow, and those in which values change."""
        columns = [getattr(self, name) for name in COLUMNS]
        archive = self.archive
        return (
            [archive.starts, archive.at, *columns[:-2]],
            [archive.arm, self.latest, self.turn, *columns[-2:]],
        )


PLAIN = (
    *("arms", "retired", "kinds", "head", "checksum", "counts", "sums", "waiting", "gaps"),
    *("last_times", "dropped", "most_rows"),
)
