"""From tallies to curves: means over runs with their 95 % intervals, and quantiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.frames import frame
from fallow.intervals import Estimate
from fallow.studies.folder import read_tallies
from fallow.studies.spec import Spec
from fallow.studies.tally import BESIDE_REGRET, Tally

if TYPE_CHECKING:
    from fallow.frames import DataFrame


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Shares of the runs whose regret is reported."""


@dataclass(frozen=True, eq=False)
class Curve:
    """What a learner came to over time, at one point of the sweep and one switching cost.

    Attributes
    ----------
    point
        Value of the sweep, None without one.
    switching_cost, learner
        Whose curve it is.
    runs
        How many did not fail.
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
    regret_quantiles
        The regret that `QUANTILES` of the runs do not exceed, by share and round.
    """

    point: float | None
    switching_cost: float
    learner: str
    runs: int
    rounds: IntArray
    regret: Estimate
    share: Estimate
    switches: Estimate
    ranking_rounds: float
    regret_quantiles: FloatArray

    def ends(self) -> tuple[str, str, str, str]:
        """Return regret, its 5 % and 95 % quantiles, switches and share in the end, as text."""
        low, high = self.regret_quantiles[[0, -1], -1]
        return (
            f"{self.regret.at(-1):,.1f}",
            f"{low:,.1f} to {high:,.1f}",
            f"{self.switches.mean[-1]:,.1f}",
            f"{self.share.mean[-1]:.1%}",
        )


def summarize(folder: Path) -> tuple[Spec, list[Curve]]:
    """Return the spec of a folder, and its curves by point, cost and learner."""
    spec, tallies = read_tallies(folder)
    curves: list[Curve] = []
    for point, tally in zip(spec.points, tallies, strict=True):
        curves += _curves(spec, point, tally)
    return spec, curves


def _curves(spec: Spec, point: float | None, tally: Tally) -> Iterator[Curve]:
    rounds = spec.at(point).rounds()
    moments, quantiles = tally.moments(), tally.quantiles(QUANTILES)
    means, half_widths = moments.estimate()
    # As `measure` has them: regret at each cost first.
    share, switches, ranking = (len(spec.switching_costs) + n for n in range(len(BESIDE_REGRET)))
    for regret, cost in enumerate(spec.switching_costs):
        for index, learner in enumerate(spec.learners):
            yield Curve(
                point,
                cost,
                learner,
                moments.count,
                rounds,
                Estimate(means[regret, index], half_widths[regret, index]),
                Estimate(means[share, index], half_widths[share, index]),
                Estimate(means[switches, index], half_widths[switches, index]),
                float(means[ranking, index, -1]),
                quantiles[:, regret, index],
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
            **{
                f"regret_quantile_{share:g}": column(
                    curve.regret_quantiles[index] for curve in curves
                )
                for index, share in enumerate(QUANTILES)
            },
        }
    )
