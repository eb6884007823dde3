"""Learners by name, told what their algorithms may know of the instance and no more."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from fallow.instance import Instance
from fallow.learners.bandit_ranker import BanditRanker
from fallow.learners.blind import UCB1, EpsilonGreedy, SlidingWindowUCB, ThompsonSampling
from fallow.learners.follow import Follow
from fallow.learners.low_switch import LowSwitch
from fallow.learners.rank_then_cut import RankThenCut
from fallow.learners.ranking_ucb import RankingUCB
from fallow.planners.default import plan
from fallow.planners.greedy import greedy
from fallow.planners.ranking import ghost
from fallow.planners.whittle import whittle
from fallow.protocol import CheckedLearner

NamedLearner = Callable[[Instance, int, int], CheckedLearner]


def _bound(instance: Instance) -> int | None:
    """Return the bound on delays that the rankers are told, none where delays do not matter."""
    return max(int(instance.delays.max()), 1) if instance.arms > 1 else None


LEARNERS: Mapping[str, NamedLearner] = MappingProxyType(
    {
        "low-switch": lambda instance, horizon, _: LowSwitch(
            instance.arms, horizon, order=instance.order.tolist()
        ),
        "ranking-ucb": lambda instance, _, __: RankingUCB(
            instance.arms, order=instance.order.tolist()
        ),
        "rank-then-cut": lambda instance, horizon, _: RankThenCut(
            instance.arms, horizon, max_delay=_bound(instance)
        ),
        "bandit-ranker": lambda instance, horizon, _: BanditRanker(
            instance.arms, max_delay=_bound(instance), budget=horizon
        ),
        "ucb1": lambda instance, _, __: UCB1(instance.arms),
        "thompson-sampling": lambda instance, _, seed: ThompsonSampling(instance.arms, seed),
        "epsilon-greedy": lambda instance, _, seed: EpsilonGreedy(instance.arms, seed=seed),
        "sliding-window-ucb": lambda instance, _, __: SlidingWindowUCB(instance.arms),
        "ghost": lambda instance, _, __: Follow(ghost(instance)),
        "greedy": lambda instance, _, __: Follow(greedy(instance)),
        "whittle": lambda instance, _, __: Follow(whittle(instance)),
        "plan": lambda instance, _, __: Follow(plan(instance)),
    }
)
"""By name, functions from an instance, the horizon and a seed to a learner.

LowSwitch and RankingUCB are told the order of the arms, the rankers a bound on the delays; the last
four follow a plan made with full knowledge.
"""
