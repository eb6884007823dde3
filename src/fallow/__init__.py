"""Plan decisions that wear out with use and recover with rest."""

from typing import TYPE_CHECKING

import fallow.signals  # noqa: F401, first: a command answers Ctrl-C while the rest is imported

# isort: split
from fallow import catalog, decay, learners, live, logs, planners, studies
from fallow.errors import InputError
from fallow.instance import Instance
from fallow.learners.bandit_ranker import BanditRanker
from fallow.learners.bayes_rotation import BayesRotation
from fallow.learners.low_switch import LowSwitch
from fallow.learners.ranking_ucb import RankingUCB
from fallow.learners.rotation import Rotation
from fallow.live.campaign import Campaign
from fallow.logs.log import Log
from fallow.planners.bounds import upper_bound
from fallow.planners.cycle import Plan, gain
from fallow.planners.optimal import optimal
from fallow.planners.plan import plan
from fallow.planners.schedule import Schedule, schedule
from fallow.protocol import Block, Learner, Outcome
from fallow.rules import Rules
from fallow.simulate import simulate
from fallow.studies.replicate import replicate
from fallow.studies.result import Result
from fallow.trajectory import Trajectory

__all__ = [
    "BanditRanker",
    "BayesRotation",
    "Block",
    "Campaign",
    "InputError",
    "Instance",
    "Learner",
    "Log",
    "LowSwitch",
    "Outcome",
    "Plan",
    "RankingUCB",
    "Result",
    "Rotation",
    "Rules",
    "Schedule",
    "Trajectory",
    "catalog",
    "decay",
    "gain",
    "learners",
    "live",
    "logs",
    "optimal",
    "plan",
    "planners",
    "replicate",
    "schedule",
    "simulate",
    "studies",
    "upper_bound",
]

__version__: str

if not TYPE_CHECKING:  # checkers would take any name for a string

    def __getattr__(name: str) -> str:
        if name != "__version__":
            raise AttributeError(f"module 'fallow' has no attribute {name!r}")
        from importlib.metadata import version  # slow to import, and seldom needed

        return version("fallow")
