"""Decay families: the function f of equation 1, the share of the baseline lost at each delay.

A decay is any function that takes an array of delays (whole rounds, from 1) and returns f at each
of them: in [0, 1] and never increasing. `Instance.b2dep` checks both.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import numpy as np
import numpy.typing as npt

from fallow import checks
from fallow.arrays import FloatArray, IntArray
from fallow.errors import InputError

Decay = Callable[[IntArray], FloatArray]
DecayOrValues = Decay | Sequence[float]
"""A decay f, or its values f(1), f(2), ..."""


def geometric(rate: float) -> Decay:
    """Return f(tau) = rate ** tau, the decay of the paper's Figure 2 (rate 0.999).

    Examples
    --------
    >>> geometric(0.5)(np.arange(1, 4))
    array([0.5  , 0.25 , 0.125])
    """
    base = checks.share("rate", rate)
    return lambda delays: _never_rising(base**delays)


def constant(value: float) -> Decay:
    """Return f(tau) = value; 1 blocks an arm until it is rested, 0 is the ordinary bandit.

    Examples
    --------
    >>> constant(0.5)(np.arange(1, 4))
    array([0.5, 0.5, 0.5])
    """
    level = checks.share("value", value)
    return lambda delays: np.full(len(delays), level)


def power(exponent: float) -> Decay:
    """Return f(tau) = tau ** -exponent: all is lost at delay 1, and recovery has a long tail.

    Examples
    --------
    >>> power(1)(np.arange(1, 5))
    array([1.        , 0.5       , 0.33333333, 0.25      ])
    """
    steepness = checks.not_negative("exponent", exponent)
    return lambda delays: _never_rising(delays**-steepness)


def table(values: Sequence[float] | FloatArray) -> Decay:
    """Return the decay given by its values f(1), f(2), ...; it has no value past the last one.

    Examples
    --------
    >>> table([0.3, 0.25])(np.arange(1, 3))
    array([0.3 , 0.25])
    """
    known = checks.numbers("values", values, dimensions=1)

    def decay(delays: IntArray) -> FloatArray:
        if len(known) < delays[-1]:
            raise InputError(
                "decay",
                f"must have a value for each delay up to the longest, {delays[-1]}",
                f"{len(known)} values",
            )
        return known[delays - 1]

    return decay


def from_document(value: object) -> DecayOrValues | list[DecayOrValues]:
    """Read the decay of all arms, or a list with one for each, as TOML has them.

    A decay is a list of values, or a family with its parameter.

    Examples
    --------
    >>> from_document({"geometric": 0.5})(np.arange(1, 4))
    array([0.5  , 0.25 , 0.125])
    >>> from_document([[0.5, 0.25], [1]])
    [[0.5, 0.25], [1]]
    """
    if not isinstance(value, list) or not any(isinstance(each, list | dict) for each in value):
        return _one_from_document(value)
    decays = []
    for arm, each in enumerate(value):
        with _named(arm):
            decays.append(_one_from_document(each))
    return decays


def _one_from_document(value: object) -> DecayOrValues:
    families = {"geometric": geometric, "constant": constant, "power": power}
    if isinstance(value, list):
        return value
    if not isinstance(value, dict) or len(value) != 1:
        raise InputError(
            "decay",
            f"must be a list of numbers or one of {', '.join(families)} with its parameter, such "
            "as {geometric = 0.9}",
            checks.short(value),
        )
    [(family, parameter)] = value.items()
    checks.one_of("decay", family, families)
    if not isinstance(parameter, int | float) or isinstance(parameter, bool):
        raise InputError(f"decay.{family}", "must be a number", checks.short(parameter))
    return families[family](parameter)


def _never_rising(values: npt.NDArray[np.floating]) -> FloatArray:
    """Undo rises by one rounding unit, which powers of numbers close to 1 can have."""
    return np.minimum.accumulate(values, dtype=np.float64)


def shares_lost(
    decay: DecayOrValues | Sequence[DecayOrValues], delays: Sequence[int]
) -> FloatArray:
    """Return f by arm and delay, checked; 0 past the delay of the arm.

    Examples
    --------
    >>> shares_lost(geometric(0.5), delays=[2, 1])
    array([[0.5 , 0.25],
           [0.5 , 0.  ]])
    """
    longest = max(delays)
    lost = np.zeros((len(delays), longest))
    if not _is_one_an_arm(decay):
        lost[:] = _values(cast(DecayOrValues, decay), longest)
        lost[np.arange(1, longest + 1) > np.array(delays)[:, np.newaxis]] = 0
        return lost
    each_decay = cast(Sequence[DecayOrValues], decay)
    if len(each_decay) != len(delays):
        raise InputError(
            "decay",
            "must be one for all arms or one for each",
            f"{len(each_decay)} for {len(delays)} arms",
        )
    for arm, (own, delay) in enumerate(zip(each_decay, delays, strict=True)):
        with _named(arm):
            lost[arm, :delay] = _values(own, delay)
    return lost


def _is_one_an_arm(decay: object) -> bool:
    """Tell decays of several arms from the values of one: they are not plain numbers."""
    if isinstance(decay, np.ndarray):
        return decay.ndim == 2
    rows = decay if isinstance(decay, list | tuple) else []
    return any(callable(each) or isinstance(each, list | tuple | np.ndarray) for each in rows)


@contextmanager
def _named(arm: int) -> Iterator[None]:
    """Name the arm in errors."""
    try:
        yield
    except InputError as error:
        raise error.at(f"arm {arm}") from error


def _values(decay: DecayOrValues, longest: int) -> FloatArray:
    """Return f(1), ..., f(longest), checked."""
    if not callable(decay):
        decay = table(checks.numbers("decay", decay, dimensions=1))
    values = checks.numbers("decay", decay(np.arange(1, longest + 1)), dimensions=1)
    if len(values) != longest:
        raise InputError("decay", "must return one value a delay", f"{len(values)} for {longest}")
    checks.shares("decay", values, lambda cell: f"at delay {cell + 1}")
    rises = np.flatnonzero(np.diff(values) > 0)
    if rises.size:
        tau = int(rises[0]) + 1
        raise InputError(
            "decay",
            "must never increase",
            f"f({tau}) = {values[tau - 1]} and f({tau + 1}) = {values[tau]}",
        )
    return values
