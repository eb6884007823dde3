"""How learners are saved: as plain JSON values, from which the very same learner is restored."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from inspect import Parameter, signature
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from fallow import checks
from fallow.kernels.bandits import Statistics
from fallow.learners.array_codec import (
    DTYPES,
    decode_array,
    decode_generator,
    encode_array,
    encode_generator,
)
from fallow.learners.cell_rewards import Cells
from fallow.learners.policy_rewards import PolicyRewards
from fallow.learners.tree import Tree
from fallow.planners.cycle import Plan
from fallow.protocol import Block, Outcome

FORMAT = 1
"""Of the states that are written and read here."""
PLAIN = (type(None), bool, int, float, str)
CLASSES: Mapping[str, type] = MappingProxyType(
    {each.__name__: each for each in (Block, Cells, Plan, PolicyRewards, Statistics, Tree)}
)
"""Whose instances a state may hold, beside what Python and numpy have."""


class SavedLearner(ABC):
    """A learner that can be saved at any moment, with no code of its own for it.

    It keeps each argument of its constructor as an attribute of the same name, and its constructor
    sets every attribute, also those that change later. A restored learner has copies: attributes
    that were one object before are two then, and generators have forgotten what they spawned.
    """

    @abstractmethod
    def ask(self) -> Block:
        """Return the block to play next."""

    @abstractmethod
    def tell(self, block: Block, outcome: Outcome) -> None:
        """Take in what the block that was asked for has earned."""

    def parameters(self) -> dict[str, Any]:
        """Return the arguments of the constructor, in its order.

        Examples
        --------
        >>> from fallow.learners import UCBGreedy
        >>> UCBGreedy(arms=2, delays=(3, 1)).parameters()
        {'arms': 2, 'delays': [3, 1]}
        """
        return _parameters(self)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters().items())
        return f"{type(self).__name__}({given})"

    def state(self) -> dict[str, Any]:
        """Return all that `from_state` needs to go on from here, as plain JSON values.

        Examples
        --------
        >>> from fallow.learners import UCBGreedy
        >>> learner = UCBGreedy(arms=1, delays=[0])
        >>> block = learner.ask()
        >>> learner.state()["progress"]
        {'pending': {'Block': {'arms': {'tuple': [0]}, 'plays': 1}}}
        """
        parameters = _encoded("parameters", self.parameters())
        fresh = _attributes(type(self)(**_decoded("parameters", parameters)))
        own = _attributes(self)
        _check_progress(own, fresh)
        before, now = _encoded("progress", fresh), _encoded("progress", own)
        return {
            "format": FORMAT,
            "learner": _class_name(type(self)),
            "parameters": parameters,
            # Compared as text, in which 0, 0.0, -0.0 and False differ.
            "progress": {
                name: now[name] for name in now if json.dumps(now[name]) != json.dumps(before[name])
            },
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return a learner that goes on exactly as the one whose state this is.

        Examples
        --------
        >>> from fallow.learners import ThompsonSampling
        >>> learner = ThompsonSampling(arms=3, seed=7)
        >>> ThompsonSampling.from_state(learner.state()).ask() == learner.ask()
        True
        """
        _check_state(state)
        if state["learner"] != _class_name(cls):
            raise ValueError(f"state must be of a {_class_name(cls)}, got {state['learner']!r}")
        parameters = _decoded("parameters", state["parameters"])
        checks.keys("parameters", parameters, _arguments(cls))
        learner = cls(**parameters)
        progress = _decoded("progress", state["progress"])
        _check_progress(progress, _attributes(learner))
        vars(learner).update(progress)
        return learner


def load(state: Mapping[str, Any]) -> SavedLearner:
    """Return the learner whose state this is, whatever its class.

    A class of your own is found if its module was imported before; a state imports nothing.

    Examples
    --------
    >>> from fallow.learners import UCB1
    >>> load(UCB1(arms=3).state())
    UCB1(arms=3)
    """
    _check_state(state)
    name = checks.text("the learner of a state", state["learner"])
    module, _, class_name = name.rpartition(":")
    home = sys.modules.get(module or __package__)
    found = None if home is None else vars(home).get(class_name)
    if not (isinstance(found, type) and issubclass(found, SavedLearner)):
        raise ValueError(
            "the learner of a state must be a class of fallow.learners or of an imported module, "
            f"got {name!r}; import its module first"
        )
    return found.from_state(state)


def encode(field: str, value: Any) -> Any:
    """Return a value as JSON has it, with a tag if JSON has no such thing.

    Examples
    --------
    >>> encode("cycle", [1, (0.5, None)])
    [1, {'tuple': [0.5, None]}]
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is list:
        return [encode(field, each) for each in value]
    if kind is tuple:
        return {"tuple": [encode(field, each) for each in value]}
    if kind is dict:
        return {"dict": [[encode(field, key), encode(field, each)] for key, each in value.items()]}
    if kind in CLASSES.values():
        return {kind.__name__: _encoded(field, _members(value))}
    if isinstance(value, SavedLearner):
        return {"learner": value.state()}
    if kind is np.ndarray and value.dtype.name in DTYPES:
        return {"array": encode_array(value)}
    if isinstance(value, np.generic) and value.dtype.name in DTYPES:
        return {"scalar": encode_array(value)}
    if isinstance(value, np.random.Generator) and type(value.bit_generator) is np.random.PCG64:
        return {"generator": encode_generator(value)}
    raise ValueError(f"{field} must be of a kind that can be saved, got {checks.short(value)}")


def decode(field: str, value: Any) -> Any:
    """Return what `encode` made this of; a ValueError if it cannot have made it.

    Examples
    --------
    >>> decode("cycle", [1, {"tuple": [0.5, None]}])
    [1, (0.5, None)]
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is list:
        return [decode(field, each) for each in value]
    if kind is not dict or len(value) != 1:
        raise ValueError(f"{field} must be plain or have one tag, got {checks.short(value)}")
    ((tag, content),) = value.items()
    if tag in CLASSES:
        return _decode_instance(field, CLASSES[tag], content)
    if tag == "tuple":
        return tuple(_decode_list(field, content))
    if tag == "dict":
        return _decode_dict(field, content)
    if tag == "learner":
        return load(content)
    if tag == "array":
        return decode_array(field, content)
    if tag == "scalar":
        return decode_array(field, content)[()]
    if tag == "generator":
        return decode_generator(field, content)
    raise ValueError(f"{field} must have a known tag, got {checks.short(tag)}")


