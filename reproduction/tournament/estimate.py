"""What a tournament costs, before it is played."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fallow.planners.plan import optimum_or_bound
from fallow.studies.spec import Spec
from fallow.studies.workers import Workers, without_ctrl_c
from reproduction.tournament import replay

OPTIMUM = "the optimum"
"""Stands for the plans that learners are compared with, which cost time too."""


class Cost(NamedTuple):
    """Seconds of processor time of one run of a learner on a family, and hours for all its runs."""

    family: str
    label: str
    seconds: float
    hours: float


def estimate(
    specs: Sequence[Spec], workers: Workers, on_learner: Callable[[int], None] = lambda _: None
) -> list[Cost]:
    """Time each learner on each family, and return what all runs will take."""
    waiting = []
    with without_ctrl_c():
        for spec in specs:
            executor = workers.executor(spec.at(spec.points[0]).study())
            for label in spec.learners:
                waiting.append((spec, label, executor.submit(replay.seconds, spec, label)))
            waiting.append((spec, OPTIMUM, executor.submit(_optimum_seconds, spec)))
    costs = []
    for spec, label, future in waiting:
        runs = spec.runs * len(spec.points)
        if label != OPTIMUM:
            runs += replay.RUNS + replay.TIMED
            on_learner(1)
        taken = future.result()
        costs.append(Cost(spec.name, label, taken, taken * runs / 3600))
    return costs


def _optimum_seconds(spec: Spec) -> float:
    instance = spec.at(spec.points[0]).first_instance()
    times = []
    for _ in range(replay.TIMED):
        start = time.thread_time()
        optimum_or_bound(instance)
        times.append(time.thread_time() - start)
    return min(times) * spec.drift
