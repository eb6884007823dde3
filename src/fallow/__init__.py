"""Plan decisions that wear out with use and recover with rest."""

from fallow import catalog, decay
from fallow.instance import Instance
from fallow.intervals import estimate
from fallow.learners import (
    UCB1,
    AnytimeLowSwitch,
    BanditRanker,
    EpsilonGreedy,
    ExploreThenCommit,
    Follow,
    ISICombUCB1,
    JointRanking,
    Lookahead,
    LowSwitch,
    RankingUCB,
    RankingUCB2,
    RankThenCut,
    Rotation,
    SlidingWindowUCB,
    ThompsonSampling,
    UCBGreedy,
)
from fallow.planners import maintenance
from fallow.planners.beam import beam
from fallow.planners.bounds import upper_bound
from fallow.planners.cycle import Plan, gain
from fallow.planners.greedy import greedy
from fallow.planners.harmonic import harmonic
from fallow.planners.local_search import improve
from fallow.planners.optimal import optimal
from fallow.planners.plan import plan
from fallow.planners.ranking import (
    Guarantee,
    ghost,
    guarantee,
    ranking_gains,
    theorem2_index,
    transition_totals,
)
from fallow.planners.whittle import whittle
from fallow.protocol import Block, Learner, Outcome
from fallow.simulate import simulate
from fallow.studies import Result, log_rounds, replicate
from fallow.trajectory import Trajectory

__all__ = [
    "UCB1",
    "AnytimeLowSwitch",
    "BanditRanker",
    "Block",
    "EpsilonGreedy",
    "ExploreThenCommit",
    "Follow",
    "Guarantee",
    "ISICombUCB1",
    "Instance",
    "JointRanking",
    "Learner",
    "Lookahead",
    "LowSwitch",
    "Outcome",
    "Plan",
    "RankThenCut",
    "RankingUCB",
    "RankingUCB2",
    "Result",
    "Rotation",
    "SlidingWindowUCB",
    "ThompsonSampling",
    "Trajectory",
    "UCBGreedy",
    "beam",
    "catalog",
    "decay",
    "estimate",
    "gain",
    "ghost",
    "greedy",
    "guarantee",
    "harmonic",
    "improve",
    "log_rounds",
    "maintenance",
    "optimal",
    "plan",
    "ranking_gains",
    "replicate",
    "simulate",
    "theorem2_index",
    "transition_totals",
    "upper_bound",
    "whittle",
]
