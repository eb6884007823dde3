"""What the simulator and the learners say to each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeGuard

import numpy as np

from fallow.kernels.bandits import Runs, Table


class Block(NamedTuple):
    """Pull `arms` in order, `plays` times over.

    A play of the ranking policy over m arms is `Block(order[:m], 1)` (paper, section 6); a single
    pull of arm i is `Block((i,), 1)`.

    Examples
    --------
    >>> Block((0, 1, 2), plays=5).pulls
    15
    """

    arms: tuple[int, ...]
    plays: int = 1

    @property
    def pulls(self) -> int:
        """Rounds that the block takes."""
        return len(self.arms) * self.plays


class Outcome(NamedTuple):
    """What a block earned, by position in it.

    Attributes
    ----------
    first
        Rewards of the first play, each in [0, 1]. Its delays depend on what was played before, so
        an estimate of the cycle's own gain leaves it out (section 6).
    rest
        Rewards of all other plays, added up.

    Examples
    --------
    >>> Outcome(first=(1.0, 0.0), rest=(3.0, 4.0))
    Outcome(first=(1.0, 0.0), rest=(3.0, 4.0))
    """

    first: Sequence[float]
    rest: Sequence[float]


class Learner(Protocol):
    """A strategy that decides what to play from what it earned; it never sees the instance.

    Anything with these two methods can be simulated.
    """

    def ask(self) -> Block:
        """Return the block to play next."""

    def tell(self, block: Block, outcome: Outcome) -> None:
        """Take in what the block that was asked for has earned."""


class CompiledLearner(Learner, Protocol):
    """A learner that also has a compiled loop, which plays many rounds at once.

    The loop decides, learns and draws random numbers exactly as the simulator does with `ask` and
    `tell`. It is used when nothing is pending and rewards are not drawn one by one.
    """

    arms: int
    """Number of arms, k."""
    pending: Block | None
    """The block that was asked for and whose outcome was not told yet."""

    def cycles(self) -> Sequence[tuple[int, ...]]:
        """Return all cycles that the loop may play; the log has them by their place here."""

    def play_compiled(
        self, table: Table, horizon: int, noisy: bool, generator: np.random.Generator, log: Runs
    ) -> int:
        """Play until the horizon or until the log is full, and return how many runs it holds.

        Rewards are drawn from the generator, or are their means if not noisy. The clock moves on
        with the rounds; where the horizon cuts a block, `table.clock[CUT]` is set.
        """


def has_compiled_loop(learner: Learner) -> TypeGuard[CompiledLearner]:
    """Tell whether a learner has a compiled loop, which holds no lock of the interpreter.

    Examples
    --------
    >>> from fallow import Rotation
    >>> from fallow.learners import UCB1
    >>> has_compiled_loop(UCB1(arms=3)), has_compiled_loop(Rotation(arms=3))
    (True, False)
    """
    return getattr(learner, "play_compiled", None) is not None


def own_generator(seed: int) -> np.random.Generator:
    """Return a stream apart from the one that the simulator draws from an equal seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
