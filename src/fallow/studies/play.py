"""The runs of an experiment, played by whoever has them to play."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from threading import Lock
from typing import NamedTuple

import numpy as np

from fallow.arrays import FloatArray
from fallow.planners.plan import optimum_or_bound
from fallow.planners.ranking import ghost
from fallow.replicate import Replication, Setting
from fallow.studies.spec import Spec
from fallow.studies.tally import Failure, Tally, tally


class Task(NamedTuple):
    """Some runs at one point of a sweep, as they are handed to a thread, process or machine.

    Attributes
    ----------
    spec
        Text of the spec at the point, as JSON.
    runs
        Their numbers.
    rows
        Whether the totals of every run are wanted, or the tally only.
    version
        That of the fallow that asks.
    """

    spec: str
    runs: range
    rows: bool
    version: str


class Part(NamedTuple):
    """What the runs of a task came to, and how many seconds they took."""

    tally: Tally
    rows: Replication | None
    failures: list[Failure]
    seconds: float


def check_version(wanted: str, found: str, where: str) -> None:
    """Refuse a worker that would compute something else."""
    if found != wanted:
        raise ValueError(
            f"workers must have fallow {wanted}, as here, got {found} on {where}; "
            "install the same version everywhere"
        )


def setting_of(spec: Spec) -> Setting:
    """Return what all runs of a spec share, at a value of its sweep."""
    return Setting(
        spec.instance(),
        spec.factories(),
        spec.horizon,
        spec.seed,
        spec.rewards,
        spec.rounds(),
        {"ghost": ghost, "optimum": optimum_or_bound},
    )


_reading = Lock()


@lru_cache(maxsize=64)
def _read(text: str) -> tuple[Setting, tuple[float, ...]]:
    """Return the setting of a task's spec, gains that are worth computing once included."""
    spec = Spec.from_values(json.loads(text))
    setting = setting_of(spec)
    _ = setting.fixed_gains
    return setting, spec.switching_costs


def play(task: Task) -> Part:
    """Play the runs of a task one after the other; a run that raises does not end the others."""
    check_version(task.version, version("fallow"), "a worker")
    start = time.perf_counter()
    with _reading:  # threads that begin together would all compute the same
        setting, costs = _read(task.spec)
    played, failures = {}, []
    for number in task.runs:
        try:
            played[number] = setting.play(number)
        except Exception as error:
            notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
            failures.append(Failure(number, f"{type(error).__name__}: {error}{notes}"))
    study = setting.collected(list(played), list(played.values()))
    counted = tally(task.runs, study.runs, measured(study, costs), failures)
    rows = study if task.rows else None
    return Part(counted, rows, failures, time.perf_counter() - start)


MEASURES = ("share", "switches", "ranking_rounds")
"""What is measured beside regret: the share of the optimum, and two counts, all up to a round."""


def measured(study: Replication, switching_costs: Sequence[float]) -> FloatArray:
    """Return, by run, measure, learner and round: regret at each cost, then `MEASURES`."""
    best = np.maximum(study.gains["optimum"][:, np.newaxis] * study.rounds, 1e-300)
    ranking = np.minimum(study.ranking_rounds[:, :, np.newaxis], study.rounds)
    measures = [
        *(
            [study.regret(learner, switching_cost=cost) for learner in study.learners]
            for cost in switching_costs
        ),
        study.rewards / best,
        study.switches.astype(float),
        ranking.astype(float),
    ]
    values = np.array(measures).transpose(2, 0, 1, 3)
    return np.ascontiguousarray(values) + 0.0  # no negative zeros, whose order is not defined
