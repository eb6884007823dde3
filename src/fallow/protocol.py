"""What the simulator and the learners say to each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from fallow import checks


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


class CheckedLearner(ABC):
    """A learner that refuses what it did not ask for, and can be saved at any moment.

    A subclass says how it chooses and learns, and what its parameters and its progress are, both as
    plain JSON values.
    """

    pending: Block | None = None
    """The block that was asked for and whose outcome was not told yet."""

    def ask(self) -> Block:
        """Return the block to play next, the same one until its outcome is told."""
        if self.pending is None:
            self.pending = self._choose()
        return self.pending

    def tell(self, block: Block, outcome: Outcome) -> None:
        """Take in what the block that was asked for has earned.

        Raises
        ------
        ValueError
            If the block is not the one asked for or the outcome cannot be its own; the learner is
            then as it was.
        """
        if self.pending is None or block != self.pending:
            raise ValueError(f"block must be the one asked for, {self.pending}, got {block}")
        _check_rewards("outcome.first", outcome.first, len(block.arms), largest=1)
        _check_rewards("outcome.rest", outcome.rest, len(block.arms), largest=block.plays - 1)
        self._learn(block, outcome)
        self.pending = None

    def state(self) -> dict[str, Any]:
        """Return all that `from_state` needs to go on from here, as plain JSON values."""
        return {
            "learner": type(self).__name__,
            "parameters": self._parameters(),
            "progress": self._progress(),
            "pending": None if self.pending is None else [*self.pending],
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return a learner that goes on exactly as the one whose state this is."""
        if state.get("learner") != cls.__name__:
            raise ValueError(f"state must be of a {cls.__name__}, got {state.get('learner')!r}")
        learner = cls._built(state["parameters"])
        learner._restore(state["progress"])
        if state["pending"] is not None:
            arms, plays = state["pending"]
            learner.pending = Block(tuple(arms), plays)
        return learner

    @classmethod
    def _built(cls, parameters: Mapping[str, Any]) -> Self:
        return cls(**parameters)

    @abstractmethod
    def _choose(self) -> Block: ...

    @abstractmethod
    def _learn(self, block: Block, outcome: Outcome) -> None: ...

    @abstractmethod
    def _parameters(self) -> dict[str, Any]: ...

    @abstractmethod
    def _progress(self) -> dict[str, Any]: ...

    @abstractmethod
    def _restore(self, progress: Mapping[str, Any]) -> None: ...


def has_compiled_loop(learner: Learner) -> bool:
    return type(learner).__name__ in (
        "RankingUCB",
        "UCB1",
        "SlidingWindowUCB",
        "ThompsonSampling",
        "EpsilonGreedy",
    )


def own_generator(seed: int) -> np.random.Generator:
    """Return a stream apart from the one that the simulator draws from an equal seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))


def _check_rewards(argument: str, rewards: Sequence[float], positions: int, largest: int) -> None:
    plain = type(rewards) is list and len(rewards) == positions
    if plain and all(type(reward) is float and 0 <= reward <= largest for reward in rewards):
        return  # as the simulator tells them; what follows says what is wrong
    numbers = checks.numbers(argument, rewards, dimensions=1)
    if len(numbers) != positions:
        raise ValueError(
            f"{argument} must have one number for each of the block's {positions} arms, "
            f"got {len(numbers)}"
        )
    # A sum of rewards may carry a rounding error.
    wrong = np.flatnonzero(~((numbers >= -1e-9) & (numbers <= largest * (1 + 1e-9))))
    if wrong.size:
        raise ValueError(
            f"{argument} must lie in [0, {largest}], got {numbers[wrong[0]]} at position {wrong[0]}"
        )
