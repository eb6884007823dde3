"""Learners over single arms that know nothing of delays: what a practitioner would try first."""

import numpy as np

from fallow import checks
from fallow.kernels import bandits
from fallow.kernels.bandits import Runs, Statistics, Table
from fallow.learners import restored
from fallow.learners.checked_learner import FixedLearner
from fallow.learners.restored import SLACK
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


def check_statistics(statistics: Statistics, options: int, window: int = 0) -> None:
    """Check statistics that were restored."""
    field = "progress._statistics."
    restored.rewards(field, statistics.counts, statistics.sums, (options,))
    total = int(statistics.total[0]) if statistics.total.shape == (1,) else None
    restored.whole_number(f"{field}total", total, least=0)
    restored.numbers(f"{field}window_rewards", statistics.window_rewards, (window,), -SLACK, 2.0)
    seen = statistics.window_options
    restored.whole_numbers(f"{field}window_options", seen.tolist(), window, 0, options - 1)
    if window:
        expected = np.bincount(seen[:total], minlength=options).astype(float)
        restored.equal(f"{field}counts", statistics.counts.tolist(), expected.tolist())
    else:
        restored.equal(f"{field}total", total, int(statistics.counts.sum()))


class BlindLearner(FixedLearner):
    """A learner that pulls one arm at a time and keeps an average of each."""

    def __init__(self, arms: int, window: int = 0) -> None:
        self.arms = checks.arms(arms)
        self._statistics = empty_statistics(self.arms, window)

    def _check_progress(self) -> None:
        super()._check_progress()
        check_statistics(self._statistics, self.arms, getattr(self, "window", 0))
        if self._pending is not None:
            restored.equal("progress._pending.pulls", self._pending.pulls, 1)

    def cycles(self) -> list[tuple[int, ...]]:
        """Return the arms, each as a cycle."""
        return [(arm,) for arm in range(self.arms)]

    def _learn(self, block: Block, outcome: Outcome) -> None:
        bandits.observe(self._statistics, block.arms[0], float(outcome.first[0]))


class UCB1(BlindLearner):
    """UCB1 (Auer, Cesa-Bianchi and Fischer 2002): the largest average + sqrt(c ln n / n_i).

    `exploration` is c, 2 as published.

    Examples
    --------
    >>> UCB1(arms=3).ask()
    Block(arms=(0,), plays=1)
    """

    def __init__(self, arms: int, exploration: float = 2.0) -> None:
        super().__init__(arms)
        self.exploration = checks.positive("exploration", exploration)

    def _choose(self) -> Block:
        total = float(self._statistics.total[0])
        return Block((int(bandits.ucb_choice(self._statistics, total, self.exploration)),))

    def play_compiled(
        self, table: Table, horizon: int, noisy: bool, generator: np.random.Generator, log: Runs
    ) -> int:
        """Play until the horizon or until the log is full, and return how many runs it holds."""
        return bandits.play_ucb(
            table, self._statistics, self.exploration, horizon, noisy, generator, log
        )


class SlidingWindowUCB(BlindLearner):
    """UCB over the last `window` pulls (Garivier and Moulines 2011), for payoffs that change.

    The largest average + sqrt(exploration ln(min(n, window)) / n_i), all within the window.

    Examples
    --------
    >>> SlidingWindowUCB(arms=3, window=100).ask()
    Block(arms=(0,), plays=1)
    """

    def __init__(self, arms: int, window: int = 1000, exploration: float = 0.6) -> None:
        self.window = checks.whole_number("window", window, minimum=1, maximum=checks.MAX_VALUES)
        self.exploration = checks.positive("exploration", exploration)
        super().__init__(arms, self.window)

    def _choose(self) -> Block:
        seen = float(min(self._statistics.total[0], self.window))
        return Block((int(bandits.ucb_choice(self._statistics, seen, self.exploration)),))

    def play_compiled(
        self, table: Table, horizon: int, noisy: bool, generator: np.random.Generator, log: Runs
    ) -> int:
        """Play until the horizon or until the log is full, and return how many runs it holds."""
        return bandits.play_window(
            table, self._statistics, self.exploration, horizon, noisy, generator, log
        )


class ThompsonSampling(BlindLearner):
    """Thompson sampling with a uniform prior on each arm's mean.

    Examples
    --------
    >>> ThompsonSampling(arms=3, seed=0).ask().plays
    1
    """

    def __init__(self, arms: int, seed: int = 0) -> None:
        super().__init__(arms)
        self.seed = checks.seed("seed", seed)
        self.generator = own_generator(self.seed)

    def _choose(self) -> Block:
        return Block((int(bandits.thompson_choice(self._statistics, self.generator)),))

    def play_compiled(
        self, table: Table, horizon: int, noisy: bool, generator: np.random.Generator, log: Runs
    ) -> int:
        """Play until the horizon or until the log is full, and return how many runs it holds."""
        return bandits.play_thompson(
            table, self._statistics, horizon, noisy, generator, self.generator, log
        )


class EpsilonGreedy(BlindLearner):
    """The best average so far, and with probability epsilon any arm.

    Examples
    --------
    >>> EpsilonGreedy(arms=3, epsilon=0.05, seed=0).ask().plays
    1
    """

    def __init__(self, arms: int, epsilon: float = 0.1, seed: int = 0) -> None:
        super().__init__(arms)
        self.epsilon = checks.share("epsilon", epsilon)
        self.seed = checks.seed("seed", seed)
        self.generator = own_generator(self.seed)

    def _choose(self) -> Block:
        choice = bandits.epsilon_choice(self._statistics, self.epsilon, self.generator)
        return Block((int(choice),))

    def play_compiled(
        self, table: Table, horizon: int, noisy: bool, generator: np.random.Generator, log: Runs
    ) -> int:
        """Play until the horizon or until the log is full, and return how many runs it holds."""
        return bandits.play_epsilon(
            table, self._statistics, self.epsilon, horizon, noisy, generator, self.generator, log
        )
