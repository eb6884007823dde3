"""Learners over single arms that know nothing of delays: what a practitioner would try first."""

from typing import ClassVar

import numpy as np

from fallow import checks
from fallow.kernels import bandits
from fallow.kernels.bandits import (
    Statistics,
    epsilon_choice,
    observe,
    thompson_choice,
    ucb_choice,
)
from fallow.learners.checked_learner import CheckedLearner
from fallow.protocol import Block, Outcome, own_generator


def empty_statistics(options: int, window: int = 0) -> Statistics:
    """Return statistics without observations; a window of 0 never forgets."""
    return Statistics(
        counts=np.zeros(options),
        sums=np.zeros(options),
        total=np.zeros(1, np.int64),
        window_options=np.zeros(window, np.int64),
        window_rewards=np.zeros(window),
    )


class BlindLearner(CheckedLearner):
    """A learner that pulls one arm at a time and keeps an average of each.

    `kind` and `parameter` tell the compiled loop what it is; learners that draw random numbers have
    a `generator` of their own.
    """

    kind: ClassVar[int]
    parameter: float = 0.0
    generator: np.random.Generator | None = None

    def __init__(self, arms: int, window: int = 0) -> None:
        self.arms = checks.whole_number("arms", arms, minimum=1)
        self.statistics = empty_statistics(self.arms, window)

    def _learn(self, block: Block, outcome: Outcome) -> None:
        observe(self.statistics, block.arms[0], float(outcome.first[0]))


class UCB1(BlindLearner):
    """UCB1 (Auer, Cesa-Bianchi and Fischer 2002): the largest average + sqrt(2 ln n / n_i).

    Examples
    --------
    >>> UCB1(arms=3).ask()
    Block(arms=(0,), plays=1)
    """

    kind = bandits.UCB
    parameter = 2.0

    def __init__(self, arms: int) -> None:
        super().__init__(arms)

    def _choose(self) -> Block:
        total = float(self.statistics.total[0])
        return Block((int(ucb_choice(self.statistics, total, self.parameter)),))


class SlidingWindowUCB(BlindLearner):
    """UCB over the last `window` pulls (Garivier and Moulines 2011), for payoffs that change.

    The largest average + sqrt(exploration ln(min(n, window)) / n_i), all within the window.

    Examples
    --------
    >>> SlidingWindowUCB(arms=3, window=100).ask()
    Block(arms=(0,), plays=1)
    """

    kind = bandits.WINDOW

    def __init__(self, arms: int, window: int = 1000, exploration: float = 0.6) -> None:
        self.window = checks.whole_number("window", window, minimum=1)
        self.exploration = checks.positive("exploration", exploration)
        self.parameter = self.exploration
        super().__init__(arms, self.window)

    def _choose(self) -> Block:
        seen = float(min(self.statistics.total[0], self.window))
        return Block((int(ucb_choice(self.statistics, seen, self.parameter)),))


class ThompsonSampling(BlindLearner):
    """Thompson sampling with a uniform prior on each arm's mean.

    Examples
    --------
    >>> ThompsonSampling(arms=3, seed=0).ask().plays
    1
    """

    kind = bandits.THOMPSON

    def __init__(self, arms: int, seed: int = 0) -> None:
        super().__init__(arms)
        self.seed = checks.whole_number("seed", seed, minimum=0)
        self.generator: np.random.Generator = own_generator(self.seed)

    def _choose(self) -> Block:
        return Block((int(thompson_choice(self.statistics, self.generator)),))


class EpsilonGreedy(BlindLearner):
    """The best average so far, and with probability epsilon any arm.

    Examples
    --------
    >>> EpsilonGreedy(arms=3, epsilon=0.05, seed=0).ask().plays
    1
    """

    kind = bandits.EPSILON

    def __init__(self, arms: int, epsilon: float = 0.1, seed: int = 0) -> None:
        super().__init__(arms)
        self.epsilon = checks.share("epsilon", epsilon)
        self.parameter = self.epsilon
        self.seed = checks.whole_number("seed", seed, minimum=0)
        self.generator: np.random.Generator = own_generator(self.seed)

    def _choose(self) -> Block:
        return Block((int(epsilon_choice(self.statistics, self.parameter, self.generator)),))
