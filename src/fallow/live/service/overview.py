"""All about a campaign, for those who watch it."""

from __future__ import annotations

import statistics

import numpy as np

from fallow.arrays import BoolArray, FloatArray
from fallow.live.events import CANCEL, DEFAULT, FEEDBACK
from fallow.live.policy import Belief
from fallow.live.service.hosted import Hosted
from fallow.live.service.messages import Arm, Bucket, Cell, Counts, Line, Overview
from fallow.live.settings import Settings
from fallow.live.state import EXPIRED, OPEN, State, View

LATE = 10.0
"""Times the median time to feedback, after which it is late where no wait is set."""
RECENT = 100_000
"""Decisions that the history looks back at."""
MOST_BUCKETS = 120
LENGTHS = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600)
"""Seconds of a bucket; above, whole hours."""
PACE = 10.0
"""Seconds over which decisions a second are counted."""


def line_of(hosted: Hosted) -> Line:
    """Return a campaign in short."""
    state = hosted.desk.state
    return Line(
        hosted.desk.name,
        state.settings.clock,
        state.retired.count(False),
        len(state.users),
        state.decisions,
        hosted.open,
    )


def overview_of(hosted: Hosted, now: float) -> tuple[View, Overview]:
    """Return what there is to see at a time, and what its cells are to be made from."""
    state = hosted.desk.state
    settings = state.settings
    return state.view(), Overview(
        name=hosted.desk.name,
        settings=settings.document(),
        counts=Counts(
            events=state.head,
            users=len(state.users),
            decisions=state.decisions,
            open=hosted.open,
            late=_late(hosted, now),
            feedback=state.kinds[FEEDBACK],
            cancelled=state.kinds[CANCEL],
            defaults=state.kinds[DEFAULT],
        ),
        arms=[Arm(*each) for each in zip(state.arms, state.retired, strict=True)],
        spans=_spans(settings),
        cells=[],
        plan=None,
        rest=None,
        history=_history(state, now),
        decisions_per_second=_pace(state, now),
    )


def cells_of(view: View) -> list[Cell]:
    """Return what is believed of each cell."""
    belief = Belief.of(view)
    columns = view.counts.shape[1]
    return [
        Cell(arm, delay, *numbers)
        for (arm, delay), *numbers in zip(
            ((arm, delay) for arm in view.arms for delay in range(1, columns + 1)),
            view.counts.ravel().tolist(),
            view.waiting.ravel().tolist(),
            belief.means.ravel().tolist(),
            belief.low.ravel().tolist(),
            belief.high.ravel().tolist(),
            strict=True,
        )
    ]


def _spans(settings: Settings) -> list[float | None]:
    """Return what each delay stands for, in rounds or seconds; None is rested."""
    if settings.clock == "rounds":
        return [*range(1, settings.columns), None]
    return [*settings.edges.tolist(), None]


def _late(hosted: Hosted, now: float) -> int:
    """Return how many decisions are without feedback for longer than is usual, or for good."""
    state = hosted.desk.state
    limit = state.settings.wait
    if limit is None:
        if not hosted.feedback_seconds:
            return 0
        limit = LATE * statistics.median(hosted.feedback_seconds)
    at, status = np.asarray(state.at), np.asarray(state.status)  # no copies
    is_missing = (status == OPEN) | (status == EXPIRED)
    return int(np.count_nonzero(is_missing & (at < now - limit)))


def _pace(state: State, now: float) -> float:
    """Return how many decisions a second were made of late; those dated after now do not count."""
    at = np.array(state.at[-RECENT:])
    return int(np.count_nonzero((at >= now - PACE) & (at <= now))) / PACE


def _history(state: State, now: float) -> list[Bucket]:
    """Return how the latest decisions fared, in at most `MOST_BUCKETS` buckets of equal length.

    Decisions dated after now count in the last bucket.
    """
    at = np.minimum(state.at[-RECENT:], now)
    if len(at) == 0:
        return []
    begin = float(at.min())
    wanted = max(now - begin, 1.0) / (MOST_BUCKETS - 1)
    length = next((each for each in LENGTHS if each >= wanted), -(-wanted // 3600) * 3600)
    first = begin // length
    places = (at // length - first).astype(np.int64)
    reward, expected = np.array(state.reward[-RECENT:]), np.array(state.expected[-RECENT:])
    known = ~np.isnan(reward)
    size = int(places.max()) + 1

    def sums(values: FloatArray, chosen: BoolArray) -> list[float]:
        found: list[float] = np.bincount(places[chosen], values[chosen], minlength=size).tolist()
        return found

    counts = (np.bincount(each, minlength=size).tolist() for each in (places, places[known]))
    columns = zip(*counts, sums(reward, known), sums(expected, known), strict=True)
    return [
        Bucket((first + place) * length, length, *values) for place, values in enumerate(columns)
    ]
