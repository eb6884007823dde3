"""Posterior sampling: plan for a table drawn from the posterior (Osband et al. 2013)."""

import numpy as np

from fallow import checks
from fallow.instance import Instance
from fallow.kernels.cycles import own_delays
from fallow.kernels.isotone import isotone
from fallow.kernels.playing import best_start, plays_until_doubling, pulls_until_doubling
from fallow.learners.cell_rewards import Cells, delay_bound
from fallow.learners.checked_learner import FixedLearner
from fallow.learners.rotation import PLANNERS
from fallow.protocol import Block, Outcome, own_generator


class PSRL(FixedLearner):
    """Plays the cycle that is best for a table of means drawn from the posterior.

    Posterior sampling for reinforcement learning (Osband, Russo and Van Roy 2013), where only the
    means of the cells are unknown. Each has a uniform prior, so its posterior is a beta
    distribution. An epoch is planned and played as `Rotation` does, with the draw in place of the
    bounds, until some cell has twice as many samples.

    As published: one draw an epoch, planned for as if it were true. Not as published: epochs end as
    cells double and not after a fixed number of rounds, since no state comes back by itself; the
    planner is a heuristic; and as means do not fall with the delay, the draw is replaced by the
    nearest table that does not either, where cells count by their samples. Without that it earns
    less on most families.

    Parameters
    ----------
    arms
        Number of arms, k.
    max_delay
        A bound on all delays, D, or None if delays do not matter.
    seed
        Of the draws.

    Examples
    --------
    >>> from fallow import catalog, optimal, simulate
    >>> instance = catalog.figure2(seed=3)
    >>> run = simulate(instance, PSRL(7, max_delay=6), 10**5, seed=0)
    >>> float(run.expected_reward(10**5)) / 10**5 > 0.95 * optimal(instance).gain
    True
    """

    def __init__(self, arms: int, max_delay: int | None, seed: int = 0) -> None:
        self.max_delay = delay_bound(max_delay)
        self._cells = Cells(arms, self.max_delay)
        self.arms = self._cells.arms
        self.seed = checks.seed("seed", seed)
        self.generator = own_generator(self.seed)

    def _check_progress(self) -> None:
        super()._check_progress()
        self._cells.check(self.arms, self.max_delay + 1)

    def _draw(self) -> Instance:
        """Return a table of means from the posterior."""
        counts = self._cells.counts
        successes = np.clip(self._cells.sums, 0, counts)  # a sum may carry a rounding error
        drawn = self.generator.beta(1 + successes, 1 + (counts - successes))
        return Instance(isotone(drawn, 2 + counts))

    def _choose(self) -> Block:
        counts, delays = self._cells.counts, np.array(self._cells.delays())
        table = self._draw()
        cycle = np.array(PLANNERS["auto"](table).cycle)
        own = own_delays(cycle, self.arms)
        start = best_start(table.means, delays, cycle, own, len(cycle))
        cycle, own = np.roll(cycle, -start), np.roll(own, -start)
        plays = plays_until_doubling(counts, cycle, own)
        pulls = pulls_until_doubling(counts, delays, cycle) if plays == 1 else 0
        if pulls > 0:
            return Block(tuple(cycle[:pulls].tolist()))
        # In the first play an arm's first pull may fall into another cell than planned.
        return Block(tuple(cycle.tolist()), plays + 1)

    def _learn(self, block: Block, outcome: Outcome) -> None:
        self._cells.credit(block, outcome)
