"""Every learner keeps the contract."""

from learner_contract import HORIZON, LearnerContract

from fallow import (
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
    catalog,
    ghost,
)
from fallow.protocol import CheckedLearner


class TestLowSwitch(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return LowSwitch(4, HORIZON, order=[2, 0, 1, 3], confidence_scale=0.1)


class TestRankingUCB(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return RankingUCB(4, order=[2, 0, 1, 3])


class TestRankingUCB2(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return RankingUCB2(4, alpha=0.5, order=[2, 0, 1, 3])


class TestAnytimeLowSwitch(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return AnytimeLowSwitch(4, delta=0.2, order=[2, 0, 1, 3])


class TestJointRanking(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return JointRanking(4, max_delay=3)


class TestBanditRanker(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return BanditRanker(4, delta=0.1)


class TestCalibratedBanditRanker(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return BanditRanker(4, delta=0.1, max_delay=3, budget=2000)


class TestFrugalBanditRanker(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return BanditRanker(4, delta=0.1, max_delay=3, frugal=True)


class TestRankThenCut(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return RankThenCut(4, HORIZON, max_delay=3, budget=1000)


class TestFollow(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return Follow(ghost(catalog.random_geometric(arms=4, max_delay=3, seed=8)))


class TestRotation(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return Rotation(4, max_delay=3)


class TestUnboundedRotation(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return Rotation(4, switching_cost=1.0, planner="whittle")


class TestUCB1(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return UCB1(4)


class TestThompsonSampling(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return ThompsonSampling(4, seed=3)


class TestEpsilonGreedy(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return EpsilonGreedy(4, seed=3)


class TestSlidingWindowUCB(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return SlidingWindowUCB(4, window=50)


class TestUCBGreedy(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return UCBGreedy(4, delays=[3, 1, 2, 2])


class TestBlockedUCBGreedy(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return UCBGreedy(4, delays=[9, 7, 6, 8])


class TestLookahead(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return Lookahead(4, max_delay=3, depth=2)


class TestISICombUCB1(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return ISICombUCB1(4, max_delay=3)


class TestExploreThenCommit(LearnerContract):
    def fresh(self) -> CheckedLearner:
        return ExploreThenCommit(4, max_delay=3, horizon=HORIZON, seed=3)
