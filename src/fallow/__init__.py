"""Plan decisions that wear out with use and recover with rest."""

from fallow import catalog, decay
from fallow.instance import Instance
from fallow.planners import maintenance
from fallow.planners.beam import beam
from fallow.planners.bounds import upper_bound
from fallow.planners.default import plan
from fallow.planners.greedy import greedy
from fallow.planners.harmonic import harmonic
from fallow.planners.local_search import improve
from fallow.planners.optimal import optimal
from fallow.planners.plans import Plan, gain
from fallow.planners.ranking import Guarantee, ghost, guarantee, ranking_gains, theorem2_index
from fallow.planners.whittle import whittle

__all__ = [
    "Guarantee",
    "Instance",
    "Plan",
    "beam",
    "catalog",
    "decay",
    "gain",
    "ghost",
    "greedy",
    "guarantee",
    "harmonic",
    "improve",
    "maintenance",
    "optimal",
    "plan",
    "ranking_gains",
    "theorem2_index",
    "upper_bound",
    "whittle",
]
