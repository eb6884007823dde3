"""The rules that restored progress must keep; each error names the field, the rule and the value.

Types are exact: where a learner counts with a Python integer, a float or a boolean is refused.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from fallow import checks
from fallow.errors import InputError
from fallow.protocol import Block

MOST_ROUNDS = 2**52
"""No run is longer, so no count is larger; twice as many pulls still fit into a block."""
SLACK = 1e-6
"""Share by which a sum of rewards may miss its limits for rounding."""


def whole_number(field: str, value: Any, least: int, most: int = checks.LARGEST) -> None:
    """Check an integer."""
    if type(value) is not int or not least <= value <= most:
        raise InputError(
            field,
            f"must be a whole number from {least} to {checks.count(most)}",
            checks.short(value),
        )


def whole_numbers(
    field: str, values: Sequence[Any], length: int, least: int, most: int = checks.LARGEST
) -> None:
    """Check so many integers."""
    _check_length(field, values, length)
    for place, value in enumerate(values):
        whole_number(f"{field}[{place}]", value, least, most)


def distinct(field: str, values: Sequence[Any], least: int, most: int) -> None:
    """Check integers that rise, at least one."""
    if not values:
        raise InputError(field, "must hold at least one number", "none")
    whole_numbers(field, values, len(values), least, most)
    if any(now >= after for now, after in pairwise(values)):
        raise InputError(field, "must rise", checks.short(values))


def numbers(field: str, values: Any, shape: tuple[int, ...], least: float, most: float) -> None:
    """Check finite floats in a list or an array."""
    array = _array(field, values, shape)
    if array.size and not (array.min() >= least and array.max() <= most):  # also for NaN
        wrong = array[~((array >= least) & (array <= most))].flat[0]
        raise InputError(field, f"must lie in [{least:g}, {most:g}]", f"{wrong}")


def rewards(
    field: str,
    counts: Any,
    sums: Any,
    shape: tuple[int, ...],
    counted_as: str = "counts",
    whole: bool = True,
) -> None:
    """Check counts, in a list of integers or an array, and sums of so many rewards."""
    if isinstance(counts, list):
        whole_numbers(f"{field}{counted_as}", counts, shape[0], least=0, most=MOST_ROUNDS)
    else:
        numbers(f"{field}{counted_as}", counts, shape, least=0, most=MOST_ROUNDS)
        if whole and (counts != np.floor(counts)).any():
            raise InputError(f"{field}{counted_as}", "must be whole", checks.short(counts))
    counted = np.asarray(counts, np.float64)
    summed = _array(f"{field}sums", sums, shape)
    slack = SLACK * (1 + counted)
    if not ((summed >= -slack) & (summed <= counted + slack)).all():
        rule = "sums of rewards in [0, 1], as many as were counted"
        raise InputError(f"{field}sums", f"must be {rule}", checks.short(sums))


def last_pulls(field: str, last: Sequence[Any], arms: int, width: int, rounds: int) -> None:
    """Check the round of each arm's last pull; before the first one, `width` rounds ago."""
    whole_numbers(field, last, arms, least=-width, most=rounds - 1)


def block(field: str, value: Any, arms: int | None) -> None:
    """Check a block of arms, numbers below `arms` where that is known."""
    if type(value) is not Block or type(value.arms) is not tuple or not value.arms:
        raise InputError(field, "must be a block of arms", checks.short(value))
    most = checks.LARGEST if arms is None else arms - 1
    whole_numbers(f"{field}.arms", value.arms, len(value.arms), least=0, most=most)
    whole_number(f"{field}.plays", value.plays, least=1)


def equal(field: str, value: object, expected: object) -> None:
    """Check a value that follows from others, of the same types too."""
    if repr(value) != repr(expected):
        raise InputError(field, f"must be {checks.short(expected)}", checks.short(value))


def _array(field: str, values: Any, shape: tuple[int, ...]) -> Any:
    """Return floats, in a list or an array, as an array."""
    if isinstance(values, list):
        _check_length(field, values, *shape)
        for place, value in enumerate(values):
            if type(value) is not float:
                raise InputError(f"{field}[{place}]", "must be a float", checks.short(value))
    elif values.shape != shape:
        raise InputError(field, f"must have the shape {shape}", f"{values.shape}")
    return np.asarray(values)


def _check_length(field: str, values: Sequence[Any], length: int) -> None:
    if len(values) != length:
        raise InputError(field, f"must hold {length} values", f"{len(values)}")
