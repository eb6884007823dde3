"""KL-UCB on cells: the arm with the largest index under upper confidence bounds, every round."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray
from fallow.kernels.confidence import upper_bounds
from fallow.kernels.indices import whittle_indices
from fallow.learners.cell_learner import TILT
from fallow.learners.cell_rewards import Cells, delay_bound
from fallow.learners.checked_learner import FixedLearner
from fallow.protocol import Block, Outcome

INDICES: Mapping[str, Callable[[FloatArray], FloatArray]] = MappingProxyType(
    {"whittle": whittle_indices, "greedy": lambda bounds: bounds}
)


class KLUCB(FixedLearner):
    """Follows an index under `Rotation`'s own bounds, and computes both anew every round.

    The bounds of KL-UCB (Garivier and Cappe 2011) on cells, at level `exploration` ln t, with what
    longer delays tell of shorter ones; then the index policy that `fallow.plan` knows, as if the
    bounds were means. What an obvious mixture of known parts earns, so it has no theory here.

    Parameters
    ----------
    arms
        Number of arms, k.
    max_delay
        A bound on all delays, D, or None if delays do not matter.
    index
        "whittle", the price of a pull at which the arm may as well rest, or "greedy", the bound at
        the arm's delay itself.
    exploration
        Scale of the confidence level, 1 as in KL-UCB for arms that do not change.

    Examples
    --------
    >>> from fallow import catalog, plan, simulate
    >>> instance = catalog.blocking_large(seed=3)
    >>> run = simulate(instance, KLUCB(20, max_delay=20), 2000, seed=0)
    >>> float(run.expected_reward(2000)) / 2000 > 0.85 * plan(instance).gain
    True
    """

    def __init__(
        self,
        arms: int,
        max_delay: int | None,
        index: str = "whittle",
        exploration: float = 1.0,
    ) -> None:
        self.max_delay = delay_bound(max_delay)
        self._cells = Cells(arms, self.max_delay)
        self.arms = self._cells.arms
        checks.one_of("index", index, INDICES)
        self.index = index
        self.exploration = checks.positive("exploration", exploration)

    def _check_progress(self) -> None:
        super()._check_progress()
        self._cells.check(self.arms, self.max_delay + 1)

    def _choose(self) -> Block:
        cells = self._cells
        level = self.exploration * math.log(max(cells.rounds, 2))
        bounds = upper_bounds(cells.counts, cells.sums, level)
        lacking = np.arange(self.max_delay, -1, -1) / (cells.rounds + 1)
        indices = INDICES[self.index](bounds - TILT * lacking)
        columns = np.array(cells.delays()) - 1
        return Block((int(indices[np.arange(self.arms), columns].argmax()),))

    def _learn(self, block: Block, outcome: Outcome) -> None:
        self._cells.credit(block, outcome)
