"""Learners: what to do when the parameters of the instance are not known."""

from fallow.learners.alternating_ucb import AlternatingUCB
from fallow.learners.anytime_low_switch import AnytimeLowSwitch
from fallow.learners.bandit_ranker import BanditRanker
from fallow.learners.baselines import UCB1, EpsilonGreedy, SlidingWindowUCB, ThompsonSampling
from fallow.learners.bayes_rotation import BayesRotation
from fallow.learners.checked_learner import CheckedLearner
from fallow.learners.codec import load
from fallow.learners.doubling import Doubling
from fallow.learners.explore_then_commit import ExploreThenCommit
from fallow.learners.follow import Follow
from fallow.learners.imed_kd import ImedKD
from fallow.learners.isi_comb_ucb1 import ISICombUCB1
from fallow.learners.joint_ranking import JointRanking
from fallow.learners.kl_ucb import KLUCB
from fallow.learners.lookahead import Lookahead, LookaheadThompson
from fallow.learners.low_switch import LowSwitch
from fallow.learners.policy import PolicyLearner
from fallow.learners.psrl import PSRL
from fallow.learners.rank_then_cut import RankThenCut
from fallow.learners.ranking_ucb import RankingUCB
from fallow.learners.ranking_ucb2 import RankingUCB2
from fallow.learners.rotation import Rotation
from fallow.learners.ucb_greedy import UCBGreedy

__all__ = [
    "KLUCB",
    "PSRL",
    "UCB1",
    "AlternatingUCB",
    "AnytimeLowSwitch",
    "BanditRanker",
    "BayesRotation",
    "CheckedLearner",
    "Doubling",
    "EpsilonGreedy",
    "ExploreThenCommit",
    "Follow",
    "ISICombUCB1",
    "ImedKD",
    "JointRanking",
    "Lookahead",
    "LookaheadThompson",
    "LowSwitch",
    "PolicyLearner",
    "RankThenCut",
    "RankingUCB",
    "RankingUCB2",
    "Rotation",
    "SlidingWindowUCB",
    "ThompsonSampling",
    "UCBGreedy",
    "load",
]
