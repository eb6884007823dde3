"""How learners are saved: as plain JSON values, from which the very same learner is restored."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from inspect import signature
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from fallow import checks
from fallow.errors import InputError
from fallow.kernels.bandits import Statistics
from fallow.learners.cell_rewards import Cells
from fallow.learners.policy_rewards import PolicyRewards
from fallow.planners.cycle import Plan
from fallow.protocol import Block

FORMAT = 1
"""Of the states that are written and read here."""
PLAIN = (type(None), bool, int, float, str)
DTYPES = ("bool", "int32", "int64", "float32", "float64")
CLASSES: Mapping[str, Any] = MappingProxyType(
    {each.__name__: each for each in (Block, Cells, Plan, PolicyRewards, Statistics)}
)
"""Whose instances a state may hold, beside what Python and numpy have."""
MISFITS = (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What decoding may run into where a state is not as it was written."""


class SavedLearner:
    """A learner that can be saved at any moment, with no code of its own for it.

    It keeps each argument of its constructor as an attribute of the same name, and its constructor
    sets every attribute, also those that change later.
    """

    _scratch: frozenset[str] = frozenset()
    """Attributes that follow from the others; they are not saved, and a restored learner has them
    as a new one."""

    def parameters(self) -> dict[str, Any]:
        """Return the arguments of the constructor, in its order.

        Examples
        --------
        >>> from fallow.learners import UCBGreedy
        >>> UCBGreedy(arms=2, delays=(3, 1)).parameters()
        {'arms': 2, 'delays': [3, 1], 'exploration': 8.0}
        """
        parameters: dict[str, Any] = {}
        for name, parameter in signature(type(self)).parameters.items():
            if not hasattr(self, name):
                cls = type(self).__name__
                raise InputError(f"{cls}", f"must keep its argument {name} as an attribute", "none")
            value = getattr(self, name)
            parameters.update(value if parameter.kind is parameter.VAR_KEYWORD else {name: value})
        return parameters

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self._written().items())
        return f"{type(self).__name__}({given})"

    def _repr_html_(self) -> str:
        from fallow.drawing.html import number_table, snippet

        rows = {name: [value] for name, value in self._written().items()}
        words = (type(self).__doc__ or "A learner.").partition("\n")[0]
        return snippet(type(self).__name__, words, number_table(["argument", "value"], rows))

    def _written(self) -> dict[str, str]:
        """Return the arguments as they are written, those that are long cut."""
        return {
            name: value.__name__ if isinstance(value, type) else checks.short(value)
            for name, value in self.parameters().items()
        }

    def state(self) -> dict[str, Any]:
        """Return all that `from_state` needs to go on from here, as plain JSON values.

        Examples
        --------
        >>> from fallow.learners import UCBGreedy
        >>> learner = UCBGreedy(arms=1, delays=[0])
        >>> block = learner.ask()
        >>> learner.state()["progress"]
        {'_pending': {'Block': {'arms': {'tuple': [0]}, 'plays': 1}}}
        """
        parameters = encode("parameters", self.parameters())
        fresh, own = _attributes(type(self)(**self.parameters())), _attributes(self)
        _check_members("progress", fresh, own)  # so that what is saved can be restored
        before, now = encode("progress", fresh), encode("progress", own)
        changed = [name for name in now if _text(now[name]) != _text(before[name])]
        return {
            "format": FORMAT,
            "learner": _name(type(self)),
            "parameters": parameters,
            "progress": {name: now[name] for name in changed},
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
        if state["learner"] != _name(cls):
            raise InputError("state", f"must be of a {_name(cls)}", f"{state['learner']!r}")
        parameters = decode("parameters", state["parameters"])
        _check_parameters(cls, parameters)
        try:
            learner = cls(**parameters)
        except TypeError as error:
            raise InputError("parameters", f"must be arguments of {_name(cls)}: {error}") from None
        fresh = _attributes(learner)
        progress = decode("progress", state["progress"])
        for name in signature(cls).parameters:
            if name in progress:
                raise InputError(
                    "progress", f"must not hold {name}, an argument that never changes"
                )
        _check_members("progress", fresh, {**fresh, **progress})
        vars(learner).update(progress)
        learner._check_progress()
        return learner

    def _check_progress(self) -> None:
        """Check, after the types, that this learner can have come to the state that was read.

        A subclass adds what it relies on. Whatever it lets pass must not lead to an error later.
        """


def load(state: Mapping[str, Any]) -> SavedLearner:
    """Return the learner whose state this is, whatever its class.

    A class of your own is found if its module was imported before; a state imports nothing.

    Examples
    --------
    >>> from fallow.learners import UCB1
    >>> load(UCB1(arms=3).state())
    UCB1(arms=3, exploration=2.0)
    """
    _check_state(state)
    return _find_class(state["learner"]).from_state(state)


def encode(field: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by name as JSON has them, with a tag where JSON has no such thing.

    Examples
    --------
    >>> encode("progress", {"cycle": [1, (0.5, None)]})
    {'cycle': [1, {'tuple': [0.5, None]}]}
    """
    return {name: _encode(f"{field}.{name}", each) for name, each in values.items()}


def decode(field: str, values: Any) -> dict[str, Any]:
    """Return what `encode` made this of; an InputError if it cannot have made it.

    Examples
    --------
    >>> decode("progress", {"cycle": [1, {"tuple": [0.5, None]}]})
    {'cycle': [1, (0.5, None)]}
    """
    if type(values) is not dict or not all(type(name) is str for name in values):
        raise InputError(field, "must be a dict of names", checks.short(values))
    decoded = {}
    for name, value in values.items():
        place = f"{field}.{name}"
        try:
            decoded[name] = _decode(value)
            as_written = _text(_encode(place, decoded[name])) == _text(value)
        except MISFITS:
            as_written = False
        except InputError as error:
            raise error.at(place) from None
        except ValueError as error:  # of base64 or numpy
            raise InputError(place, "must be as it was saved", str(error)) from None
        if not as_written:
            raise InputError(place, "must be as it was saved", checks.short(value))
    return decoded


def _encode(field: str, value: Any) -> Any:
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is list:
        return [_encode(field, each) for each in value]
    if kind is tuple:
        return {"tuple": _encode(field, list(value))}
    if kind is dict:
        return {"dict": _encode(field, [list(pair) for pair in value.items()])}
    if kind in CLASSES.values():
        return {kind.__name__: encode(field, _members(value))}
    if isinstance(value, SavedLearner):
        return {"learner": value.state()}
    if isinstance(value, type) and issubclass(value, SavedLearner):
        return {"class": _name(value)}
    if (kind is np.ndarray or isinstance(value, np.generic)) and value.dtype.name in DTYPES:
        return {"array": [value.dtype.name, list(value.shape), value.ravel().tolist()]}
    if isinstance(value, np.random.Generator) and type(value.bit_generator) is np.random.PCG64:
        return {"generator": value.bit_generator.state}
    raise InputError(field, "must be of a kind that can be saved", checks.short(value))


def _decode(value: Any) -> Any:
    if type(value) in PLAIN:
        return value
    if type(value) is list:
        return [_decode(each) for each in value]
    ((tag, content),) = value.items()
    if tag == "tuple":
        return tuple(_decode(content))
    if tag == "dict":
        return dict(_decode(content))
    if tag == "learner":
        return load(content)
    if tag == "class":
        return _find_class(content)
    if tag == "array":
        dtype, shape, values = content
        array = np.array(values, DTYPES[DTYPES.index(dtype)]).reshape(shape)
        return array if shape else array[()]
    if tag == "generator":
        generator = np.random.Generator(np.random.PCG64())
        generator.bit_generator.state = content
        return generator
    members = {name: _decode(each) for name, each in content.items()}
    if hasattr(CLASSES[tag], "_fields") or hasattr(CLASSES[tag], "__dataclass_fields__"):
        return CLASSES[tag](**members)
    instance = CLASSES[tag].__new__(CLASSES[tag])
    vars(instance).update(members)
    return instance


def _members(instance: Any) -> dict[str, Any]:
    return dict(instance._asdict() if hasattr(instance, "_asdict") else vars(instance))


def _check_state(state: Any) -> None:
    if not isinstance(state, Mapping):
        raise InputError("state", "must be a mapping", checks.short(state))
    if type(state.get("format")) is not int or state["format"] != FORMAT:
        found = checks.short(state.get("format"))
        raise InputError("state", f"must have format {FORMAT}, which is read here", f"{found}")
    checks.keys("state", state, ("format", "learner", "parameters", "progress"))


def _check_parameters(cls: type, parameters: Mapping[str, Any]) -> None:
    """Check that a state has all arguments of a class, and others only where it takes any."""
    arguments = signature(cls).parameters.values()
    named = [each.name for each in arguments if each.kind is not each.VAR_KEYWORD]
    others = [name for name in parameters if name not in named]
    takes_any = len(named) < len(arguments)
    checks.keys("parameters", parameters, [*named, *others] if takes_any else named)


def _check_members(field: str, fresh: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Check that members have the names and types that they have in a fresh learner."""
    checks.keys(field, own, fresh)
    for name, value in own.items():
        _check_alike(f"{field}.{name}", fresh[name], value)


def _check_alike(field: str, fresh: Any, value: Any) -> None:
    """Check that a value is of the type that it has in a fresh learner, if it has one there."""
    if fresh is None:
        return
    if type(value) is not type(fresh):
        name = type(fresh).__name__
        raise InputError(field, f"must be of type {name}", checks.short(value))
    if isinstance(value, np.ndarray) and (value.dtype, value.ndim) != (fresh.dtype, fresh.ndim):
        raise InputError(
            field,
            f"must be of {fresh.dtype} in {fresh.ndim} dimensions",
            f"{value.dtype} in {value.ndim}",
        )
    if type(value) in CLASSES.values():
        _check_members(field, _members(fresh), _members(value))


def _attributes(learner: SavedLearner) -> dict[str, Any]:
    """Return the attributes of a learner; before it is first asked, nothing is pending."""
    saved = {name: each for name, each in vars(learner).items() if name not in learner._scratch}
    return {"_pending": None, **saved}


def _text(value: Any) -> str:
    """Return JSON text, in which 0, 0.0, -0.0 and False differ."""
    return json.dumps(value, sort_keys=True)


def _find_class(name: Any) -> type[SavedLearner]:
    """Return the class of a name; nothing is imported."""
    module, _, class_name = checks.text("the learner of a state", name).rpartition(":")
    home = sys.modules.get(module or __package__)
    found = None if home is None else vars(home).get(class_name)
    if not (isinstance(found, type) and issubclass(found, SavedLearner)) or found is SavedLearner:
        raise InputError(
            "the learner of a state",
            "must be a class of fallow.learners, or of a module that was imported first",
            f"{name!r}",
        )
    return found


def _name(cls: type) -> str:
    """Return the name by which `load` finds a class."""
    name: str = cls.__name__
    if vars(sys.modules[__package__]).get(name) is cls:
        return name
    if cls.__qualname__ != name:
        raise InputError(f"{cls.__qualname__}", "must be a class of its module to be saved")
    return f"{cls.__module__}:{name}"
