"""Posterior sampling: plan for a table drawn from the posterior (Osband et al. 2013)."""

import numpy as np

from fallow import checks
from fallow.instance import Instance
from fallow.kernels.isotone import isotone
from fallow.learners.cell_learner import CellLearner
from fallow.learners.cell_rewards import delay_bound
from fallow.learners.online import plan_online
from fallow.protocol import Block, own_generator


class PSRL(CellLearner):
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
        super().__init__(arms, delay_bound(max_delay), switching_cost=0.0, start=0)
        self.seed = checks.seed("seed", seed)
        self.generator = own_generator(self.seed)

    def _draw(self) -> Instance:
        """Return a table of means from the posterior."""
        counts = self._cells.counts
        successes = np.clip(self._cells.sums, 0, counts)  # a sum may carry a rounding error
        drawn = self.generator.beta(1 + successes, 1 + (counts - successes))
        return Instance(isotone(drawn, 2 + counts))

    def _choose(self) -> Block:
        table = self._draw()
        return self._until_doubling(table, plan_online(table, self._cells.rounds))
