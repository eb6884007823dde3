"""An experiment that was run: its curves, its figure, and where it ends."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path

from fallow.studies.draw import chart, draw
from fallow.studies.spec import Spec
from fallow.studies.summarize import Curve, summarize
from reproduction.report.description import describe
from reproduction.report.exhibit import Exhibit, draw_exhibit

EXPERIMENT = ("experiment", "runs", "T", "seed", "hash of the spec")
"""Head of a table of experiments."""
ENDS = (
    "experiment",
    "hash",
    "sweep",
    "switching_cost",
    "learner",
    "runs",
    "round",
    "regret",
    "regret_half_width",
    "regret_quantile_0.05",
    "regret_quantile_0.95",
    "switches",
    "share_of_optimum",
)
"""Columns of the file of ends."""


@dataclass(frozen=True, eq=False)
class Experiment:
    """An experiment with its curves and its figure."""

    spec: Spec
    curves: Sequence[Curve]
    exhibit: Exhibit

    def cells(self) -> tuple[str, ...]:
        """Return what was run, as the cells of a table under `EXPERIMENT`."""
        spec = self.spec
        runs, horizons = _finished_runs(spec, self.curves), _horizons(spec)
        return spec.name, runs, horizons, str(spec.seed), spec.digest()[:12]


def read_experiment(folder: Path) -> Experiment:
    """Summarize the experiment of a folder, and draw its figure."""
    spec, curves = summarize(folder)
    where = f" at each {spec.sweep[0]}" if spec.sweep else ""
    runs, horizons = _finished_runs(spec, curves), _horizons(spec)
    caption = f"{spec.caption} {runs} runs{where}, T = {horizons}.".lstrip()
    description = describe(chart(spec, curves))
    exhibit = draw_exhibit(spec.name, caption, description, partial(draw, spec, curves))
    return Experiment(spec, curves, exhibit)


def _finished_runs(spec: Spec, curves: Sequence[Curve]) -> str:
    """Return how many runs are in the curves, and of how many if some failed."""
    finished = min(curve.runs for curve in curves)
    return f"{finished:,}" if finished == spec.runs else f"{finished:,} of {spec.runs:,}"


def _horizons(spec: Spec) -> str:
    horizons = dict.fromkeys(spec.at(point).horizon for point in spec.points)
    return "; ".join(f"{horizon:,}" for horizon in horizons)


def ends_csv(results: Iterable[Experiment]) -> str:
    """Return where every curve ends, as a CSV file."""
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(ENDS)
    for result in results:
        for curve in result.curves:
            low, high = curve.regret_quantiles[[0, -1], -1]
            numbers = (
                curve.regret.mean[-1],
                curve.regret.half_width[-1],
                low,
                high,
                curve.switches.mean[-1],
                curve.share.mean[-1],
            )
            writer.writerow(
                (
                    result.spec.name,
                    result.spec.digest()[:12],
                    "" if curve.point is None else f"{curve.point:g}",
                    f"{curve.switching_cost:g}",
                    curve.learner,
                    curve.runs,
                    curve.rounds[-1],
                    *(f"{number:.6g}" for number in numbers),
                )
            )
    return file.getvalue()
