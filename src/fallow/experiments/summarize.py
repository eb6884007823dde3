"""From rows to curves: means over runs with their 95 % intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.experiments.run import read_results
from fallow.experiments.spec import Spec
from fallow.frames import frame
from fallow.intervals import Estimate, estimate
from fallow.replicate import Replication

if TYPE_CHECKING:
    from fallow.frames import DataFrame


@dataclass(frozen=True, eq=False)
class Curve:
    """What a learner came to over time, at one point of the sweep and one switching cost.

    Attributes
    ----------
    point
        Value of the sweep, None without one.
    switching_cost, learner
        Whose curve it is.
    rounds
        Where the totals were taken.
    regret
        Against ghost, with the cost of switches, by round.
    share
        Of the optimum's reward up to a round that was earned, without the cost of switches.
    switches
        By round.
    ranking_rounds
        Mean number of rounds spent on ranking the arms, 0 if none.
    """

    point: float | None
    switching_cost: float
    learner: str
    rounds: IntArray
    regret: Estimate
    share: Estimate
    switches: Estimate
    ranking_rounds: float

    def ends(self) -> tuple[str, str, str]:
        """Return regret, switches and share at the last round as they are written in tables."""
        mean, half_width = self.regret.mean[-1], self.regret.half_width[-1]
        # A single run has no interval.
        interval = "" if np.isnan(half_width) else f" ± {half_width:,.1f}"
        switches, share = self.switches.mean[-1], self.share.mean[-1]
        return f"{mean:,.1f}{interval}", f"{switches:,.1f}", f"{share:.1%}"


def summarize(folder: Path) -> tuple[Spec, list[Curve]]:
    """Return the spec of the rows in a folder, and its curves by point, cost and learner."""
    spec, studies = read_results(folder)
    curves = []
    for point, study in zip(spec.points, studies, strict=True):
        for cost in spec.switching_costs:
            curves += [_curve(point, cost, study, learner) for learner in study.learners]
    return spec, curves


def _curve(point: float | None, cost: float, study: Replication, learner: str) -> Curve:
    place = study.learners.index(learner)
    best: FloatArray = study.gains["optimum"][:, np.newaxis] * study.rounds
    return Curve(
        point,
        cost,
        learner,
        study.rounds,
        estimate(study.regret(learner, switching_cost=cost)),
        estimate(study.rewards[place] / np.maximum(best, 1e-300)),
        estimate(study.switches[place].astype(float)),
        float(study.ranking_rounds[place].mean()),
    )


def summary_frame(curves: list[Curve]) -> DataFrame:
    """Return one row for each point, cost, learner and round."""

    def column(values: Iterator[FloatArray]) -> FloatArray:
        return np.concatenate(list(values))

    lengths = [len(curve.rounds) for curve in curves]
    points = [np.nan if curve.point is None else curve.point for curve in curves]
    measures = {
        f"{measure}{suffix}": column(getattr(getattr(curve, measure), part) for curve in curves)
        for measure in ("regret", "share", "switches")
        for part, suffix in (("mean", ""), ("half_width", "_half_width"))
    }
    return frame(
        {
            "point": np.repeat(points, lengths),
            "switching_cost": np.repeat([curve.switching_cost for curve in curves], lengths),
            "learner": np.repeat([curve.learner for curve in curves], lengths),
            "round": np.concatenate([curve.rounds for curve in curves]),
            **measures,
        }
    )
