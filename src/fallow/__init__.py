"""Plan decisions that wear out with use and recover with rest."""

from fallow import catalog, decay
from fallow.instance import Instance
from fallow.intervals import estimate
from fallow.learners.anytime_low_switch import AnytimeLowSwitch
from fallow.learners.bandit_ranker import BanditRanker
from fallow.learners.baselines import UCB1, EpsilonGreedy, SlidingWindowUCB, ThompsonSampling
from fallow.learners.explore_then_commit import ExploreThenCommit
from fallow.learners.follow import Follow
from fallow.learners.isi_comb_ucb1 import ISICombUCB1
from fallow.learners.joint_ranking import JointRanking
from fallow.learners.lookahead import Lookahead
from fallow.learners.low_switch import LowSwitch
from fallow.learners.rank_then_cut import RankThenCut
from fallow.learners.ranking_ucb import RankingUCB
from fallow.learners.ranking_ucb2 import RankingUCB2
from fallow.learners.rotation import Rotation
from fallow.learners.ucb_greedy import UCBGreedy
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
