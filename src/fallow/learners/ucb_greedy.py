"""UCB-Greedy, the learner of blocking bandits (Basu, Sen, Sanghavi and Shakkottai 2019)."""

import math
from collections.abc import Sequence

from fallow import checks
from fallow.errors import InputError
from fallow.learners import restored
from fallow.learners.checked_learner import CheckedLearner
from fallow.protocol import Block, Outcome


class UCBGreedy(CheckedLearner):
    """UCB-Greedy (Basu et al. 2019): the best available arm by average + sqrt(c ln t / n_i).

    An arm is available when it was last pulled more than d_i rounds ago; n_i counts its pulls while
    available, t all rounds. Untried arms come first, ties go to the lower index.

    The published model idles when no arm is available; here every round pulls an arm, and a pull
    while blocked starts the arm's rest anew. So the arm is pulled whose rest is worth least: rounds
    rested so far, times what the arm earns a round when pulled as often as it may,
    average / (d_i + 1). Such a pull says nothing of the arm's mean and is not averaged.

    Parameters
    ----------
    arms
        Number of arms, k.
    delays
        d_i for each arm, which the algorithm must know; 0 for an arm that is never blocked.
    exploration
        Scale of the bonus, c: 8 as published, a hundredth of that learns faster.

    Examples
    --------
    >>> UCBGreedy(arms=3, delays=[2, 2, 1]).ask()
    Block(arms=(0,), plays=1)
    """

    def __init__(self, arms: int, delays: Sequence[int], exploration: float = 8.0) -> None:
        self.arms = checks.arms(arms)
        self.delays = checks.whole_numbers("delays", delays, minimum=0)
        if len(self.delays) != self.arms:
            raise InputError(
                "delays", "must be one for each arm", f"{len(self.delays)} for {self.arms} arms"
            )
        self.exploration = checks.positive("exploration", exploration)
        self._rounds = 0
        self._last = [-delay - 1 for delay in self.delays]
        self.counts = [0] * self.arms
        self.sums = [0.0] * self.arms

    def _check_progress(self) -> None:
        super()._check_progress()
        restored.rewards("progress.", self.counts, self.sums, (self.arms,))
        restored.whole_number("progress._rounds", self._rounds, least=0)
        width = max(self.delays) + 1
        restored.last_pulls("progress._last", self._last, self.arms, width, self._rounds)
        for arm, count in enumerate(self.counts):
            if count == 0:  # then it was never pulled
                restored.equal(f"progress._last[{arm}]", self._last[arm], -self.delays[arm] - 1)
        if self._pending is not None:
            restored.equal("progress._pending.pulls", self._pending.pulls, 1)

    def _choose(self) -> Block:
        available = [arm for arm in range(self.arms) if self._is_available(arm)]
        if available:
            level = self.exploration * math.log(self._rounds + 1)
            return Block((max(available, key=lambda arm: self._index(arm, level)),))
        return Block((min(range(self.arms), key=self._harm),))

    def _is_available(self, arm: int) -> bool:
        return self._rounds - self._last[arm] > self.delays[arm]

    def _index(self, arm: int, level: float) -> float:
        count = self.counts[arm]
        if count == 0:
            return math.inf
        return self.sums[arm] / count + math.sqrt(level / count)

    def _harm(self, arm: int) -> float:
        """Return what is lost, at the arm's average, when its rest starts anew."""
        rested = self._rounds - self._last[arm]
        average = self.sums[arm] / self.counts[arm]
        return rested * average / (self.delays[arm] + 1)

    def _learn(self, block: Block, outcome: Outcome) -> None:
        (arm,) = block.arms
        if self._is_available(arm):
            self.counts[arm] += 1
            self.sums[arm] += float(outcome.first[0])
        self._last[arm] = self._rounds
        self._rounds += 1
