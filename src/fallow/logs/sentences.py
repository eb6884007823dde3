"""What a log tells in plain words, for people who never heard of bandits."""

import math

from fallow.logs.evidence import Interval
from fallow.logs.log import Log
from fallow.logs.rest import Verdict
from fallow.logs.support import CannotSay
from fallow.logs.value import Value
from fallow.text import counted, span_in_words

FOUND = {
    "missing": "without a user, a time or an arm; left out",
    "repeated": "repeating another; left out",
    "contradictory": "contradicting another; counted for delays only",
    "without_reward": "without a reward; counted for delays only",
    "tied": "at the same time as another of that user; kept in the given order",
    "unsorted": "out of order; sorted",
    "unknown": "of unknown rest, as the arm may have been played before the log begins",
}
"""What may be found in the rows of a log, by the names of its counts."""
SUSPECT = {
    "missing": "lack a user, a time or an arm",
    "repeated": "repeat another",
    "contradictory": "contradict another",
    "tied": "share their time with another of that user",
}
"""What many rows should not do, by the names of counts."""
MANY = 0.1
"""The share of rows that is suspect."""


def rows_in_words(log: Log) -> list[str]:
    """Return what was found in the rows, one line each, without what was not found.

    Examples
    --------
    >>> log = Log(user=[1, 1, 1], time=[1, 2, 2], arm=["a", "b", "b"], reward=[0, 1, 1])
    >>> for line in rows_in_words(log):
    ...     print(line)
    3 rows: 2 plays of 2 arms by 1 user
    1 row repeating another; left out
    1 row of unknown rest, as the arm may have been played before the log begins
    """
    whole = (
        f"{counted(log.counts.rows, 'row')}: {counted(log.plays, 'play')} of "
        f"{counted(len(log.names), 'arm')} by {counted(log.users, 'user')}"
    )
    counts = log.counts._asdict()
    found = {name: text for name, text in FOUND.items() if counts[name]}
    return [whole, *(f"{counted(counts[name], 'row')} {text}" for name, text in found.items())]


def doubt_in_words(log: Log) -> str:
    """Return what makes the whole log doubtful, if anything does.

    Examples
    --------
    >>> log = Log(user=[1, 1], time=[1, 1], arm=["a", "a"], reward=[1, 1])
    >>> print(doubt_in_words(log).partition("?")[0])
    50 % of the rows repeat another: are user, time and arm the right columns
    """
    shares = {name: getattr(log.counts, name) / log.counts.rows for name in SUSPECT}
    many = {name: share for name, share in shares.items() if share > MANY}
    if not many:
        return ""
    found = [f"{100 * share:.0f} % of the rows {SUSPECT[name]}" for name, share in many.items()]
    coarse = " Times that are too coarse do this too: see docs/guides/logs.md, coarse clocks."
    return (
        f"{', '.join(found)}: are user, time and arm the right columns?"
        f"{coarse if many.keys() != {'missing'} else ''}"
    )


def scale_in_words(log: Log) -> str:
    """Return what rewards of 0 and 1 stand for, if they were given otherwise.

    Examples
    --------
    >>> scale_in_words(Log(user=[1], time=[1], arm=[0], reward=[3], scale=(0, 5)))
    'Rewards of 0 to 5 are told as 0 to 1.'
    """
    if log.scale is None:
        return ""
    low, high = log.scale
    return f"Rewards of {low:g} to {high:g} are told as 0 to 1."


def round_in_words(log: Log, round_length: float | None) -> str:
    """Return what a round is, and how long one of a plan lasts where delays are elapsed time.

    Examples
    --------
    >>> log = Log(user=[1, 1], time=[0, 3], arm=[0, 0], reward=[1, 0], clock="time")
    >>> print(round_in_words(log, None))
    A round is 3 units of time: the median time between two plays of a user.
    >>> print(round_in_words(log, 7.0))
    A round is 7 units of time, as was asked for.
    """
    if log.clock == "rounds":
        return "A play is one round of its user."
    if round_length is None:
        length = span_in_words(log.pace, log.unit)
        return f"A round is {length}: the median time between two plays of a user."
    return f"A round is {span_in_words(round_length, log.unit)}, as was asked for."


