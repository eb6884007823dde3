"""The rules that input must keep; each error names the argument, the rule and the value."""

import difflib
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import numpy.typing as npt

from fallow.arrays import FloatArray


def numbers(argument: str, values: npt.ArrayLike, dimensions: int) -> FloatArray:
    """Return a fresh, non-empty float array with that many dimensions."""
    shape = "a list of numbers" if dimensions == 1 else "a list of equally long rows of numbers"
    try:
        array = np.array(values)
    except ValueError as error:
        raise ValueError(f"{argument} must be {shape}, got rows of different lengths") from error
    if array.ndim != dimensions or array.size == 0 or array.dtype.kind not in "iuf":
        raise ValueError(f"{argument} must be {shape}, at least one, got {short(values)}")
    return array.astype(np.float64)


def shares(argument: str, values: FloatArray, place: Callable[[int], str]) -> None:
    """Check that all values lie in [0, 1], which NaN does not; `place` says where one stands."""
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if wrong.size:
        first = int(wrong[0])
        raise ValueError(f"{argument} must lie in [0, 1], got {values.flat[first]} {place(first)}")


def share(argument: str, value: float) -> float:
    """Return the value as a float that lies in [0, 1]."""
    if not 0 <= value <= 1:
        raise ValueError(f"{argument} must lie in [0, 1], got {value}")
    return float(value)


def whole_numbers(argument: str, values: Iterable[int], minimum: int) -> list[int]:
    """Return the values as Python integers, none below the minimum."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise ValueError(f"{argument} must be a list of whole numbers, got {short(values)}")
    checked = []
    for position, value in enumerate(values):
        if not _is_whole(value) or value < minimum:
            raise ValueError(
                f"{argument} must be whole numbers >= {minimum}, "
                f"got {short(value)} at position {position}"
            )
        checked.append(int(value))
    if not checked:
        raise ValueError(f"{argument} must hold at least one number, got none")
    return checked


def whole_number(argument: str, value: int, minimum: int) -> int:
    """Return the value as a Python integer that is not below the minimum."""
    if not _is_whole(value) or value < minimum:
        raise ValueError(f"{argument} must be a whole number >= {minimum}, got {short(value)}")
    return int(value)


def one_of(what: str, value: str, allowed: Iterable[str]) -> None:
    """Check that a name is known, and suggest the nearest if it is not."""
    known = list(allowed)
    if value not in known:
        raise ValueError(
            f"{what} must be one of {', '.join(known)}, got {value!r}; "
            f"did you mean {nearest(value, known)!r}?"
        )


def nearest(value: str, known: Iterable[str]) -> str:
    """Return the known name that looks most like the value."""
    return difflib.get_close_matches(value, list(known), n=1, cutoff=0)[0]


def short(value: object) -> str:
    """Return the value as it is written in an error, cut where it is long."""
    text = str(value) if isinstance(value, np.generic) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_whole(value: object) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, float | np.floating):
        return float(value).is_integer()
    return isinstance(value, int | np.integer)
