"""Algorithm 1 without a horizon: elimination in stages that double."""

import math
from collections.abc import Sequence

from fallow import checks
from fallow.arrays import IntArray
from fallow.kernels.confidence import divergence
from fallow.learners import restored
from fallow.learners.policy_rewards import PolicyRewards
from fallow.learners.ranking_learner import RankingLearner
from fallow.protocol import Block, Outcome


class AnytimeLowSwitch(RankingLearner):
    """pi_low without a horizon: stages of action elimination over the ranking policies.

    In stage s each active policy is played until first_stage 2^(s - 1) of its pulls count, those of
    earlier stages included. Then the policies whose averages are too far below the best one leave.
    Odd stages take the policies from few arms to many, even ones back, so that a stage begins with
    the policy that ended the one before: no switch, and no play left out. Anytime.

    There are at most (k - 1)(2 + log2(T / first_stage)) switches, if T >= first_stage. Before
    stage s two policies had first_stage 2^(s - 2) pulls each, so s <= 1 + log2(T / first_stage). A
    stage has one switch less than policies, and one more if the policy that ended the stage before
    has left, which happens at most k - 1 times.

    Parameters
    ----------
    order
        The arms by decreasing baseline, which the algorithm must know: `instance.order`.
    delta
        The best policy is kept with probability at least 1 - delta.
    first_stage
        Pulls that count for each policy in the first stage, at least.

    Attributes
    ----------
    stage
        s, from 1.
    active
        The numbers of arms m of the policies still in the race.

    Notes
    -----
    With probability at least 1 - delta the best policy stays, and the regret against ghost is of
    order sqrt(k T (ln(k / delta) + ln ln T)) + k^2 ln T at all T at once. The proof is in
    docs/explanation/theorems.md.

    `first_stage` was chosen on the gap sweep of `benchmarks/ranking_learners.py` with seed 1000;
    the results there have seed 1.

    Examples
    --------
    >>> learner = AnytimeLowSwitch(order=range(7))
    >>> learner.ask()
    Block(arms=(0,), plays=17)
    """

    def __init__(
        self,
        order: Sequence[int] | IntArray,
        delta: float = 0.1,
        first_stage: int = 16,
    ) -> None:
        self.rewards = PolicyRewards(order)
        self.order = self.rewards.order
        self.delta = checks.chance("delta", delta)
        self.first_stage = checks.whole_number("first_stage", first_stage, minimum=1)
        self.stage = 1
        self.active = tuple(range(1, self.arms + 1))
        self._finished = 0  # active policies that were played in this stage

    def _check_progress(self) -> None:
        super()._check_progress()
        self.rewards.check(self.order)
        restored.whole_number("progress.stage", self.stage, least=1, most=64)
        restored.distinct("progress.active", self.active, least=1, most=self.arms)
        last = max(len(self.active) - 1, 0)
        restored.whole_number("progress._finished", self._finished, least=0, most=last)
        for place, arms in enumerate(self._turn):
            stages = self.stage if place < self._finished else self.stage - 1
            least = self._pulls(stages) if stages else 0
            counted = self.rewards.counts[arms - 1]
            restored.whole_number(f"progress.rewards.counts[{arms - 1}]", counted, least)
        if self._pending is not None:
            policy = self._turn[self._finished]
            restored.equal("progress._pending.arms", len(self._pending.arms), policy)

    def threshold(self, stage: int) -> float:
        """Return x with (1 + x) exp(-x) = delta / ((k - 1) s (s + 1)): the evidence to leave on."""
        rivals = max(self.arms - 1, 1)
        log = math.log(rivals * stage * (stage + 1) / self.delta)
        x = 2 * log + 2  # above the solution, as are all that follow
        for _ in range(30):
            x = log + math.log1p(x)
        return x

    def evidence(self, better: int, worse: int) -> float:
        """Return how much the averages say against the two policies being equally good.

        It is the logarithm of the likelihood ratio: the least, over a common gain, of the counted
        pulls times divergences.
        """
        first, second = self.rewards.counts[better - 1], self.rewards.counts[worse - 1]
        high, low = self.rewards.average(better), self.rewards.average(worse)
        common = (first * high + second * low) / (first + second)
        return first * divergence(high, common) + second * divergence(low, common)

    def _choose(self) -> Block:
        arms = self._turn[self._finished]
        counted = self.rewards.counts[arms - 1]
        if len(self.active) == 1:
            return self.rewards.block(arms, max(counted, self.first_stage))
        return self.rewards.block(arms, max(self._pulls(self.stage) - counted, 1))

    @property
    def _turn(self) -> tuple[int, ...]:
        """The active policies in the order in which this stage plays them."""
        return self.active if self.stage % 2 else self.active[::-1]

    def _pulls(self, stage: int) -> int:
        """Return how many pulls of each active policy count after a stage."""
        return self.first_stage << (stage - 1)

    def _learn(self, block: Block, outcome: Outcome) -> None:
        self.rewards.credit(block, outcome)
        if len(self.active) == 1:
            return
        self._finished += 1
        if self._finished == len(self.active):
            best = max(self.active, key=self.rewards.average)
            bar = self.threshold(self.stage)
            self.active = tuple(arms for arms in self.active if self.evidence(best, arms) <= bar)
            self._finished = 0
            self.stage += 1
