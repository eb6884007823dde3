"""Planners: what to do when the parameters of the instance are known."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from fallow.instance import Instance
from fallow.planners import maintenance
from fallow.planners.advice import Advice, Cost, advise
from fallow.planners.beam import beam
from fallow.planners.bounds import upper_bound
from fallow.planners.cycle import Plan, gain
from fallow.planners.harmonic import harmonic
from fallow.planners.index_policies import greedy, whittle
from fallow.planners.local_search import improve
from fallow.planners.optimal import optimal, reachable_states
from fallow.planners.periodic import periodic
from fallow.planners.plan import plan
from fallow.planners.ranking import (
    Guarantee,
    ghost,
    guarantee,
    ranking_gains,
    theorem2_index,
    transition_totals,
)
from fallow.planners.schedule import Schedule, schedule

HEURISTICS: Mapping[str, Callable[[Instance], Plan]] = MappingProxyType(
    {
        "ghost": ghost,
        "greedy": greedy,
        "whittle": whittle,
        "harmonic": harmonic,
        "periodic": periodic,
        "beam": beam,
    }
)
"""The planners among which `plan` chooses where the optimum is out of reach."""

__all__ = [
    "HEURISTICS",
    "Advice",
    "Cost",
    "Guarantee",
    "Plan",
    "Schedule",
    "advise",
    "beam",
    "gain",
    "ghost",
    "greedy",
    "guarantee",
    "harmonic",
    "improve",
    "maintenance",
    "optimal",
    "periodic",
    "plan",
    "ranking_gains",
    "reachable_states",
    "schedule",
    "theorem2_index",
    "transition_totals",
    "upper_bound",
    "whittle",
]
