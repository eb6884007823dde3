"""Runs handed out to workers so that all of them are busy to the end."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from importlib.metadata import version

from fallow.studies.folder import Piece
from fallow.studies.play import Part, Task, play
from fallow.studies.spec import Spec
from fallow.studies.tally import BLOCK
from fallow.studies.workers import Workers

SECONDS = 0.5
"""How long a task is meant to take: long against handing it out, short against the whole."""
RUNS = 16 * BLOCK
"""Most runs in a task, whose values are in memory together."""
AHEAD = 2
"""Tasks that each worker has before it, so that it never waits for the next."""
KEPT = 32
"""Tasks for each worker whose results may wait for those of an earlier one."""


def played(
    spec: Spec, missing: Sequence[Piece], rows: bool, workers: Workers
) -> Iterator[tuple[Piece, Part]]:
    """Yield what the runs of some pieces come to, in order.

    Tasks are sized by what a run at the same point took before, and become smaller towards the end.
    """
    cost: dict[int, float] = {}
    left = sum(len(piece.runs) for piece in missing)
    waiting = deque((piece, piece.runs) for piece in missing if piece.runs)
    under_way: deque[tuple[Piece, range, Future[Part]]] = deque()
    texts = {place: json.dumps(spec.at(point).values()) for place, point in enumerate(spec.points)}
    while waiting or under_way:
        count = workers.count()
        busy = [future for _, _, future in under_way if not future.done()]
        while waiting and len(busy) < AHEAD * count and len(under_way) < KEPT * count:
            piece, runs = waiting.popleft()
            size = task_size(runs, cost.get(piece.place), left, count)
            task = Task(texts[piece.place], runs[:size], rows, version("fallow"))
            busy.append(workers.executor.submit(play, task))
            under_way.append((piece, task.runs, busy[-1]))
            left -= size
            if size < len(runs):
                waiting.appendleft((piece, runs[size:]))
        piece, runs, future = under_way[0]
        if not future.done():
            wait(busy, return_when=FIRST_COMPLETED)
            continue
        under_way.popleft()
        part = future.result()
        cost[piece.place] = part.seconds / len(runs)
        yield piece, part


def task_size(runs: range, cost: float | None, left: int, workers: int) -> int:
    """Return how many of the next runs make a task.

    Parameters
    ----------
    runs
        What can be handed out.
    cost
        Seconds of a run, None if not known yet.
    left
        Runs that are left in all.
    workers
        How many share them.

    Examples
    --------
    >>> [task_size(range(8), None, 8, workers=2), task_size(range(100, 900), 0.01, 800, workers=2)]
    [1, 50]
    >>> task_size(range(80, 90), 0.01, 10, workers=2)  # towards the end
    2
    """
    if cost is None:
        return 1
    affordable = min(int(SECONDS / max(cost, 1e-9)), left // (2 * workers), RUNS, len(runs))
    whole_blocks = (runs.start + affordable) // BLOCK * BLOCK - runs.start
    return max(1, whole_blocks if affordable >= BLOCK else affordable)
