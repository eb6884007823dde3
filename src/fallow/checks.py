"""The rules that input must keep; each error names the argument, the rule and the value."""

import difflib
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from inspect import signature
from reprlib import Repr
from typing import Any
from unicodedata import category

import numpy as np
import numpy.typing as npt

from fallow.arrays import FloatArray, IntArray
from fallow.errors import InputError

MAX_VALUES = 2**26
"""Largest table of means, in values (512 MiB of memory)."""
MAX_ARMS = 2**20
"""Most arms of a table or a learner."""
MAX_NAME = 100
"""Longest name of an arm, a learner or a key, in characters."""
MAX_TEXT = 10_000
"""Longest text of other kinds, in characters."""
LARGEST = 2**62
"""Largest whole number: in 64 bits, with room for a sum of two."""
LARGEST_SEED = 2**128 - 1
"""As much as numpy's own seeds hold."""


def numbers(argument: str, values: npt.ArrayLike, dimensions: int) -> FloatArray:
    """Return a fresh, non-empty float array with that many dimensions."""
    shape = "a list of numbers" if dimensions == 1 else "a list of equally long rows of numbers"
    if isinstance(values, range):  # which may be longer than any memory
        at_most(f"the length of {argument}", _length(values), MAX_VALUES)
    try:
        array = np.array(values, order="C")  # kernels are compiled for such tables
    except ValueError:
        array = np.array(None)  # rows of different lengths
    of_numbers = array.dtype.kind in "iuf" and not _holds_truth(values)
    if isinstance(values, np.ma.MaskedArray):
        of_numbers = False  # its mask would be lost
    if array.ndim != dimensions or array.size == 0 or not of_numbers:
        culprit = short(values)
        if dimensions == 2 and isinstance(values, list | tuple) and len(values) > 1:
            culprit = _first_odd_row(values)
        raise InputError(argument, f"must be {shape}, at least one", culprit)
    return array.astype(np.float64, copy=False)


def _first_odd_row(rows: Sequence[Any]) -> str:
    """Say which row is no list of numbers or not as long as the first."""
    length = len(rows[0]) if isinstance(rows[0], list | tuple) else None
    for place, row in enumerate(rows):
        long_enough = isinstance(row, list | tuple) and len(row) == length
        if not long_enough or not all(_is_number(value) for value in row):
            return f"{short(row)} for arm {place}"
    return short(rows)


def table_size(arms: int, columns: int) -> None:
    """Check that a table of means of this size can be held."""
    if arms * columns > MAX_VALUES:
        raise InputError(
            "means",
            f"must hold at most {MAX_VALUES:,} values",
            f"{count(arms * columns)} ({count(arms)} arms x {count(columns)} delays); shorten the "
            "delays or drop arms",
        )
    at_most("arms", arms, MAX_ARMS)


def shares(argument: str, values: FloatArray, place: Callable[[int], str]) -> None:
    """Check that all values lie in [0, 1], which NaN does not; `place` says where one stands."""
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if wrong.size:
        first = int(wrong[0])
        raise InputError(argument, "must lie in [0, 1]", f"{values.flat[first]} {place(first)}")


def share(argument: str, value: float) -> float:
    """Return the value as a float that lies in [0, 1]."""
    number = _as_float(value)
    if not 0 <= number <= 1:
        raise InputError(argument, "must be a number in [0, 1]", short(value))
    return number


def chance(argument: str, value: float) -> float:
    """Return the value as a float strictly between 0 and 1."""
    number = _as_float(value)
    if not 0 < number < 1:
        raise InputError(argument, "must lie strictly between 0 and 1", short(value))
    return number


def positive(argument: str, value: float) -> float:
    """Return the value as a float that is finite and above 0."""
    number = _as_float(value)
    if not 0 < number < math.inf:
        raise InputError(argument, "must be finite and above 0", short(value))
    return number


def not_negative(argument: str, value: float) -> float:
    """Return the value as a float that is finite and not below 0."""
    number = _as_float(value)
    if not 0 <= number < math.inf:
        raise InputError(argument, "must be finite and >= 0", short(value))
    return number


def number(argument: str, value: float, minimum: float = -math.inf) -> float:
    """Return the value as a finite float, not below the minimum."""
    number = _as_float(value)
    if not math.isfinite(number) or number < minimum:
        least = "" if minimum == -math.inf else f" >= {minimum:g}"
        raise InputError(argument, f"must be a finite number{least}", short(value))
    return number


def text(argument: str, value: object, longest: int = MAX_TEXT) -> str:
    """Return the value, a string that is not too long."""
    if not isinstance(value, str):
        raise InputError(argument, "must be text", short(value))
    if len(value) > longest:
        raise InputError(
            argument, f"must have at most {longest:,} characters", f"{len(value):,}: {short(value)}"
        )
    return value


def name(argument: str, value: object, longest: int) -> str:
    """Return the value, text that names something: not empty, and without control characters."""
    value = text(argument, value, longest)
    if value.isprintable() and value:
        return value
    # Lone surrogates, which no file can hold, and control characters, which no store has to.
    if not value or any(category(each) in ("Cc", "Cs") for each in value):
        raise InputError(
            argument, "must be text without control characters, not empty", short(value)
        )
    return value


def listed(argument: str, values: object, wanted: str) -> list[Any]:
    """Return the values as a list; they must be one, and not too long."""
    unordered = isinstance(values, str | bytes | bytearray | Mapping | Set | np.ma.MaskedArray)
    if unordered or not isinstance(values, Collection) or getattr(values, "ndim", 1) != 1:
        raise InputError(argument, f"must be {wanted}", short(values))
    at_most(f"the length of {argument}", _length(values), MAX_VALUES)
    return list(values.tolist() if isinstance(values, np.ndarray) else values)


