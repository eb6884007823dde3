"""UCB2 over ranking policies: close to the better of pi_ucb and pi_low, whatever the gap."""

import math
from collections.abc import Sequence

from fallow import checks
from fallow.arrays import IntArray
from fallow.kernels.confidence import upper_bound
from fallow.learners.policy_rewards import PolicyRewards
from fallow.learners.ranking_learner import RankingLearner
from fallow.protocol import Block, Outcome


class RankingUCB2(RankingLearner):
    """UCB2 (Auer, Cesa-Bianchi and Fischer, 2002) over the ranking policies pi_1, ..., pi_k.

    The policy with the largest index is played for an epoch, until its pulls that count have grown
    by the factor 1 + alpha. The index of a policy with n pulls of t is the upper bound on its gain
    at level (1 + alpha) ln(e t / n), as in UCB2, by the Kullback-Leibler divergence in place of
    Hoeffding's inequality. The first play is left out only after a change of policy. Ties go to
    fewer arms. Anytime: no horizon is needed.

    There are at most k (1 + ln(T / first_epoch) / ln(1 + alpha)) switches, if T >= first_epoch:
    after j epochs of a policy at least first_epoch (1 + alpha)^(j - 1) <= T of its pulls count, and
    each switch ends an epoch.

    Parameters
    ----------
    order
        The arms by decreasing baseline, which the algorithm must know: `instance.order`.
    alpha
        Growth of the epochs, between 0 and 1. Larger values switch less.
    first_epoch
        Pulls that count in the first epoch of each policy, at least.

    Notes
    -----
    The defaults were chosen on the gap sweep of `benchmarks/ranking_learners.py` with seed 1000;
    the results there have seed 1.

    Examples
    --------
    >>> learner = RankingUCB2(order=[1, 0])
    >>> learner.ask()
    Block(arms=(1,), plays=17)
    """

    def __init__(
        self,
        order: Sequence[int] | IntArray,
        alpha: float = 0.9,
        first_epoch: int = 16,
    ) -> None:
        self.rewards = PolicyRewards(order)
        self.order = self.rewards.order
        self.alpha = checks.chance("alpha", alpha)
        self.first_epoch = checks.whole_number("first_epoch", first_epoch, minimum=1)

    def _check_progress(self) -> None:
        super()._check_progress()
        self.rewards.check(self.order)

    def index(self, arms: int) -> float:
        """Return the upper bound on the gain of the policy over so many arms."""
        count = self.rewards.counts[arms - 1]
        level = (1 + self.alpha) * math.log(math.e * sum(self.rewards.counts) / count)
        return upper_bound(float(count), self.rewards.average(arms), level)

    def _choose(self) -> Block:
        counts = self.rewards.counts
        if 0 in counts:
            return self.rewards.block(counts.index(0) + 1, self.first_epoch)
        arms = max(range(1, len(counts) + 1), key=self.index)
        return self.rewards.block(arms, math.ceil(self.alpha * counts[arms - 1]))

    def _learn(self, block: Block, outcome: Outcome) -> None:
        self.rewards.credit(block, outcome)