def verdict_in_words(verdict: Verdict, unit: str) -> str:
    """Return the verdict with its numbers, per doubling of the rest, in sentences."""
    if verdict.verdict == "cannot say":
        return f"This log cannot say whether rest matters. It would need {verdict.missing}."
    slope, low, high = (math.log(2) * each for each in (verdict.slope, *verdict.interval))
    if verdict.verdict == "no effect found":
        seen = math.log(2) * verdict.smallest
        return (
            "No effect of rest was found: twice the rest changes what a play earns by "
            f"{slope:+.3f} (95 % interval {low:+.3f} to {high:+.3f}). An effect of {seen:.3f} "
            "would have been seen with a chance of 80 %."
        )
    more = "more"
    if verdict.verdict == "repeating helps":
        slope, low, high, more = -slope, -high, -low, "less"
    numbers = "two comparisons agree on" if verdict.comparisons else "95 % interval"
    lasts = ""
    if verdict.lasts:
        rest = span_in_words(verdict.lasts, unit)
        lasts = f" This is seen after rests of up to {rest}, and may last longer."
    return (
        f"{verdict.verdict.capitalize()}: a play after twice the rest earns {slope:.3f} {more} "
        f"({numbers} {low:.3f} to {high:.3f}).{lasts}"
    )


def caution_in_words(value: Value | CannotSay) -> str:
    """Return what a plan lacks; nothing where it surely earns more than the log."""
    if isinstance(value, CannotSay):
        return (
            "By the averages in the log this rotation is the best, but they do not prove that it "
            "is. Try it on some users chosen at random, and note for each play the chance "
            "with which its option was chosen."
        )
    if value.gain.low > 0:
        return ""
    return (
        "By the averages in the log this rotation is the best, but the log does not "
        "show that it earns more than what is done now."
    )


def gain_in_words(value: Value) -> str:
    """Return how much more or less than the log something would earn.

    Examples
    --------
    >>> print(gain_in_words(Value(0.6, 0.5, 0.7, 0.5, Interval(0.1, 0.05, 0.15), ())))
    0.100 (0.050 to 0.150) per round more than the log earned, 0.500
    """
    gain, low, high = value.gain
    earned = f"the log earned, {value.logged:.3f}"
    if low > 0:
        return f"{value.gain} per round more than {earned}"
    if high < 0:
        return f"{Interval(-gain, -high, -low)} per round less than {earned}"
    return (
        f"{gain:+.3f} ({low:+.3f} to {high:+.3f}) per round, no sure difference, against what "
        f"{earned}"
    )


def time_in_words(time: Interval, unit: str, brief: bool = False) -> str:
    """Return how long something takes, without the unit where there is only one.

    Examples
    --------
    >>> [time_in_words(Interval(3, 1, 4), "rounds"), time_in_words(Interval(3, 3, 3), "rounds")]
    ['3 (1 to 4)', '3']
    >>> time_in_words(Interval(90, 45, 3600), "seconds")
    '1.5 minutes (45 seconds to 1 hour)'
    >>> time_in_words(Interval(90, 45, 3600), "seconds", brief=True)
    '1.5 min (45 s to 1 h)'
    """
    value, low, high = (span_in_words(each, unit, brief or unit != "seconds") for each in time)
    return value if low == value == high else f"{value} ({low} to {high})"


def drop_in_words(drop: Interval) -> str:
    """Return the share that is missing right after a play, in percent.

    Examples
    --------
    >>> drop_in_words(Interval(0.42, 0.381, 0.459))
    '42 % (38 to 46)'
    """
    if math.isnan(drop.value):
        return "unknown"
    if not _has_ends(drop):
        return f"{100 * drop.value:.0f} % (unsure)"
    return f"{100 * drop.value:.0f} % ({100 * drop.low:.0f} to {100 * drop.high:.0f})"


def is_sure(drop: Interval) -> bool:
    """Tell whether there is a drop or a gain at all, so that it can be asked how long it lasts.

    Examples
    --------
    >>> [is_sure(Interval(0.4, 0.3, 0.5)), is_sure(Interval(0.4, -0.1, 0.9))]
    [True, False]
    """
    return _has_ends(drop) and not drop.low <= 0 <= drop.high


def _has_ends(drop: Interval) -> bool:
    return drop.low <= drop.value <= drop.high and math.isfinite(drop.high - drop.low)
