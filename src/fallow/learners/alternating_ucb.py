"""Ranking policies and their alternations: an answer to the open question of section 8."""

import math
from collections.abc import Sequence

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray, IntArray
from fallow.kernels.confidence import upper_bounds
from fallow.learners import restored
from fallow.learners.cell_rewards import Cells
from fallow.learners.policy_rewards import checked_order
from fallow.learners.ranking_learner import RankingLearner
from fallow.protocol import Block, Outcome


class AlternatingUCB(RankingLearner):
    """Optimism over the ranking policies pi_1, ..., pi_k and all pairs of them played in turn.

    Where two ranking policies are best, playing them in turn earns at least as much as either
    (Fact 1), but each play is then a switch. So a candidate is a pair m <= n: pi_m alone if m = n,
    otherwise pi_m and pi_n in turn. Its value is its gain in reward per round, less the cost of
    two switches per m + n rounds for an alternation.

    A period of a candidate pulls each of its cells once: arms i <= m at the delays m and n, and
    arms m < i <= n at the delay m + n. All candidates together have k^2 cells. The upper bound on
    a gain is the smaller one of two: the average upper bound of its cells, to which all samples
    contribute (`fallow.kernels.confidence.upper_bounds`), and the bound by the pulls of its own
    periods together. Both have the level `exploration` ln t after t rounds.

    The candidate with the largest upper bound on its value is played for an epoch, until the count
    of one of its cells has doubled. With a switching cost c, the current candidate stays unless
    another is better by more than c / t, so that a change can pay for itself in as many rounds as
    were played before. For this comparison its own level is multiplied by 1 + min(c, 1): equally
    good candidates then change places less often. Ties go to the current candidate, then to more
    arms, as pulls at long delays bound those at short ones too. Anytime: no horizon is needed.

    The candidate changes at most k^2 (1 + log2 T) times: each change ends an epoch in which one of
    the k^2 cells got its first sample or doubled its count. Other switches occur only within
    alternations, which are played where their value is the largest with the cost taken off.

    A decision takes O(k^2) steps and the bounds of the cells that have samples.

    Parameters
    ----------
    order
        The arms by decreasing baseline, which the algorithm must know: `instance.order`.
    switching_cost
        Cost of a switch, c, in units of reward.
    exploration
        Scale of the confidence level. Proofs need 3; smaller values learn faster.

    Attributes
    ----------
    candidate
        The pair (m, n) played last, m <= n; (k, k) before the first block.

    Notes
    -----
    The level and the rule for the current candidate were chosen on two policies with gaps from
    -0.05 to 0.3 and on `catalog.figure2`, with seed 1000. Results in
    `docs/explanation/benchmarks.md` have seed 1.

    Examples
    --------
    >>> from fallow import catalog, simulate
    >>> instance = catalog.figure3()
    >>> for cost in (0.0, 1.0):
    ...     learner = AlternatingUCB(instance.order, switching_cost=cost)
    ...     run = simulate(instance, learner, horizon=10**4, seed=0)
    ...     print(learner.candidate, run.switches(10**4) > 100)
    (1, 2) True
    (2, 2) False
    """

    def __init__(
        self,
        order: Sequence[int] | IntArray,
        switching_cost: float = 0.0,
        exploration: float = 0.7,
    ) -> None:
        self.order = checked_order(order)
        self.switching_cost = checks.not_negative("switching_cost", switching_cost)
        self.exploration = checks.positive("exploration", exploration)
        self.candidate = self.arms, self.arms
        self._cells = Cells(self.arms, 2 * self.arms - 1)
        # Pulls of each candidate's own periods, and their rewards; pair (m, n) is [m - 1, n - 1].
        self._counts = np.zeros((self.arms, self.arms))
        self._sums = np.zeros((self.arms, self.arms))
        self._left = 0  # plays of the current epoch
        self._calibration = 1  # plays of them that only calibrate the delays
        self._size = 0  # arms of the last play

    def _check_progress(self) -> None:
        super()._check_progress()
        arms = self.arms
        self._cells.check(arms, 2 * arms)
        restored.rewards("progress._", self._counts, self._sums, (arms, arms))
        restored.whole_numbers("progress.candidate", self.candidate, 2, least=1, most=arms)
        fewer, more = self.candidate
        restored.whole_number("progress.candidate[1]", more, least=fewer, most=arms)
        restored.whole_number("progress._left", self._left, least=int(self._pending is not None))
        restored.whole_number("progress._calibration", self._calibration, least=0, most=2)
        restored.whole_number("progress._size", self._size, least=0, most=arms)
        if self._pending is not None:
            restored.equal("progress._pending", self._pending, self._next_block())

    def values(self, level: float) -> FloatArray:
        """Return upper bounds on the values of all candidates at a confidence level.

        Element [m - 1, n - 1] is for the pair (m, n); elements with m > n are minus infinity.
        """
        order = list(self.order)
        bounds = upper_bounds(self._cells.counts[order], self._cells.sums[order], level)
        sizes = np.arange(1, self.arms + 1)
        pulls = np.add.outer(sizes, sizes)
        gains = _alternation_totals(bounds) / pulls
        played = self._counts > 0
        own = upper_bounds(self._counts[played, None], self._sums[played, None], level)
        gains[played] = np.minimum(gains[played], own[:, 0])
        switches = 2 * (1 - np.eye(self.arms))
        values = gains - self.switching_cost * switches / pulls
        values[np.tri(self.arms, k=-1, dtype=bool)] = -np.inf
        return values

    def _choose(self) -> Block:
        if self._left == 0:
            self._begin_epoch()
        return self._next_block()

    def _begin_epoch(self) -> None:
        best = self._best_candidate()
        alternates = best[0] != best[1]
        if best != self.candidate:
            self.candidate = best
            self._calibration = 1 + alternates
        periods = max(int(self._least_count()), 1)
        self._left = periods * (1 + alternates) + self._calibration

    def _best_candidate(self) -> tuple[int, int]:
        """Return the candidate with the largest value, or the current one if no change pays."""
        rounds = self._cells.rounds
        level = self.exploration * math.log(max(rounds, 2))
        values = self.values(level)
        fewer, more = self.candidate
        current = values[fewer - 1, more - 1]
        largest = values.max()
        if self.switching_cost > 0 and current < largest:
            patient = level * (1 + min(self.switching_cost, 1.0))
            current = self.values(patient)[fewer - 1, more - 1]
        if (largest - current) * rounds <= self.switching_cost:
            return self.candidate
        last = np.flatnonzero(values == largest)[-1]  # the most arms
        return int(last) // self.arms + 1, int(last) % self.arms + 1

    def _least_count(self) -> float:
        """Return the fewest samples of a cell of the current candidate."""
        fewer, more = self.candidate
        counts = self._cells.counts
        shared = counts[np.ix_(self.order[:fewer], (fewer - 1, more - 1))]
        others = counts[list(self.order[fewer:more]), fewer + more - 1]
        return float(min(shared.min(), others.min(initial=np.inf)))

    def _next_block(self) -> Block:
        fewer, more = self.candidate
        if fewer == more:
            return Block(self.order[:more], self._left)
        return Block(self.order[: fewer if self._size == more else more])

    def _learn(self, block: Block, outcome: Outcome) -> None:
        self._cells.credit(block, outcome)
        self._left -= block.plays
        self._size = len(block.arms)
        counted, reward = block.plays, math.fsum(outcome.rest)
        if self._calibration > 0:
            self._calibration -= 1
            counted -= 1
        else:
            reward += math.fsum(outcome.first)
        fewer, more = self.candidate
        self._counts[fewer - 1, more - 1] += counted * self._size
        self._sums[fewer - 1, more - 1] += reward


def _alternation_totals(table: FloatArray) -> FloatArray:
    """Return what m + n pulls of each candidate earn, by a table of what its cells pay.

    Rows of the table are arms by decreasing baseline, columns are delays from 1 to 2 k. Element
    [m - 1, n - 1] is for pi_m and pi_n in turn if m <= n; on the diagonal that is pi_m twice.
    """
    arms = len(table)
    places = np.arange(arms)
    fewer, more = places[:, None], places
    # Element [i - 1, delay - 1] is the sum over the first i arms.
    sums = np.cumsum(table, axis=0)
    both = fewer + more + 1  # the column of the delay m + n
    shared = sums[fewer, fewer] + sums[fewer, more]
    others: FloatArray = sums[more, both] - sums[fewer, both]
    return shared + others