def whole_numbers(
    argument: str, values: Collection[int] | IntArray, minimum: int, maximum: int = LARGEST
) -> list[int]:
    """Return the values as Python integers, none below the minimum or above the maximum."""
    whole = listed(argument, values, "a list of whole numbers")
    if set(map(type, whole)) == {int} and minimum <= min(whole) and max(whole) <= maximum:
        return whole
    checked = []
    for position, value in enumerate(whole):
        if not _is_whole(value) or value < minimum:
            raise InputError(
                argument,
                f"must be whole numbers >= {minimum}",
                f"{short(value)} at position {position}",
            )
        if value > maximum:
            raise InputError(
                argument,
                f"must be at most {count(maximum)}",
                f"{count(int(value))} at position {position}",
            )
        checked.append(int(value))
    if not checked:
        raise InputError(argument, "must hold at least one number", "none")
    return checked


def whole_number(argument: str, value: int, minimum: int, maximum: int = LARGEST) -> int:
    """Return the value as a Python integer, not below the minimum or above the maximum."""
    if not _is_whole(value) or value < minimum:
        raise InputError(argument, f"must be a whole number >= {minimum}", short(value))
    at_most(argument, int(value), maximum)
    return int(value)


def arms(value: int, minimum: int = 1) -> int:
    """Return a number of arms that a learner can keep apart."""
    return whole_number("arms", value, minimum, MAX_ARMS)


def at_most(argument: str, value: int, maximum: int, given: str = "") -> None:
    """Check that a whole number is not above its maximum; `given` says what that depends on."""
    if value > maximum:
        limit = f"{count(maximum)} {given}".rstrip()
        raise InputError(argument, f"must be at most {limit}", count(value))


def seed(argument: str, value: int) -> int:
    """Return the value as a seed that numpy takes."""
    return whole_number(argument, value, minimum=0, maximum=LARGEST_SEED)


def one_of(what: str, value: str, allowed: Iterable[str]) -> None:
    """Check that a name is known, and suggest the nearest if it is not."""
    known = list(allowed)
    if not isinstance(value, str) or value not in known:
        raise InputError(
            what, f"must be one of {', '.join(known)}", f"{short(value)}{suggestion(value, known)}"
        )


def keys(argument: str, values: Mapping[str, Any], expected: Iterable[str]) -> None:
    """Check that a mapping has exactly the keys that are expected."""
    names = list(expected)
    if set(values) != set(names):
        found = ", ".join(map(str, values))
        raise InputError(
            argument, f"must hold {', '.join(names) or 'nothing'}", f"{found or 'nothing'}"
        )


def mapping(argument: str, values: object) -> None:
    """Check that values are given by name."""
    if not isinstance(values, Mapping):
        raise InputError(argument, "must be values by name", short(values))


def suggestion(value: object, known: Iterable[str]) -> str:
    """Return a question after the known name that looks most like the value, if one does."""
    near = difflib.get_close_matches(value, list(known), n=1) if isinstance(value, str) else []
    return f"; did you mean {near[0]!r}?" if near else ""


def arguments(
    what: str,
    function: Callable[..., object],
    given: Mapping[str, object],
    supplied: Collection[str] = (),
) -> None:
    """Check that what is given by name is arguments of a function, and that none is missing.

    Arguments that are supplied anyway must not be given. A function with **names takes any other.
    """
    mapping(f"parameters of {what}", given)
    parameters = signature(function).parameters.values()
    known = {
        each.name: each
        for each in parameters
        if each.name not in supplied and each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
    }
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters)
    for name in given:
        if takes_any and name not in supplied:
            continue
        if not known:
            raise InputError(what, "must have no parameters", f"{name!r}")
        one_of(f"a parameter of {what}", name, known)
    for name, parameter in known.items():
        if name not in given and parameter.default is parameter.empty:
            raise InputError(what, f"must be given its parameter {name!r}", "nothing")


def count(number: int) -> str:
    """Write a number, a very large one by its magnitude."""
    return f"{number:,}" if number < 10**16 else f"about {float(min(number, 10**300)):.0e}"


def short(value: object) -> str:
    """Return the value as it is written in an error, cut where it is long."""
    try:
        text = str(value) if isinstance(value, np.generic) else _PRINTER.repr(value)
    except ValueError:  # a number of thousands of digits
        return f"a {type(value).__name__} too long to print"
    line = " ".join(text.split("\n"))
    return line if len(line) <= 60 else f"{line[:57]}..."


_PRINTER = Repr()  # which looks only at the beginning of what is long
for _limit in ("list", "tuple", "dict", "set", "string", "long", "other"):
    setattr(_PRINTER, f"max{_limit}", 200)


def _length(values: Collection[int]) -> int:
    try:
        return len(values)
    except OverflowError:  # a range may be longer than any list
        return LARGEST


def _is_number(value: object) -> bool:
    is_number = isinstance(value, int | float | np.integer | np.floating)
    return is_number and not isinstance(value, bool | np.timedelta64)  # an integer to numpy


def _as_float(value: float) -> float:
    """Return the value as a float; NaN, for which no rule holds, where it is no number."""
    try:
        return float(value) if _is_number(value) else math.nan
    except OverflowError:
        return math.inf


def _is_whole(value: object) -> bool:
    if isinstance(value, float | np.floating):
        return float(value).is_integer()
    return _is_number(value)


def _holds_truth(values: object) -> bool:
    """Tell whether there is a boolean in nested lists, which numpy would take for a number."""
    if isinstance(values, list | tuple):
        return any(_holds_truth(value) for value in values)
    return isinstance(values, bool | np.bool_)
