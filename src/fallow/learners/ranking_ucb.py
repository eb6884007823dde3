"""The paper's benchmark: UCB1 over ranking policies (section 8)."""

from collections.abc import Sequence

import numpy as np

from fallow import checks
from fallow.arrays import IntArray
from fallow.kernels.bandits import Runs, Table, observe, play_rankings, ucb_choice
from fallow.learners import restored
from fallow.learners.baselines import check_statistics, empty_statistics
from fallow.learners.checked_learner import FixedLearner
from fallow.learners.policy_rewards import checked_order
from fallow.learners.ranking_learner import RankingLearner
from fallow.protocol import Block, Outcome


class RankingUCB(RankingLearner, FixedLearner):
    """The paper's pi_ucb: UCB1 over the ranking policies pi_1, ..., pi_k.

    A selection is two plays of the policy with the largest average + sqrt(c ln n / n_m), where n
    counts selections; only the second play is averaged. Ties go to fewer arms. Anytime.

    Parameters
    ----------
    order
        The arms by decreasing baseline, which the algorithm must know: `instance.order`.
    exploration
        Scale of the bonus, c: 2 as in UCB1.

    Examples
    --------
    >>> RankingUCB(order=[1, 0]).ask()
    Block(arms=(1,), plays=2)
    """

    def __init__(self, order: Sequence[int] | IntArray, exploration: float = 2.0) -> None:
        self.order = checked_order(order)
        self.exploration = checks.positive("exploration", exploration)
        self._statistics = empty_statistics(self.arms)

    def _check_progress(self) -> None:
        super()._check_progress()
        check_statistics(self._statistics, self.arms)
        if self._pending is not None:
            restored.equal("progress._pending.plays", self._pending.plays, 2)

    def _choose(self) -> Block:
        total = float(self._statistics.total[0])
        choice = ucb_choice(self._statistics, total, self.exploration)
        return Block(self.order[: choice + 1], 2)

    def _learn(self, block: Block, outcome: Outcome) -> None:
        # The first play only calibrates the delays (section 6), so it is not averaged.
        arms = len(block.arms)
        observe(self._statistics, arms - 1, float(sum(outcome.rest) / arms))

    def cycles(self) -> list[tuple[int, ...]]:
        """Return the cycles of the ranking policies, from one arm to all."""
        return [self.order[:arms] for arms in range(1, self.arms + 1)]

    def play_compiled(
        self, table: Table, horizon: int, noisy: bool, generator: np.random.Generator, log: Runs
    ) -> int:
        """Play until the horizon or until the log is full, and return how many runs it holds."""
        order = np.array(self.order)
        return play_rankings(
            table, self._statistics, order, self.exploration, horizon, noisy, generator, log
        )
