"""Reward laws: how the rewards of pulls are drawn from their means."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Literal, NamedTuple, cast, get_args

import numpy as np
import numpy.typing as npt

from fallow import checks, user_code
from fallow.arrays import FloatArray
from fallow.errors import InputError

Law = Callable[[FloatArray, np.random.Generator], npt.ArrayLike]
"""A user's own law: from means and a generator to as many rewards.

Rewards lie in [0, 1] and have the means as their expectations. All randomness comes from the
generator, so that a seed gives the same run each time.
"""
Name = Literal["bernoulli", "none", "beta", "gaussian"]
Rewards = Name | Law
NAMES: tuple[str, ...] = get_args(Name)

CONCENTRATION = 10.0
"""Of the beta distribution unless another is given: a + b, for a variance of m (1 - m) / 11."""
CONCENTRATIONS = (1e-9, 1e9)
"""The smallest, all but a coin, and the largest, all but the mean itself."""
DEVIATION = 0.1
"""Standard deviation of Gaussian noise, before it is cut off."""
PIECE = 2**16
"""Rewards that are drawn at a time where their sum has no short cut."""
SLOW_DRAWS = 10**7
"""Above so many of them for one position of a block, a simulation warns."""
MAX_DRAWS = 10**9
"""Most of them for one position of a block, about a minute's work."""


class SlowRewards(UserWarning):
    """A block costs all its pulls, since their rewards are drawn one by one."""


class Draws(NamedTuple):
    """How rewards come from their mean: that of one pull, and the sum of many alike."""

    one: Callable[[float], float]
    many: Callable[[float, int], float]


def draws(
    rewards: Rewards, generator: np.random.Generator, concentration: float = CONCENTRATION
) -> Draws:
    """Return how rewards are drawn by a law.

    Parameters
    ----------
    rewards, concentration
        As in `fallow.simulate`.
    generator
        All randomness comes from it.

    Examples
    --------
    >>> one, many = draws("bernoulli", np.random.default_rng(0))
    >>> one(0.7), round(many(0.7, 10**12) / 10**12, 4)  # a single binomial draw
    (1.0, 0.7)
    >>> def around(means, generator):  # uniform, as wide as fits
    ...     width = np.minimum(means, 1 - means)
    ...     return means + width * generator.uniform(-1, 1, len(means))
    >>> one, many = draws(around, np.random.default_rng(0))
    >>> round(many(0.7, 10**6) / 10**6, 2)  # the sum of a million draws
    0.7
    """
    check_rewards("rewards", rewards)
    if callable(rewards):
        law, name = rewards, law_name(rewards)
        return _one_by_one(
            name,
            lambda mean, count: _checked(name, law(np.full(count, mean), generator), mean, count),
        )
    if rewards == "none":
        return Draws(lambda mean: mean, lambda mean, count: mean * count)
    if rewards == "beta":
        return _one_by_one(
            "beta",
            # A mean near the smallest number must not become 0, which numpy refuses.
            lambda mean, count: generator.beta(
                max(concentration * mean, sys.float_info.min),
                concentration * (1 - mean),
                size=count,
            ),
        )
    if rewards == "gaussian":
        return _one_by_one("gaussian", lambda mean, count: _gaussian(mean, count, generator))
    random, binomial = generator.random, generator.binomial

    def one(mean: float) -> float:
        return 1.0 if random() < mean else 0.0

    def many(mean: float, count: int) -> float:
        return one(mean) if count == 1 else float(binomial(count, mean))

    return Draws(one, many)


def are_drawn_one_by_one(rewards: Rewards) -> bool:
    """Tell whether a sum of many rewards has no short cut, so that a block costs all its pulls.

    Examples
    --------
    >>> are_drawn_one_by_one("bernoulli"), are_drawn_one_by_one("beta")
    (False, True)
    """
    return rewards not in ("bernoulli", "none")


