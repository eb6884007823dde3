"""What the report says, before it is HTML or Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean

from fallow import catalog
from fallow.instance import Instance
from fallow.planners import HEURISTICS
from fallow.planners.cycle import Plan
from fallow.planners.optimal import optimal
from fallow.planners.plan import plan
from reproduction.claims.claim import Claim, Finding
from reproduction.readings import Drawn
from reproduction.report.experiment import Experiment
from reproduction.tournament.standing import Standing

DRAWS = 30
"""Draws of Figure 2's family on which the planners are compared."""


@dataclass(frozen=True)
class PlannerRow:
    """A planner's gain on some draws of Figure 2's family, as a share of the optimum's."""

    planner: str
    draws: int
    mean: float
    worst: float
    certificate: float


@dataclass(frozen=True, eq=False)
class Content:
    """All that the report says."""

    results: Sequence[Experiment]
    findings: Sequence[tuple[Claim, Finding]]
    planners: Sequence[PlannerRow]
    readings: Sequence[Drawn]
    standings: Sequence[Standing] = ()


def compare_planners(on_draw: Callable[[int], None] = lambda _: None) -> list[PlannerRow]:
    """Compare the planners with the optimum on draws of Figure 2's family."""
    planners: dict[str, Callable[[Instance], Plan]] = {
        **HEURISTICS,
        "plan, not exact": lambda instance: plan(instance, max_states=0, effort=0),
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
        PlannerRow(name, DRAWS, mean(shares[name]), min(shares[name]), mean(certificates[name]))
        for name in planners
    ]
