"""Rows of a log: what is wrong with them, and their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fallow import checks
from fallow.arrays import FloatArray, Int32Array, IntArray
from fallow.errors import InputError
from fallow.logs.columns import are_numbers

SLACK = 0.01
"""By how much the propensities of a row may miss 1, since they are often rounded."""
PERCENT = 50
"""Above this they are percentages."""
UNLIKELY = 8.0
"""Standard deviations that chance does not explain."""


class Counts(NamedTuple):
    """What was found in a log, in rows.

    `rows` were read. `missing` ones lack a user, a time or an arm, and `repeated` ones say the same
    twice; both are left out. All others are plays: `contradictory` ones agree with another in user,
    time and arm but not in reward or propensity, and they and those `without_reward` count for
    delays alone. `tied` ones share their time with another arm of the same user, and stand as they
    were given. `unsorted` ones came after a later one of the same user. `unknown` ones may have
    been played before the log begins, so their delay is not known.
    """

    rows: int
    missing: int
    repeated: int
    contradictory: int
    without_reward: int
    tied: int
    unsorted: int
    unknown: int


@dataclass
class Rows:
    """The columns of a log, one entry a row; users and arms by number, -1 or NaN is missing.

    There may be many rows, so a column in order takes the place of the one as it was read.
    """

    user: Int32Array
    time: FloatArray
    arm: Int32Array
    reward: FloatArray
    propensity: FloatArray | None
    propensities: FloatArray | None
    names: Sequence[str]
    unit: str

    def __post_init__(self) -> None:
        lengths = {name: len(getattr(self, name)) for name in self._columns()}
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{length:,} of {name}" for name, length in lengths.items())
            raise InputError("columns", "must be equally long", found)
        if not self.user.size:
            raise InputError("a log", "must have rows", "none")

    def rescale(self, scale: tuple[float, float] | None) -> None:
        """Map rewards to [0, 1]."""
        low, high = (0.0, 1.0) if scale is None else scale
        outside = (self.reward < low) | (self.reward > high)
        rule = f"must lie in [{low:g}, {high:g}]"
        advice = "; give their scale, the rewards that stand for 0 and 1"
        _check("reward", rule, self.reward, outside, advice)
        if scale is not None:
            self.reward = (self.reward - low) / (high - low)

    def order_arms(self, arms: Sequence[str] | None) -> None:
        """Give arms the numbers that the caller asks for, or those of the sorted played ones."""
        plays = np.bincount(self.arm[self._is_play()], minlength=len(self.names))
        played = [self.names[code] for code in np.flatnonzero(plays).tolist()]
        names = played if arms is None else arms
        if arms is None and self.propensities is not None and not are_numbers(played):
            raise InputError(
                "arms", "must be given, in the order of the columns of propensities", "none"
            )
        checks.at_most("arms", len(names), checks.MAX_ARMS)
        for name in names:
            checks.text("the name of an arm", name, checks.MAX_NAME)
        place = {name: arm for arm, name in enumerate(names)}
        unknown = [name for name in played if name not in place]
        if unknown:
            raise InputError(
                "arms",
                "must hold all that were played",
                f"none called {checks.short(unknown[0])} ({len(unknown):,} "
                f"such){checks.suggestion(unknown[0], names)}",
            )
        codes = [place.get(name, -1) for name in self.names]
        self.arm = np.array([*codes, -1], np.int32)[self.arm]  # the last is for -1, missing
        self.names = tuple(names)

    def check_propensities(self) -> None:
        """Check those that are there, and pick that of the arm that was played."""
        chances = self.propensities
        if chances is not None:
            if chances.shape[1] != len(self.names):
                raise InputError(
                    "propensities",
                    "must have one column an arm",
                    f"{chances.shape[1]:,} for {len(self.names):,} arms; give arms in the order of "
                    "the columns",
                )
            least, most = chances.min(axis=1), chances.max(axis=1)
            _check("propensities", "must lie in [0, 1]", least, least < 0)
            total = chances.sum(axis=1)
            wrong = np.abs(total - 1) > SLACK
            percent = "; divide them by 100" if np.median(total) > PERCENT else ""
            _check("propensities of a row", "must add up to 1", total, wrong, percent)
            _check("propensities", "must lie in [0, 1]", most, most > 1)
            self.propensity = np.where(
                np.isnan(total), total, chances[np.arange(total.size), self.arm]
            )
        if self.propensity is not None:
            chance = self.propensity
            wrong = self._is_play() & ((chance <= 0) | (chance > 1))
            _check("propensity of the arm played", "must be above 0 and at most 1", chance, wrong)
            self._check_drawn()

    def _check_drawn(self) -> None:
        """Check that arms were played about as often as their propensities say."""
        assert self.propensity is not None
        plays = self._is_play() & ~np.isnan(self.propensity)
        arms, count = self.arm[plays], len(self.names)
        if self.propensities is not None:
            chances = self.propensities[plays]
            played = np.bincount(arms, minlength=count).astype(float)
            expected, variance = chances.sum(axis=0), (chances * (1 - chances)).sum(axis=0)
        else:  # one over the propensity adds up to 1 a play, or less if not all could be played
            each = 1 / self.propensity[plays]
            played = np.bincount(arms, each, count)
            expected = np.minimum(played, arms.size)
            variance = np.bincount(arms, each**2, count)
        off = (played - expected) / np.sqrt(np.maximum(variance, 1))
        worst = int(np.abs(off).argmax())
        if abs(off[worst]) > UNLIKELY:
            often = "more" if off[worst] > 0 else "less"
            raise InputError(
                "propensities",
                "must be those with which arms were drawn",
                f"{checks.short(self.names[worst])} played {often} often than they say, by "
                f"{abs(off[worst]):.0f} standard deviations; give arms in the order of the columns",
            )

    def check_alike(self) -> None:
        """Check that choice may have been the same for all users: Pearson's chi-square.

        Its variance is that for few plays of each user (Haldane 1937).
        """
        played = np.bincount(self.arm)
        shares = played[played > 0] / self.arm.size
        pairs, counts = np.unique(
            self.user.astype(np.int64) * played.size + self.arm, return_counts=True
        )
        plays = np.bincount(self.user)
        expected = plays[pairs // played.size] * played[pairs % played.size] / self.arm.size
        users, arms = np.count_nonzero(plays), shares.size
        excess = (counts**2 / expected).sum() - self.arm.size - (users - 1) * (arms - 1)
        one_over = (1 / plays[plays > 0]).sum()
        variance = 2 * (arms - 1) * (users - one_over) + ((1 / shares).sum() - arms**2) * one_over
        if excess > UNLIKELY * np.sqrt(max(variance, 1.0)):
            raise InputError(
                "random=True",
                "must hold",
                "users whose plays differ by more than chance explains; leave it out",
            )

    def clean(self) -> Counts:
        """Leave out what is missing or repeated, put plays in order, and say what was found."""
        rows = self.user.size
        is_play = self._is_play()
        missing = rows - int(np.count_nonzero(is_play))
        if missing == rows:
            raise InputError("a log", "must have plays", f"{rows:,} rows without user, time or arm")
        if missing:
            self._keep(np.flatnonzero(is_play))
        order = np.lexsort((self.time, self.user))
        self._keep(order)
        repeated, contradictory, tied = self._compare()
        self.reward[contradictory] = np.nan
        if repeated.size:
            kept = np.delete(np.arange(order.size), repeated)
            order = order[kept]
            self._keep(kept)
        without_reward = int(np.count_nonzero(np.isnan(self.reward)))
        if without_reward == order.size:
            raise InputError("a log", "must have rewards", f"{order.size:,} plays without one")
        if self.propensity is not None and np.isnan(self.propensity).any():
            raise InputError(
                "propensity",
                "must be known of every play",
                f"{np.count_nonzero(np.isnan(self.propensity)):,} plays without",
            )
        return Counts(
            rows=rows,
            missing=missing,
            repeated=repeated.size,
            contradictory=contradictory.size,
            without_reward=without_reward - contradictory.size,
            tied=tied,
            unsorted=_count_unsorted(self.user, order),
            unknown=0,
        )

    def starts(self) -> IntArray:
        """Return where the plays of each user begin, and the last user's end."""
        begins = np.flatnonzero(self.user[1:] != self.user[:-1]) + 1
        return np.concatenate([[0], begins, [self.user.size]])

    def _is_play(self) -> npt.NDArray[np.bool_]:
        return (self.user >= 0) & (self.arm >= 0) & ~np.isnan(self.time)

    def _compare(self) -> tuple[IntArray, IntArray, int]:
        """Return rows that repeat one, those that contradict one, and how many are tied."""
        same = (self.user[1:] == self.user[:-1]) & (self.time[1:] == self.time[:-1])
        begins = np.append(True, ~same)
        shared = np.flatnonzero(~begins | np.append(same, False))
        moment = np.cumsum(begins[shared])
        arm = self.arm[shared]
        told: list[FloatArray] = [self.reward[shared]]
        if self.propensities is not None:
            told += list(self.propensities[shared].T)
        elif self.propensity is not None:
            told.append(self.propensity[shared])
        # Where all is the same the first one given stays first.
        keys: list[npt.NDArray[Any]] = [*told, arm, moment]
        order = np.lexsort(keys)
        new_arm = _changes(moment[order]) | _changes(arm[order])
        new = np.logical_or.reduce([new_arm, *(_changes(column[order]) for column in told)])
        repeated, plays = shared[order[~new]], order[new]
        group = np.cumsum(new_arm[new])
        contradictory = shared[plays[np.bincount(group)[group] > 1]]
        arms = np.bincount(moment[order[new_arm]])
        return repeated, contradictory, int(np.count_nonzero(arms[moment[plays]] > 1))

    def _keep(self, index: IntArray) -> None:
        for name in self._columns():
            setattr(self, name, getattr(self, name)[index])

    def _columns(self) -> list[str]:
        columns = ("user", "time", "arm", "reward", "propensity", "propensities")
        return [name for name in columns if getattr(self, name) is not None]


def _changes(column: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Tell where a value differs from the one before; two that are missing do not."""
    before, value = column[:-1], column[1:]
    differs = (value != before) & ((value == value) | (before == before))
    return np.append(True, differs)[: column.size]


def _count_unsorted(user: Int32Array, order: IntArray) -> int:
    """Count the rows, in order, that were given after a later one of the same user."""
    given = user.astype(np.int64)
    given *= order.size
    given += order
    first_given_from_here = np.minimum.accumulate(given[::-1])[::-1]
    return int(np.count_nonzero(first_given_from_here[1:] < given[:-1]))


def _check(
    argument: str, rule: str, values: FloatArray, wrong: npt.NDArray[np.bool_], advice: str = ""
) -> None:
    if wrong.any():
        row = int(wrong.argmax())
        found = f"{values[row]} in row {row:,}, counted from 0{advice}"
        raise InputError(argument, rule, found)
