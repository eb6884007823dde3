"""What the report says, before it is HTML or Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean

from fallow import catalog
from reproduction.claims.claim import Claim, Finding
from fallow.studies.spec import Published, Spec
from fallow.studies.summarize import Curve
from reproduction.tournament import Standing
from fallow.instance import Instance
from fallow.planners.plan import HEURISTICS, plan
from fallow.planners.optimal import optimal
from fallow.planners.cycle import Plan

DRAWS = 30
"""Draws of Figure 2's family on which the planners are compared."""
COMPARED = ("figure", "learner", "switching cost", "published", "ours", "in the band", "why not")
"""Heads of a table of comparisons."""


@dataclass(frozen=True, eq=False)
class Result:
    """An experiment with its curves and its figure, an SVG file for light ground."""

    spec: Spec
    curves: Sequence[Curve]
    figure: bytes


@dataclass(frozen=True)
class Comparison:
    """A published value beside ours: mean regret and the half-width of its 95 % interval."""

    spec: Spec
    published: Published
    mean: float
    half_width: float

    @property
    def agrees(self) -> bool:
        """Whether our mean lies in the published band."""
        return self.published.low <= self.mean <= self.published.high

    def cells(self) -> tuple[str, ...]:
        """Return the comparison as the cells of a table under `COMPARED`."""
        published = self.published
        return (
            self.spec.title,
            published.learner,
            f"{published.switching_cost:g}",
            f"{published.value:g} ({published.low:g} to {published.high:g})",
            f"{self.mean:.1f} ± {self.half_width:.1f}",
            "yes" if self.agrees else "no",
            "" if self.agrees else published.note,
        )


@dataclass(frozen=True)
class PlannerRow:
    """How a planner does on draws of Figure 2's family, as shares of the optimum's gain."""

    planner: str
    mean: float
    worst: float
    certificate: float


@dataclass(frozen=True, eq=False)
class Content:
    """All that the report says."""

    results: Sequence[Result]
    findings: Sequence[tuple[Claim, Finding]]
    planners: Sequence[PlannerRow]
    standings: Sequence[Standing] = ()

    def comparisons(self) -> list[Comparison]:
        """Return every published value beside ours."""
        return [
            Comparison(result.spec, published, *_measured(result, published))
            for result in self.results
            for published in result.spec.published
        ]


def _measured(result: Result, published: Published) -> tuple[float, float]:
    """Return the mean regret, with its half-width, that a published value speaks of."""
    (curve,) = [
        curve
        for curve in result.curves
        if curve.learner == published.learner and curve.switching_cost == published.switching_cost
    ]
    place = curve.rounds.tolist().index(published.round)
    return float(curve.regret.mean[place]), float(curve.regret.half_width[place])


def compare_planners(on_draw: Callable[[int], None] = lambda _: None) -> list[PlannerRow]:
    """Compare the planners with the optimum on draws of Figure 2's family."""
    planners: dict[str, Callable[[Instance], Plan]] = {
        **HEURISTICS,
        "plan, not exact": lambda instance: plan(instance, max_states=0),
        "optimal": optimal,
    }
    shares: dict[str, list[float]] = {name: [] for name in planners}
    certificates: dict[str, list[float]] = {name: [] for name in planners}
    for seed in range(DRAWS):
        instance = catalog.figure2(seed)
        best = optimal(instance).gain
        for name, planner in planners.items():
            found = planner(instance)
            shares[name].append(found.gain / best)
            certificates[name].append(found.certificate)
        on_draw(1)
    return [
        PlannerRow(name, mean(shares[name]), min(shares[name]), mean(certificates[name]))
        for name in planners
    ]
