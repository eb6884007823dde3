"""The paper's benchmark: UCB1 over ranking policies (section 8)."""

from collections.abc import Sequence

import numpy as np

from fallow.arrays import IntArray
from fallow.kernels.bandits import Log, Table, observe, play_rankings, ucb_choice
from fallow.learners.baselines import empty_statistics
from fallow.learners.checked_learner import CheckedLearner
from fallow.learners.policy_rewards import checked_order
from fallow.protocol import Block, Outcome


class RankingUCB(CheckedLearner):
    """The paper's pi_ucb: UCB1 over the ranking policies pi_1, ..., pi_k.

    A selection is two plays of the policy with the largest average + sqrt(2 ln n / n_m), where n
    counts selections; only the second play is averaged. Ties go to fewer arms. Anytime.

    Parameters
    ----------
    order
        The arms by decreasing baseline, which the algorithm must know: `instance.order`.

    Examples
    --------
    >>> RankingUCB(order=[1, 0]).ask()
    Block(arms=(1,), plays=2)
    """

    def __init__(self, order: Sequence[int] | IntArray) -> None:
        self.order = checked_order(order)
        self.arms = len(self.order)
        self.statistics = empty_statistics(self.arms)

    def _choose(self) -> Block:
        choice = ucb_choice(self.statistics, float(self.statistics.total[0]), 2.0)
        return Block(self.order[: choice + 1], 2)

    def _learn(self, block: Block, outcome: Outcome) -> None:
        # The first play only calibrates the delays (section 6), so it is not averaged.
        arms = len(block.arms)
        observe(self.statistics, arms - 1, float(sum(outcome.rest) / arms))

    def cycles(self) -> list[tuple[int, ...]]:
        """Return the cycles of the ranking policies, from one arm to all."""
        return [self.order[:arms] for arms in range(1, self.arms + 1)]

    def play_compiled(
        self, table: Table, horizon: int, noisy: bool, generator: np.random.Generator, log: Log
    ) -> int:
        """Play until the horizon or until the log is full, and return how many runs it holds."""
        order = np.array(self.order)
        return play_rankings(table, self.statistics, order, horizon, noisy, generator, log)
