"""The flagship: Bayesian indices of cells of arm and delay, planned from the delays as they are."""

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray, IntArray
from fallow.beliefs import MAX_CELLS, Beliefs, check_cells
from fallow.kernels.cycles import own_delays
from fallow.kernels.playing import plays_until_growth, pulls_until_growth
from fallow.learners import restored
from fallow.learners.cell_learner import CellLearner, tilted
from fallow.learners.online import exact_online, plan_online
from fallow.planners.beam import beam_from
from fallow.planners.cycle import certify
from fallow.planners.problem import Problem, problem_of
from fallow.protocol import Block, Outcome

START = 30
"""The bound on delays where none is told, until rounds or evidence ask for a longer one."""
GROWTH = 0.25
"""Share of its samples by which some cell grows in an epoch."""
WIDTH = 16
"""Delay vectors that the search keeps of each round."""
SOON, LATER = 2, 16
"""Times the longest delay, rounds to search: first, and if no cell grows in these."""


class BayesRotation(CellLearner):
    """Plans as if every cell paid an upper quantile of what to believe of it, from now on.

    A cell is an arm at a delay. The prior takes an arm's means for a row that mostly rises with
    rest, by steps; whether rows rise or fall, at which delays they step and whether to 0, and how
    large means are, is learned from all arms together, and an arm may also follow no rule. A cell's
    index is exceeded with a chance of 1 / (1 + 2 t^(1/3) + 2 t / (c (n + 1))), after t rounds, n of
    them in this one of c cells. What is best under the indices from the current delays on is played
    until some cell has a quarter more samples. It has no horizon and draws no random numbers.

    Parameters
    ----------
    arms
        Number of arms, k.
    max_delay
        A bound on all delays. Without one it starts from 30 and grows: it is doubled when pulls of
        arms that should have been rested pay significantly less than those after longer rest, and
        is at least about the fourth root of the rounds.
    memory
        Where means drift, the rounds after which a reward counts only 1/e; some tenth of the rounds
        in which means change. By default all rewards count for ever.
    switching_cost
        What a change of the cycle costs. With a cost it plays whole cycles only, and keeps one
        unless the better one is expected to earn the cost back within as many rounds as were played
        before.

    Examples
    --------
    >>> from fallow import catalog, optimal, simulate
    >>> instance = catalog.figure2(seed=3)
    >>> run = simulate(instance, BayesRotation(7, max_delay=6), 10**5, seed=0)
    >>> share = float(run.expected_reward(10**5)) / 10**5 / optimal(instance).gain
    >>> share > 0.99
    True
    """

    _scratch = frozenset({"_beliefs"})
    _most_cells = MAX_CELLS

    def __init__(
        self,
        arms: int,
        max_delay: int | None = None,
        memory: float | None = None,
        switching_cost: float = 0.0,
    ) -> None:
        self.memory = None if memory is None else checks.positive("memory", memory)
        super().__init__(arms, max_delay, switching_cost, START, self.memory)
        check_cells(self.arms, self._bound + 1)
        self._then: Block | None = None  # after the block that is asked for
        self._beliefs: Beliefs | None = None

    def _check_progress(self) -> None:
        super()._check_progress()
        check_cells(self.arms, self._bound + 1)
        if self._then is not None:
            restored.block("progress._then", self._then, self.arms)

    def indices(self) -> FloatArray:
        """Return the index of each cell, arms by delays.

        Examples
        --------
        >>> BayesRotation(2, max_delay=1).indices().round(2)
        array([[0.37, 0.51],
               [0.37, 0.51]])
        """
        counts, sums = self._folded()
        if self._beliefs is None or self._beliefs.shape != counts.shape:
            self._beliefs = Beliefs(*counts.shape)
        return self._beliefs.indices(counts, sums, self._cells.remembered)

    def _choose(self) -> Block:
        if self._then is not None:
            return self._then
        counts, _ = self._folded()
        table = tilted(self.indices(), self._cells.rounds)
        if self.switching_cost > 0:
            plan = plan_online(table, self._cells.remembered)
            return self._play(table, plan, counts, GROWTH)
        width = counts.shape[1]
        problem = problem_of(table)
        path, _, _ = beam_from(problem, self._delays(), SOON * width, WIDTH)
        return self._until_growth(path, counts) or self._for_long(problem, counts)

    def _until_growth(self, path: IntArray, counts: FloatArray) -> Block | None:
        """Return a path up to where a cell has grown, unless that is near its end or beyond."""
        pulls = pulls_until_growth(counts, self._delays(), path, GROWTH)
        if 0 < pulls <= len(path) - counts.shape[1] // 2:
            return Block(tuple(path[:pulls].tolist()))
        return None

    def _for_long(self, problem: Problem, counts: FloatArray) -> Block:
        """Return a path that leads to a cycle, or the cycle itself."""
        path, start, end = beam_from(problem, self._delays(), LATER * counts.shape[1], WIDTH)
        if start == end:  # nothing repeats
            start, end = 0, len(path)
        first, cycle = path[:start], path[start:end]
        block = self._until_growth(np.concatenate((first, cycle, cycle)), counts)
        if block is not None:
            return block
        plan = certify(problem, cycle, "beam")
        better = exact_online(problem, plan, self._cells.remembered)
        if better is not plan:
            return self._play(problem.instance, better, counts, GROWTH)
        plays = plays_until_growth(counts, cycle, own_delays(cycle, self.arms), GROWTH)
        block = Block(tuple(cycle.tolist()), plays + 1)
        if start == 0:
            return block
        self._then = block
        return Block(tuple(first.tolist()))

    def _learn(self, block: Block, outcome: Outcome) -> None:
        if block == self._then:
            self._then = None
        if self._beliefs is not None:
            self._beliefs.forget(range(self.arms) if self.memory is not None else block.arms)
        super()._learn(block, outcome)