def _encoded(field: str, values: Mapping[str, Any]) -> dict[str, Any]:
    encoded = {}
    for name, value in values.items():
        encoded[name] = encode(f"{field}.{name}", value)
    return encoded


def _decoded(field: str, values: Any) -> dict[str, Any]:
    if type(values) is not dict or not all(type(name) is str for name in values):
        raise ValueError(f"{field} must be a dict of names, got {checks.short(values)}")
    decoded = {}
    for name, value in values.items():
        decoded[name] = decode(f"{field}.{name}", value)
    return decoded


def _decode_instance(field: str, cls: type, content: Any) -> Any:
    members = _decoded(field, content)
    arguments = _arguments(cls)
    checks.keys(field, {name: None for name in members if name in arguments}, arguments)
    instance = cls(**{name: members.pop(name) for name in arguments})
    fresh = {name: value for name, value in _members(instance).items() if name not in arguments}
    checks.keys(field, members, fresh)
    for name, value in members.items():
        _check_alike(f"{field}.{name}", fresh[name], value)
        vars(instance)[name] = value
    return instance


def _decode_list(field: str, content: Any) -> list[Any]:
    if type(content) is not list:
        raise ValueError(f"{field} must be a list, got {checks.short(content)}")
    return [decode(field, each) for each in content]


def _decode_dict(field: str, content: Any) -> dict[Any, Any]:
    decoded = {}
    for pair in _decode_list(field, content):
        if type(pair) is not list or len(pair) != 2:
            raise ValueError(f"{field} must be pairs of key and value, got {checks.short(pair)}")
        try:
            decoded[pair[0]] = pair[1]
        except TypeError:
            found = checks.short(pair[0])
            raise ValueError(f"{field} must have keys without lists, got {found}") from None
    return decoded


def _check_state(state: Any) -> None:
    if not isinstance(state, Mapping):
        raise ValueError(f"state must be a mapping, got {checks.short(state)}")
    if type(state.get("format")) is not int or state["format"] != FORMAT:
        found = checks.short(state.get("format"))
        raise ValueError(f"state must have format {FORMAT}, which is read here, got {found}")
    checks.keys("state", state, ("format", "learner", "parameters", "progress"))


def _check_progress(progress: Mapping[str, Any], fresh: Mapping[str, Any]) -> None:
    """Check that progress could be that of the fresh learner whose attributes these are."""
    for name, value in progress.items():
        if name not in fresh:
            raise ValueError(f"progress must be of attributes set by the constructor, got {name}")
        _check_alike(f"progress.{name}", fresh[name], value)


def _check_alike(field: str, fresh: Any, value: Any) -> None:
    """Check that a value is of the type that it has in a fresh learner, if it has one there."""
    if fresh is None:
        return
    if type(value) is not type(fresh):
        name = type(fresh).__name__
        raise ValueError(f"{field} must be of type {name}, got {checks.short(value)}")
    if isinstance(value, np.ndarray):
        if value.dtype != fresh.dtype:
            raise ValueError(f"{field} must be an array of {fresh.dtype}, got {value.dtype}")
        if value.ndim != fresh.ndim:
            raise ValueError(f"{field} must have {fresh.ndim} dimensions, got {value.ndim}")
    if type(value) in CLASSES.values():
        before = _members(fresh)
        for name, member in _members(value).items():
            _check_alike(f"{field}.{name}", before[name], member)


def _attributes(learner: SavedLearner) -> dict[str, Any]:
    """Return the attributes of a learner; before it is first asked, nothing is pending."""
    return {"pending": None, **vars(learner)}


def _members(instance: Any) -> dict[str, Any]:
    """Return the arguments and the attributes of an instance of one of the classes."""
    return {**_parameters(instance), **getattr(instance, "__dict__", {})}


def _parameters(instance: Any) -> dict[str, Any]:
    return {name: getattr(instance, name) for name in _arguments(type(instance))}


def _arguments(cls: type) -> tuple[str, ...]:
    """Return the arguments of a constructor, each of which must have a name."""
    arguments = signature(cls).parameters
    for argument in arguments.values():
        if argument.kind not in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY):
            raise ValueError(f"arguments of {cls.__name__} must have names, got {argument}")
    return tuple(arguments)


def _class_name(cls: type) -> str:
    """Return the name by which `load` finds a class."""
    name: str = cls.__name__
    if vars(sys.modules[__package__]).get(name) is cls:
        return name
    return f"{cls.__module__}:{cls.__qualname__}"
