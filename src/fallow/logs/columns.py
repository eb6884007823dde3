"""Columns of a log, each as an array of one kind; -1 or NaN is missing."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date
from typing import Any, Literal, NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np
import numpy.typing as npt

from fallow import checks
from fallow.arrays import FloatArray, Int32Array, IntArray
from fallow.errors import InputError

Values = npt.ArrayLike | Sequence[object]
NUMBERS = (int, float, np.integer, np.floating)
TRUTH = (bool, np.bool_)
INSTANTS = (date, np.datetime64)
DISGUISED = (bool, np.timedelta64)
"""Numbers to Python and numpy, but not to the reader."""


WHOLE = re.compile("0|-?[1-9][0-9]*")


def are_numbers(names: Sequence[str]) -> bool:
    """Tell whether all names are whole numbers."""
    return all(map(WHOLE.fullmatch, names))


class Names(NamedTuple):
    """Users or arms: those that there are, in order, and the number of each row's; -1 is missing.

    Their order is that of numbers where all of them are whole numbers, and else that of text.
    """

    known: list[str]
    codes: Int32Array


class Times(NamedTuple):
    """Times since the first one, and their unit: seconds for datetimes, else nobody knows."""

    since: FloatArray
    unit: Literal["seconds", "units of time"]


class Column(NamedTuple):
    """Values as they were given, where one is missing, and the types of all others."""

    values: npt.NDArray[Any]
    missing: npt.NDArray[np.bool_]
    types: set[type]

    def holds(self, *types: type) -> bool:
        """Tell whether all values are of these types."""
        return all(
            each in types if each in DISGUISED else issubclass(each, types) for each in self.types
        )

    def described(self) -> str:
        """Return what it holds."""
        return " and ".join(sorted(each.__name__ for each in self.types))


def names_of(argument: str, values: Values) -> Names:
    """Return users or arms that are given as text or whole numbers."""
    column = _column(argument, values)
    rule = "must be all text or all whole numbers"
    is_text = column.holds(str)
    if not is_text and not column.holds(*NUMBERS):
        raise InputError(argument, rule, column.described())
    found = column.values[~column.missing] if column.missing.any() else column.values
    if not is_text and np.any(found % 1 != 0):
        raise InputError(argument, rule, f"{found[found % 1 != 0][0]}")
    codes = np.full(column.values.size, -1, np.int32)
    if found.dtype.kind == "O":
        known = list(dict.fromkeys(found.tolist()))
        place = {name: code for code, name in enumerate(known)}
        codes[~column.missing] = [place[name] for name in found.tolist()]
    else:
        distinct = np.unique(found)
        codes[~column.missing] = np.searchsorted(distinct, found)
        known = distinct.tolist()
    texts = known if is_text else [str(int(name)) for name in known]
    return in_order(texts, np.arange(len(texts)), codes)


def in_order(names: Sequence[str], numbers: IntArray, codes: npt.NDArray[np.integer]) -> Names:
    """Return names in their order, given the number that stands for each in the codes.

    Whatever code follows the largest number, and -1, is missing.
    """
    keys = list(map(int, names)) if are_numbers(names) else names
    order = sorted(range(len(names)), key=keys.__getitem__)
    places = np.full(numbers.max(initial=-1) + 2, -1, np.int32)
    places[numbers[order]] = np.arange(len(order))
    return Names([names[place] for place in order], places[codes])


def times_of(values: Values) -> Times:
    """Return times that are given as numbers or datetimes."""
    column = _column("time", values)
    if not column.holds(*NUMBERS) and not column.holds(*INSTANTS):
        raise InputError(
            "time",
            "must be all numbers or all datetimes",
            f"{column.described()}; numpy.array(time, 'datetime64[s]') reads dates like 2026-01-31",
        )
    if column.missing.all():
        return Times(np.full(column.values.size, np.nan), "units of time")
    array = column.values
    if array.dtype.kind == "O":
        array = _typed(column)
    if array.dtype.kind == "f" and np.isinf(array).any():
        raise InputError("time", "must be finite", f"{array[np.isinf(array)][0]}")
    # The first is taken off before they are floats, which nanoseconds since 1970 do not fit.
    elapsed = array - np.fmin.reduce(array)
    if array.dtype.kind == "M":
        return Times(elapsed / np.timedelta64(1, "s"), "seconds")
    if array.dtype.kind == "i":
        elapsed = elapsed.astype(np.uint64, copy=False)  # right also where it wrapped around
    return Times(elapsed.astype(np.float64, copy=False), "units of time")


def _typed(column: Column) -> npt.NDArray[Any]:
    """Return a column of objects, all numbers or all datetimes, as an array of their own type."""
    if column.holds(*NUMBERS):
        return np.array([math.nan if each is None else each for each in column.values])
    filled = column.values.copy()
    filled[column.missing] = None
    with catch_warnings():
        simplefilter("ignore", UserWarning)  # numpy turns zoned times to UTC, as it should
        instants: npt.NDArray[Any] = filled.astype("datetime64[us]")
    return instants


def numbers_of(argument: str, values: Values, dimensions: int = 1) -> FloatArray:
    """Return numbers as floats; truth values are 0 and 1."""
    column = _column(argument, values, dimensions)
    if not column.holds(*NUMBERS, *TRUTH):
        raise InputError(argument, "must be numbers", column.described())
    return column.values.astype(np.float64, copy=False)


def _column(argument: str, values: Values, dimensions: int = 1) -> Column:
    if isinstance(values, np.ma.MaskedArray):
        raise InputError(argument, "must have no mask", "a masked array; fill it with NaN")
    # As objects, or numpy would make text of numbers beside text and numbers of truth values.
    listed = isinstance(values, list | tuple)
    array = np.array(values, dtype=object) if listed else np.asarray(values)
    if array.dtype.kind == "T":  # text of variable length
        array = array.astype(object)
    if array.ndim != dimensions:
        shape = "a list, one entry a row" if dimensions == 1 else "rows of numbers, one an arm"
        raise InputError(argument, f"must be {shape}", checks.short(values))
    if array.dtype.kind == "O":
        missing = np.array([each is None or each != each for each in array.flat], bool)
        missing = missing.reshape(array.shape)
        return Column(array, missing, set(map(type, array[~missing].tolist())))
    missing = np.isnan(array) if array.dtype.kind in "fmM" else np.zeros(array.shape, bool)
    return Column(array, missing, {array.dtype.type})
