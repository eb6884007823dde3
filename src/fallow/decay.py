"""Decay families: the function f of equation 1, the share of the baseline lost at each delay.

A decay is any function that takes an array of delays (whole rounds, from 1) and returns f at each
of them: in [0, 1] and never increasing. `Instance.b2dep` checks both.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from fallow import checks
from fallow.arrays import FloatArray, IntArray

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
            raise ValueError(
                f"decay must have a value for each delay up to the longest, {delays[-1]}; "
                f"got {len(known)} values"
            )
        return known[delays - 1]

    return decay


def from_document(value: object) -> DecayOrValues:
    """Read a list of values or a family with its parameter, as TOML has them.

    Examples
    --------
    >>> from_document({"geometric": 0.5})(np.arange(1, 4))
    array([0.5  , 0.25 , 0.125])
    """
    families = {"geometric": geometric, "constant": constant, "power": power}
    if isinstance(value, list):
        return value
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueError(
            f"decay must be a list of numbers or one of {', '.join(families)} "
            f"with its parameter, such as {{geometric = 0.9}}, got {checks.short(value)}"
        )
    [(family, parameter)] = value.items()
    checks.one_of("decay", family, families)
    if not isinstance(parameter, int | float) or isinstance(parameter, bool):
        raise ValueError(f"decay.{family} must be a number, got {checks.short(parameter)}")
    return families[family](parameter)


def _never_rising(values: npt.NDArray[np.floating]) -> FloatArray:
    """Undo rises by one rounding unit, which powers of numbers close to 1 can have."""
    return np.minimum.accumulate(values, dtype=np.float64)