def check_rewards(argument: str, rewards: Rewards, own: str = "of means and generator") -> None:
    """Check that rewards are a known name or a function; `own` says what that is."""
    if not callable(rewards) and not (isinstance(rewards, str) and rewards in NAMES):
        raise InputError(
            argument,
            f"must be one of {', '.join(NAMES)}, or a function {own}",
            f"{checks.short(rewards)}{checks.suggestion(rewards, NAMES)}",
        )


def check_concentration(argument: str, value: float) -> float:
    """Return the concentration of beta rewards as a float within its limits."""
    least, most = CONCENTRATIONS
    if not least <= checks.positive(argument, value) <= most:
        raise InputError(argument, f"must be from {least:g} to {most:g}", checks.short(value))
    return float(value)


def find_rewards(name: str, argument: str = "rewards") -> Rewards:
    """Return the rewards of a name: one of `NAMES`, or a user's own function that was loaded."""
    if user_code.is_user_code(name):
        return cast(Law, user_code.find(name))
    known = cast(Name, name)
    check_rewards(argument, known, "of your own as module:name")
    return known


def law_name(rewards: Rewards) -> str:
    """Return what rewards are called in messages."""
    return rewards if isinstance(rewards, str) else getattr(rewards, "__name__", repr(rewards))


def _one_by_one(name: str, draw: Callable[[float, int], FloatArray]) -> Draws:
    """Return draws whose sum has no short cut, in pieces; `draw` has so many of one mean."""
    has_warned = False

    def total(mean: float, count: int = 1) -> float:
        nonlocal has_warned
        if mean in (0.0, 1.0):
            return mean * count  # rewards in [0, 1] with this mean are certain
        if count >= MAX_DRAWS:
            raise InputError(
                "plays",
                f"must be at most {MAX_DRAWS:,} with rewards {name!r}, which are drawn one by one",
                f"{count + 1:,}; use rewards 'bernoulli'",
            )
        if count > SLOW_DRAWS and not has_warned:
            has_warned = True
            warnings.warn(
                f"rewards {name!r} are drawn one by one: a block of {count + 1:,} plays costs all "
                "its pulls; with 'bernoulli' it would cost two plays",
                SlowRewards,
                stacklevel=5,  # where `simulate` is called
            )
        earned = 0.0
        while count > 0:
            earned += draw(mean, min(count, PIECE)).sum()
            count -= PIECE
        return float(earned)

    return Draws(total, total)


def _gaussian(mean: float, count: int, generator: np.random.Generator) -> FloatArray:
    """Return rewards whose noise is cut off on both sides alike, so that their mean stays."""
    reach = min(mean, 1 - mean)
    noise = generator.normal(0, DEVIATION, count).clip(-reach, reach)
    rewards: FloatArray = mean + noise
    return rewards


def _checked(name: str, drawn: npt.ArrayLike, mean: float, count: int) -> FloatArray:
    """Return what a user's own law has drawn, if it may be."""
    if isinstance(drawn, np.ndarray) and drawn.dtype == bool:
        drawn = drawn.astype(np.float64)  # as a comparison with uniform numbers gives it
    what = f"rewards drawn by {name}"
    rewards = checks.numbers(what, drawn, dimensions=1)
    if len(rewards) != count:
        raise InputError(what, "must be one for each mean", f"{len(rewards)} for {count} means")
    checks.shares(what, rewards, lambda _: f"for a mean of {mean}")
    return rewards


def try_rewards(argument: str, rewards: Rewards) -> None:
    """Draw a few rewards, so that a wrong law shows before anything is played."""
    drawn = draws(rewards, np.random.default_rng(0))
    try:
        for mean in (0.1, 0.5, 0.9):
            drawn.many(mean, 3)
    except (Exception, SystemExit) as error:
        rule = "draw a reward in [0, 1] for each mean"
        raise InputError(argument, f"must {rule}", user_code.describe_error(error)) from None
