"""Does rest matter? A verdict that holds although arms were not chosen at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.intervals import LEVEL, student_quantile, student_tails
from fallow.kernels.plays import chance_of_recency, usual_propensity
from fallow.logs.evidence import (
    MIN_EFFECTIVE_SIZE,
    MIN_USERS,
    ROUNDING_ERROR,
    Evidence,
    Interval,
    all_propensities,
    interval_of,
    standard_error,
    sums_by,
    what_is_missing,
)
from fallow.logs.log import Log
from fallow.text import span_in_words

Answer = Literal["rest helps", "repeating helps", "no effect found", "cannot say"]
POWER = 0.8
"""The chance with which the smallest effect would have been seen."""
STRONG = 10.0
"""What the F statistic of the instrument must reach (Staiger and Stock 1997)."""
MOSTLY = 0.95
SIGNIFICANT = 0.05
MOST_LAGS = 100
"""Earlier plays that the instrument looks at, where a window holds more."""

CHANCE = (
    "The propensities are those with which arms were really drawn.",
    "Beside its arm and its delay, what a play pays does not depend on what was played before.",
    "Whether and when a user comes back, and whether a reward is noted, does not depend on what "
    "plays paid.",
    "Users do not influence each other.",
)
NO_CHANCE = (
    "Choice by popularity or taste makes rest look worse than it is where users are compared with "
    "each other, and choice by recent rewards makes it look better within a user; whatever drives "
    "choice here misleads at most one of the two comparisons.",
    "Rewards do not rise or fall with time for other reasons.",
    "Users do not influence each other.",
)


class ArmVerdict(NamedTuple):
    """The verdict on one arm.

    `slope` is reward per unit of log delay with its own 95 % interval; the verdict goes by
    `p_value`, which is adjusted for the number of arms (Holm 1979).
    """

    name: str
    verdict: Answer
    slope: Interval
    p_value: float


@dataclass(frozen=True)
class Verdict:
    """Whether rest matters in a log, and how sure that is.

    Attributes
    ----------
    verdict
        "rest helps", "repeating helps", "no effect found" or "cannot say".
    slope
        Reward per unit of log delay: what a play gains when its arm has rested e times as long.
    interval
        The ends of its 95 % interval. Without propensities, it spans those of both comparisons.
    smallest
        The smallest slope that would have been seen with a chance of 80 %; infinite where nothing
        can be said.
    missing
        What a verdict would need; empty where there is one.
    lasts
        Up to which delay plays differ from rested ones, at least, on average over arms: in rounds
        or elapsed time, 0 where that is not known.
    arms
        The verdict on each arm; none without propensities.
    assumptions
        What must hold, one sentence each.
    comparisons
        Without propensities, the slope between users and that within each user and arm.
    """

    verdict: Answer
    slope: float
    interval: tuple[float, float]
    smallest: float
    missing: str
    lasts: float
    arms: tuple[ArmVerdict, ...]
    assumptions: tuple[str, ...]
    comparisons: tuple[Interval, ...] = ()

    def __str__(self) -> str:
        low, high = self.interval
        numbers = f"{self.slope:+.4f} ({low:+.4f} to {high:+.4f}) per unit of log delay"
        text = {
            "no effect found": f"; a slope of {self.smallest:.4f} would have been seen",
            "cannot say": f"; missing: {self.missing}",
        }.get(self.verdict, f"; up to delay {self.lasts:g} at least" if self.lasts else "")
        return f"{self.verdict}: {numbers}{text}"


def rest_matters(log: Log) -> Verdict:
    """Tell whether plays pay more or less after a longer rest.

    With propensities the part of the delay that chance alone decided is an instrument for it, so
    that popularity, taste, mood and a recommender that learns do not mislead. Without them, users
    and arms are compared with each other, and each user's plays of an arm among themselves; only if
    both say so, rest helps, and all else cannot be told.

    Parameters
    ----------
    log
        The plays of at least 10 users.

    Examples
    --------
    >>> from fallow import catalog
    >>> from fallow.logs import simulate_log
    >>> rest_matters(simulate_log(catalog.figure2(), users=100, rounds=100)).verdict
    'rest helps'
    """
    missing = what_is_missing(log)
    return _by_comparison(log, missing) if missing else _by_chance(log)


class _Sums(NamedTuple):
    """By user: of the instrument times reward, times log delay, and squared, centred by arm."""

    rewards: FloatArray
    delays: FloatArray
    squares: FloatArray

    def of(self, users: IntArray, count: int) -> _Sums:
        """Return those that belong to the same users together."""
        return _Sums(*(sums_by(users, each, count) for each in self))


def _by_chance(log: Log) -> Verdict:
    pairs, sums = _instrumented(log)
    slope, influences, strength = _slope(sums.of(pairs % log.users, log.users))
    interval, error = interval_of(slope, influences), standard_error(influences)
    smallest = (student_quantile(LEVEL, error.freedom) + student_quantile(POWER, 1e9)) * error.size
    missing = ""
    if strength < STRONG:
        later = float((log.delays[log.whole] > log.max_delay).mean())
        missing = (
            f"more plays sooner than max_delay, {span_in_words(log.longest, log.unit)}; "
            f"{later:.0%} come later"
            if later > MOSTLY
            else f"more plays that chance decided; it moves delays too little (F = {strength:.1f})"
        )
    answer = _answer(interval) if not missing else "cannot say"
    return Verdict(
        answer,
        slope,
        (interval.low, interval.high),
        smallest,
        missing,
        _lasts(log, answer),
        _by_arm(log, pairs, sums),
        CHANCE,
    )


def _instrumented(log: Log) -> tuple[IntArray, _Sums]:
    """Return the pairs of arm and user that there are, arm by arm, and the sums of each."""
    assert log.propensity is not None
    chances = all_propensities(log)
    lags = max(int(log.windows.max()), 1)
    recency = chance_of_recency(
        log.starts, log.arms, log.propensity, chances, log.shares, min(lags, MOST_LAGS)
    )
    evidence = log.evidence(weighted=False)
    plays, arms = evidence.plays, log.arms[evidence.plays].astype(np.int64)
    average = chances.mean(axis=0) if len(chances) else log.shares
    usual = usual_propensity(log.starts, log.arms, chances, average, min(lags, MOST_LAGS))
    weights = usual[plays] / log.propensity[plays]
    total = sums_by(arms, weights, len(log.names))

    def centred(values: FloatArray) -> FloatArray:
        means = sums_by(arms, weights * values, total.size) / np.where(total > 0, total, 1)
        return values - means[arms]

    instrument = centred(recency[plays])
    pairs, place = np.unique(arms * log.users + evidence.users, return_inverse=True)
    columns = evidence.rewards, np.log(log.spans[log.delays[plays] - 1]), instrument
    products = (weights * instrument * centred(column) for column in columns)
    return pairs, _Sums(*(sums_by(place, each, pairs.size) for each in products))


def _slope(sums: _Sums) -> tuple[float, FloatArray, float]:
    """Return the instrumented slope, how far each user moves it, and the instrument's F."""
    total, squares = sums.delays.sum(), sums.squares.sum()
    if total == 0 or squares == 0:
        return np.nan, np.zeros_like(sums.delays), 0.0
    slope = sums.rewards.sum() / total
    noise = sums.delays - total / squares * sums.squares
    strength = total**2 / max(float(noise @ noise), np.finfo(float).tiny)
    return float(slope), (sums.rewards - slope * sums.delays) / total, float(strength)


