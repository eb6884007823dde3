"""The engine: runs of studies, played in batches by workers that are all busy to the end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import NamedTuple

from fallow.studies.batch import Batch
from fallow.studies.study import Study
from fallow.studies.workers import Workers

SECONDS = 0.5
"""How long a batch is meant to take: long against handing it out, short against the whole."""
RUNS = 1024
"""Most runs in a batch, whose totals are in memory together."""
AHEAD = 2
"""Batches that each worker has before it, so that it never waits for the next."""
KEPT = 32
"""Batches for each worker whose results may wait for those of an earlier one."""


class Part(NamedTuple):
    """Some consecutive runs of a study."""

    study: Study
    runs: range


def play_parts(parts: Sequence[Part], workers: Workers) -> Iterator[tuple[int, Batch]]:
    """Yield the runs of some parts in order, in batches, each with the place of its part.

    Batches are sized by what a run of the same study took before, and become smaller towards the
    end. Their sizes change nothing in the results.
    """
    seconds_a_run: dict[int, float] = {}
    left = sum(len(part.runs) for part in parts)
    waiting = deque((place, part.runs) for place, part in enumerate(parts) if part.runs)
    under_way: deque[tuple[int, Future[Batch]]] = deque()
    while waiting or under_way:
        count = workers.count()
        busy = [future for _, future in under_way if not future.done()]
        while waiting and len(busy) < AHEAD * count and len(under_way) < KEPT * count:
            place, runs = waiting.popleft()
            study = parts[place].study
            size = batch_size(len(runs), seconds_a_run.get(id(study)), left, count)
            busy.append(workers.submit(study, runs[:size]))
            under_way.append((place, busy[-1]))
            left -= size
            if size < len(runs):
                waiting.appendleft((place, runs[size:]))
        place, future = under_way[0]
        if not future.done():
            wait(busy, return_when=FIRST_COMPLETED)
            continue
        under_way.popleft()
        batch = future.result()
        seconds_a_run[id(parts[place].study)] = batch.seconds / len(batch.runs)
        yield place, batch


def batch_size(runs: int, seconds_a_run: float | None, left: int, workers: int) -> int:
    """Return how many of the next runs make a batch.

    Parameters
    ----------
    runs
        What can be handed out.
    seconds_a_run
        None if not known yet.
    left
        Runs that are left in all.
    workers
        How many share them.

    Examples
    --------
    >>> [batch_size(8, None, 8, workers=2), batch_size(800, 0.01, 800, workers=2)]
    [1, 50]
    >>> batch_size(10, 0.01, 10, workers=2)  # towards the end
    2
    """
    if seconds_a_run is None:
        return 1
    affordable = min(int(SECONDS / max(seconds_a_run, 1e-9)), left // (2 * workers), RUNS, runs)
    return max(1, affordable)
