"""How much must be left to chance to see an effect? An experiment is designed by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fallow import checks
from fallow.errors import InputError
from fallow.instance import Instance
from fallow.logs.evidence import MIN_USERS, NORMAL, Interval
from fallow.logs.rest import POWER, rest_matters
from fallow.logs.simulated import simulate_log

SHARES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03, 0.02, 0.01)
"""Shares of decisions that are tried, each about 0.7 times the one before."""
RUNS = 200
LEVELS = (0.3, 0.8)
"""Between these the rested means of arms are drawn."""
RECOVERY = 3.0
"""An effect has shrunk by exp(-3) at the longest delay."""


class Power(NamedTuple):
    """How often an effect was seen when such a share of the decisions was left to chance."""

    share: float
    power: Interval


@dataclass(frozen=True)
class Design:
    """What an experiment needs.

    Attributes
    ----------
    share
        The smallest share of decisions, of those tried, that shows the effect with a chance of
        80 %; None if not even all of them do.
    propensity
        What each arm's propensity then is at least; 0 where no share will do.
    powers
        What was tried.
    """

    share: float | None
    propensity: float
    powers: tuple[Power, ...]

    def __str__(self) -> str:
        if self.share is None:
            most = self.powers[0].power
            return f"not even chance alone shows the effect: it is seen with a chance of {most}"
        return (
            f"leave {self.share:.0%} of the decisions to chance; propensities are then at least "
            f"{self.propensity:.2g}"
        )


def design(
    arms: int,
    max_delay: int,
    effect: float,
    users: int,
    rounds: int,
    runs: int = RUNS,
    seed: int = 0,
    on_run: Callable[[], None] = lambda: None,
) -> Design:
    """Return how many decisions to leave to chance so that an effect of rest is seen.

    Logs are simulated in which all other decisions take what looks best by popularity, taste, mood
    and rewards so far, as a product's do. Smaller and smaller shares are drawn evenly, until
    `rest_matters` sees the effect in less than 80 % of the logs.

    Parameters
    ----------
    arms, max_delay
        How many arms, and after how many rounds they are rested.
    effect
        The reward that a play loses one round after its arm was played, between 0 and 0.3; it fades
        with the delay.
    users, rounds
        How many users, at least 10, and rounds of each.
    runs
        Logs that are simulated for each share; 200 tell power within 0.06.
    seed
        The same seed gives the same design.
    on_run
        Called after each log.

    Examples
    --------
    >>> found = design(arms=5, max_delay=4, effect=0.2, users=60, rounds=60, runs=20)
    >>> print(found)
    leave 18% of the decisions to chance; propensities are then at least 0.036
    """
    checks.arms(arms, minimum=2)
    checks.whole_number("max_delay", max_delay, minimum=1)
    if not 0 < checks.number("effect", effect) <= LEVELS[0]:
        raise InputError("effect", f"must be above 0 and at most {LEVELS[0]}", f"{effect}")
    checks.whole_number("users", users, minimum=MIN_USERS)
    checks.whole_number("runs", runs, minimum=2)
    seeds = np.random.SeedSequence(checks.seed("seed", seed)).generate_state(runs).tolist()
    tried: list[Power] = []
    for share in SHARES:
        seen = 0
        for each in seeds:
            instance = _instance(arms, max_delay, effect, each)
            log = simulate_log(instance, users, rounds, "all", each, share, greedy=True)
            seen += rest_matters(log).verdict == "rest helps"
            on_run()
        tried.append(Power(share, _wilson(seen, runs)))
        if tried[-1].power.value < POWER:
            break
    enough = [each.share for each in tried if each.power.value >= POWER]
    if not enough:
        return Design(None, 0.0, tuple(tried))
    return Design(enough[-1], enough[-1] / arms, tuple(tried))


def _instance(arms: int, max_delay: int, effect: float, seed: int) -> Instance:
    levels = np.random.default_rng(seed).uniform(*LEVELS, size=(arms, 1))
    fading = np.exp(-RECOVERY * np.arange(max_delay) / max_delay)
    return Instance(np.hstack([levels - effect * fading, levels]))


def _wilson(seen: int, runs: int) -> Interval:
    """Return a share with its 95 % interval (Wilson 1927)."""
    share, extra = seen / runs, NORMAL**2 / runs
    middle = (share + extra / 2) / (1 + extra)
    half_width = math.sqrt(extra * (share * (1 - share) + extra / 4)) / (1 + extra)
    return Interval(share, middle - half_width, middle + half_width)