def _answer(interval: Interval) -> Answer:
    if interval.low > 0:
        return "rest helps"
    return "repeating helps" if interval.high < 0 else "no effect found"


def _by_arm(log: Log, pairs: IntArray, sums: _Sums) -> tuple[ArmVerdict, ...]:
    found: list[tuple[str, Interval, float, bool]] = []
    borders = np.searchsorted(pairs, log.users * np.arange(len(log.names) + 1))
    for arm, name in enumerate(log.names):
        own = slice(borders[arm], borders[arm + 1])
        slope, influences, strength = _slope(_Sums(*(each[own] for each in sums)))
        enough = strength >= STRONG and int(np.count_nonzero(influences)) >= MIN_USERS
        error = standard_error(influences)
        chance = student_tails(slope / error.size, error.freedom) if enough else 1.0
        found.append((name, interval_of(slope, influences), chance, enough))
    adjusted = holm([chance for _, _, chance, _ in found])
    return tuple(
        ArmVerdict(name, _arm_answer(slope, chance, enough), slope, chance)
        for (name, slope, _, enough), chance in zip(found, adjusted, strict=True)
    )


def _arm_answer(slope: Interval, p_value: float, enough: bool) -> Answer:
    if not enough:
        return "cannot say"
    if p_value >= SIGNIFICANT:
        return "no effect found"
    return "rest helps" if slope.value > 0 else "repeating helps"


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted so that all of them hold at once (Holm 1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.5])
    [0.03, 0.08, 0.5]
    """
    order = np.argsort(p_values)
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(order.tolist()):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def _lasts(log: Log, answer: Answer) -> float:
    """Return up to which delay plays differ from rested ones, tested one after the other."""
    if answer not in ("rest helps", "repeating helps"):
        return 0.0
    evidence = log.evidence(weighted=True)
    effective = evidence.means().effective
    lasts = 0.0
    for column in range(log.max_delay):
        heard = (effective[:, column] >= MIN_EFFECTIVE_SIZE) & (
            effective[:, -1] >= MIN_EFFECTIVE_SIZE
        )
        shares = np.zeros(evidence.shape)
        shares[heard, -1] = log.shares[heard]
        shares[heard, column] = -log.shares[heard]
        if not heard.any() or _answer(interval_of(*evidence.average(shares))) != answer:
            break
        lasts = float(log.spans[column])
    return lasts


def _by_comparison(log: Log, missing: str) -> Verdict:
    """Compare users with each other, and plays of one user and arm; only if both agree, say so."""
    across, within = slope_across(log), slope_within(log)
    both = across.low > 0 and within.low > 0 and log.users >= MIN_USERS
    return Verdict(
        "rest helps" if both else "cannot say",
        (across.value + within.value) / 2,
        (min(across.low, within.low), max(across.high, within.high)),
        np.inf,
        "" if both else missing,
        0.0,
        (),
        NO_CHANCE,
        (across, within),
    )


def slope_across(log: Log) -> Interval:
    """Return the slope of rewards on log delays over all plays of an arm, whoever's they are.

    It is too low where users hear more often what they like, so alone it proves nothing.
    """
    return _compared(log.evidence(weighted=False), log.arms.astype(np.int64))


def slope_within(log: Log) -> Interval:
    """Return the slope of rewards on log delays over each user's plays of an arm.

    It is too high where choice follows recent rewards, so alone it proves nothing.
    """
    users = np.repeat(np.arange(log.users), np.diff(log.starts))
    return _compared(log.evidence(weighted=False), users * len(log.names) + log.arms)


def _compared(evidence: Evidence, groups_of_plays: IntArray) -> Interval:
    """Return the slope of rewards on log delays within groups."""
    log, groups = evidence.log, groups_of_plays[evidence.plays]
    counts = np.bincount(groups)

    def centred(values: FloatArray) -> FloatArray:
        return values - (sums_by(groups, values, counts.size) / np.maximum(counts, 1))[groups]

    delays = centred(np.log(log.spans[log.delays[evidence.plays] - 1]))
    rewards = centred(evidence.rewards)
    total = float(delays @ delays)
    if total < ROUNDING_ERROR:
        return Interval(np.nan, -np.inf, np.inf)
    slope = float(delays @ rewards) / total
    scores = sums_by(evidence.users, delays * (rewards - slope * delays), log.users)
    return interval_of(slope, scores / total)
