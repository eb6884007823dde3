"""The engine: runs of studies, played in batches by workers that are all busy to the end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import NamedTuple

from fallow.studies.batch import Batch
from fallow.studies.study import Study
from fallow.studies.workers import Workers

BATCH_SECONDS = 0.5
"""Time that a batch should take: long compared with sending it, short compared with the whole."""
MAX_BATCH_RUNS = 1024
"""Largest number of runs in a batch, whose totals are in memory together."""
QUEUED_PER_WORKER = 2
"""Number of batches that wait for each worker, so that it never waits for the next."""
FINISHED_PER_WORKER = 32
"""Number of batches per worker whose results may wait for those of an earlier batch."""


class Part(NamedTuple):
    """Some consecutive runs of a study."""

    study: Study
    runs: range


def play_parts(parts: Sequence[Part], workers: Workers) -> Iterator[tuple[int, Batch]]:
    """Yield the runs of some parts in order, in batches, each with the index of its part.

    Batches are sized by what a run of the same study took before, and become smaller towards the
    end. Their sizes change nothing in the results.
    """
    seconds_per_run: dict[int, float] = {}
    left = sum(len(part.runs) for part in parts)
    waiting = deque((index, part.runs) for index, part in enumerate(parts) if part.runs)
    under_way: deque[tuple[int, Future[Batch]]] = deque()
    while waiting or under_way:
        count = workers.count()
        busy = [future for _, future in under_way if not future.done()]
        while (
            waiting
            and len(busy) < QUEUED_PER_WORKER * count
            and len(under_way) < FINISHED_PER_WORKER * count
        ):
            index, runs = waiting.popleft()
            study = parts[index].study
            size = batch_size(len(runs), seconds_per_run.get(id(study)), left, count)
            busy.append(workers.submit(study, runs[:size]))
            under_way.append((index, busy[-1]))
            left -= size
            if size < len(runs):
                waiting.appendleft((index, runs[size:]))
        index, future = under_way[0]
        if not future.done():
            wait(busy, return_when=FIRST_COMPLETED)
            continue
        under_way.popleft()
        batch = future.result()
        seconds_per_run[id(parts[index].study)] = batch.seconds / len(batch.runs)
        yield index, batch


def batch_size(runs: int, seconds_per_run: float | None, left: int, workers: int) -> int:
    """Return the number of runs in the next batch.

    Parameters
    ----------
    runs
        Number of runs that can be handed out now.
    seconds_per_run
        Time that a run of this study took before; None if not known yet.
    left
        Number of runs that are left in all.
    workers
        Number of workers that share them.

    Examples
    --------
    >>> [batch_size(8, None, 8, workers=2), batch_size(800, 0.01, 800, workers=2)]
    [1, 50]
    >>> batch_size(10, 0.01, 10, workers=2)  # towards the end
    2
    """
    if seconds_per_run is None:
        return 1
    affordable = int(BATCH_SECONDS / max(seconds_per_run, 1e-9))
    return max(1, min(affordable, left // (2 * workers), MAX_BATCH_RUNS, runs))
