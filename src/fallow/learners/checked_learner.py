"""What all learners of the package share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from inspect import signature
from typing import Any

import numpy as np

from fallow import checks
from fallow.errors import InputError
from fallow.learners import restored
from fallow.learners.codec import SavedLearner
from fallow.protocol import Block, Outcome


def _first_place(cls: type, *names: str) -> int:
    """Return the place, among a class and its parents, of the first that defines a name."""
    owners = [any(name in vars(parent) for name in names) for parent in cls.__mro__]
    return owners.index(True)


class CheckedLearner(SavedLearner, ABC):
    """A learner that refuses what it did not ask for, and can be saved at any moment.

    A subclass says how it chooses and learns. It keeps each argument of its constructor as an
    attribute of the same name, and sets all its attributes there.

    Examples
    --------
    >>> class InTurn(CheckedLearner):
    ...     def __init__(self, arms):
    ...         self.arms = arms
    ...         self.pulls = 0
    ...
    ...     def _choose(self):
    ...         return Block((self.pulls % self.arms,))
    ...
    ...     def _learn(self, block, outcome):
    ...         self.pulls += 1
    >>> learner = InTurn(arms=3)
    >>> learner.tell(learner.ask(), Outcome(first=[1.0], rest=[0.0]))
    >>> InTurn.from_state(learner.state()).ask()
    Block(arms=(1,), plays=1)
    """

    _pending: Block | None = None
    play_compiled: Any = None
    """The compiled loop, of those that have one (`fallow.protocol.CompiledLearner`)."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Take the parent's compiled loop away if this class decides or learns otherwise."""
        super().__init_subclass__(**options)
        decides = _first_place(cls, "ask", "tell", "_choose", "_learn")
        if decides < _first_place(cls, "play_compiled"):
            cls.play_compiled = None

    @property
    def pending(self) -> Block | None:
        """The block that was asked for and whose outcome was not told yet."""
        return self._pending

    def ask(self) -> Block:
        """Return the block to play next, the same one until its outcome is told."""
        if self._pending is None:
            self._pending = self._choose()
        return self._pending

    def tell(self, block: Block, outcome: Outcome) -> None:
        """Take in what the block that was asked for has earned.

        Raises
        ------
        InputError
            If the block is not the one asked for or the outcome cannot be its own; the learner is
            then as it was.
        """
        if self._pending is None or block != self._pending:
            raise InputError("block", f"must be the one asked for, {self._pending}", f"{block}")
        _check_rewards("outcome.first", outcome.first, len(block.arms), largest=1)
        _check_rewards("outcome.rest", outcome.rest, len(block.arms), largest=block.plays - 1)
        self._learn(block, outcome)
        self._pending = None

    def _check_progress(self) -> None:
        super()._check_progress()
        if self._pending is not None:
            restored.block("progress._pending", self._pending, getattr(self, "arms", None))

    @abstractmethod
    def _choose(self) -> Block: ...

    @abstractmethod
    def _learn(self, block: Block, outcome: Outcome) -> None: ...


class FixedLearner(CheckedLearner):
    """A learner that hands its attributes to compiled code, which trusts them.

    So the arguments of its constructor cannot be set to anything else later.
    """

    _arguments: frozenset[str] = frozenset()

    def __init_subclass__(cls, **options: Any) -> None:
        """Note the arguments of the constructor."""
        super().__init_subclass__(**options)
        cls._arguments = frozenset(signature(cls).parameters)

    def __setattr__(self, name: str, value: object) -> None:
        if name in self._arguments and name in vars(self):
            raise AttributeError(
                f"{name} of a {type(self).__name__} must stay as it was given, got "
                f"{checks.short(value)}; make a new learner"
            )
        super().__setattr__(name, value)


def accepted(make: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the values that a function has an argument for.

    Examples
    --------
    >>> accepted(lambda arms, seed: None, {"seed": 7, "horizon": 1000})
    {'seed': 7}
    """
    arguments = signature(make).parameters
    return {name: value for name, value in values.items() if name in arguments}


def check_learner_class(
    argument: str,
    cls: type[CheckedLearner],
    options: Mapping[str, Any],
    needs: str,
    offers: Sequence[str] = (),
) -> None:
    """Check that a class takes what a learner made of it needs to give, and these options.

    What is offered is given where the class asks for it, so it must not be among the options.
    """
    if not (isinstance(cls, type) and issubclass(cls, CheckedLearner)):
        raise InputError(
            argument, "must be a class of learners that extends CheckedLearner", checks.short(cls)
        )
    given = accepted(cls, dict.fromkeys([needs, *offers]))
    if needs not in given:
        raise InputError(argument, f"must be a learner with an argument {needs}", f"{cls.__name__}")
    checks.arguments(cls.__name__, cls, options, supplied=given)


def own_copy(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options that no one else can change, of kinds that can be saved."""
    return {
        name: list(value) if isinstance(value, range) else deepcopy(value)
        for name, value in options.items()
    }


def _check_rewards(argument: str, rewards: Sequence[float], positions: int, largest: int) -> None:
    plain = type(rewards) is list and len(rewards) == positions
    if plain and all(type(reward) is float and 0 <= reward <= largest for reward in rewards):
        return  # as the simulator tells them; what follows says what is wrong
    numbers = checks.numbers(argument, rewards, dimensions=1)
    if len(numbers) != positions:
        raise InputError(
            argument,
            f"must have one number for each of the block's {positions} arms",
            f"{len(numbers)}",
        )
    # A sum of rewards may carry a rounding error.
    wrong = np.flatnonzero(~((numbers >= -1e-9) & (numbers <= largest * (1 + 1e-9))))
    if wrong.size:
        raise InputError(
            argument, f"must lie in [0, {largest}]", f"{numbers[wrong[0]]} at position {wrong[0]}"
        )
