"""A table of means from a log, and what it says of each arm's recovery."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray
from fallow.errors import InputError
from fallow.frames import frame
from fallow.instance import Instance
from fallow.intervals import LEVEL
from fallow.logs.evidence import NORMAL, ROUNDING_ERROR, CellMeans, Evidence, Interval
from fallow.logs.log import Log
from fallow.logs.tables import Tables
from fallow.text import counted, span_in_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fallow.frames import DataFrame

REDRAWS = 200
"""Times that users are drawn again for the intervals of recovery."""
QUANTILES = (1 - LEVEL, LEVEL)
MADE_UP = (0.5, 0.9)
"""Shares of the drop after which an arm is half or nearly recovered."""
MOST_MEANS = 10**6
"""Means of a table to plan with, where rounds are short against delays."""


class Recovery(NamedTuple):
    """How an arm recovers, with 95 % intervals.

    `level` is its rested mean. `drop` is the share of it that is missing one delay after a play,
    negative where repeating pays more. After `half_life` half of the drop is made up for, after
    `recovered` 90 %: in rounds or elapsed time, 0 where there is no drop. Intervals of level and
    drop are from the plays of the first and the last delay alone, the others from redrawn users.
    """

    name: str
    level: Interval
    drop: Interval
    half_life: Interval
    recovered: Interval


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted table of means.

    Attributes
    ----------
    instance
        What to plan with, with the arms' names: plays count alike, as weights tell levels better
        but their order worse. So a plan's gain on it is not what the plan is worth; `value` is.
    means
        The fitted means, of shape (arms, delays): each cell's own average, drawn towards a shape
        that arms share, and monotone. With propensities plays have weights, so that the means hold
        for all users, not for those for whom an arm was chosen.
    falls
        By arm, whether payoffs fall with rest.
    spans
        What the columns stand for, in rounds or elapsed time.
    """

    instance: Instance
    means: FloatArray
    falls: tuple[bool, ...]
    spans: FloatArray
    _evidence: Evidence
    _tables: Tables

    @cached_property
    def cells(self) -> CellMeans:
        """What each cell's own plays say: mean, standard error, rows, effective sample size."""
        return self._evidence.means()

    @cached_property
    def table(self) -> DataFrame:
        """One row a cell: fitted mean, 95 % interval, rows, effective sample size (extra `data`).

        The interval is from the cell's own plays, so the fitted mean may lie outside where these
        are few.
        """
        arms, delays = self.means.shape
        return frame(
            {
                "arm": np.repeat(self.instance.names, delays),
                "delay": np.tile(self.spans, arms),
                "mean": self.means.ravel(),
                "low": np.clip(self.cells.means - self.half_widths, 0, 1).ravel(),
                "high": np.clip(self.cells.means + self.half_widths, 0, 1).ravel(),
                "rows": self.cells.rows.ravel().astype(np.int64),
                "effective": self.cells.effective.ravel(),
            }
        )

    @property
    def half_widths(self) -> FloatArray:
        """Of the 95 % intervals around the cells' own means."""
        return NORMAL * self.cells.errors

    @cached_property
    def recovery(self) -> tuple[Recovery, ...]:
        """How each arm recovers."""
        log = self._evidence.log

        def times(tables: FloatArray, share: float) -> FloatArray:
            found = _times(self.spans, tables, share, log.clock == "rounds")
            return found if log.clock == "rounds" else np.minimum(found, log.longest)

        tables = self._tables.redrawn(REDRAWS)
        ends = [
            np.quantile(times(tables, share), QUANTILES, axis=0, method="inverted_cdf")
            for share in MADE_UP
        ]
        values = [times(self.means[np.newaxis], share)[0] for share in MADE_UP]
        found = []
        for arm, name in enumerate(self.instance.names):
            both = [
                Interval(float(value[arm]), float(low[arm]), float(high[arm]))
                for value, (low, high) in zip(values, ends, strict=True)
            ]
            found.append(Recovery(name, self._level(arm), self._drop(arm), *both))
        return tuple(found)

    def _level(self, arm: int) -> Interval:
        half_width = float(self.half_widths[arm, -1])
        mean = float(self.cells.means[arm, -1])
        return Interval(float(self.means[arm, -1]), mean - half_width, mean + half_width)

    def _drop(self, arm: int) -> Interval:
        """Return the share lost at the first delay, as if the two cells were unrelated."""
        first, rested = self.means[arm, 0], self.means[arm, -1]
        mean, level = self.cells.means[arm, 0], self.cells.means[arm, -1]
        error, of_level = self.cells.errors[arm, 0], self.cells.errors[arm, -1]
        if not (rested > 0 and level > 0):
            return Interval(np.nan, np.nan, np.nan)
        if not np.isfinite(error + of_level):
            return Interval(float(1 - first / rested), -np.inf, np.inf)
        half_width = NORMAL * float(np.hypot(error, of_level * mean / level) / level)
        drop = float(1 - mean / level)
        return Interval(float(1 - first / rested), drop - half_width, drop + half_width)

    def plot(self) -> Figure:
        """Draw the recovery of each arm with its intervals (extra `plot`).

        Of more than 12 arms those with the most plays.

        Examples
        --------
        >>> from fallow import catalog
        >>> from fallow.logs import simulate_log
        >>> found = fit(simulate_log(catalog.figure3(), users=50, rounds=20))
        >>> [panel.get_title() for panel in found.plot().axes]
        ['0, 503 plays', '1, 497 plays']
        """
        from fallow.drawing.figures import recovery_figure

        return recovery_figure(
            self.instance.names,
            self.spans,
            self.means,
            self.cells.means,
            self.half_widths,
            self.cells.rows,
            self._evidence.log.unit,
        )

    def __repr__(self) -> str:
        return f"Fit({self._in_words()})"

    def _repr_html_(self) -> str:
        from fallow.drawing.html import heat_map, snippet

        unit = self._evidence.log.unit
        delays = [*(span_in_words(span, unit, brief=True) for span in self.spans[:-1]), "rested"]
        words = f"{self._in_words()}: fitted reward by delay"
        return snippet("Fit", words, heat_map(self.instance.names, delays, self.means))

    def _in_words(self) -> str:
        arms, delays = self.means.shape
        return f"{counted(arms, 'arm')}, delays up to {delays - 1:,}"


def fit(log: Log, round_length: float | None = None) -> Fit:
    """Return the table of means that a log supports.

    Parameters
    ----------
    log
        The plays.
    round_length
        For a log by elapsed time: how long a round of the plan lasts, in the same unit. The median
        time between two plays of a user, unless given.

    Examples
    --------
    >>> from fallow import catalog, plan
    >>> from fallow.logs import simulate_log
    >>> found = fit(simulate_log(catalog.figure2(), users=100, rounds=100))
    >>> found
    Fit(7 arms, delays up to 6)
    >>> plan(found.instance).gain > 0.5
    True
    """
    plain = log.evidence(weighted=False)
    if not plain.plays.size:
        raise InputError(
            "a log",
            "must have plays with a reward and all that came within the longest delay before them",
            "none; give a shorter longest delay, or say that the log has every play from the start",
        )
    as_chosen = Tables.of(plain)
    evidence, tables = plain, as_chosen
    if log.propensity is not None:
        evidence = log.evidence(weighted=True)
        tables = Tables.of(evidence)
    return Fit(
        _instance(log, as_chosen.means(), round_length),
        tables.means(),
        tuple(tables.falls.tolist()),
        log.spans,
        evidence,
        tables,
    )


def _times(spans: FloatArray, tables: FloatArray, share: float, in_rounds: bool) -> FloatArray:
    """Return by table and arm after which delay such a share of the drop is made up for.

    Rounds are whole; elapsed time is read off between two delays, on its logarithm.
    """
    first, rested = tables[:, :, :1], tables[:, :, -1:]
    flat = np.abs(first - rested) < ROUNDING_ERROR
    made_up = (tables - first) / np.where(flat, 1, rested - first)
    after = np.argmax(made_up >= share - ROUNDING_ERROR, axis=2)
    times = spans[after]
    if not in_rounds:
        before = np.maximum(after - 1, 0)
        lower, upper = (
            np.take_along_axis(made_up, place[:, :, np.newaxis], axis=2)[:, :, 0]
            for place in (before, after)
        )
        part = np.clip((share - lower) / np.where(upper > lower, upper - lower, 1), 0, 1)
        times = np.exp(np.log(spans[before]) * (1 - part) + np.log(times) * part)
    return np.where(flat[:, :, 0], 0.0, times)


def length_of_round(log: Log, given: float | None) -> float:
    """Return how long a round lasts, in rounds (1) or elapsed time."""
    if given is not None and log.clock == "rounds":
        raise InputError("round_length", "must come with a log by elapsed time", f"{given}")
    length = log.pace if given is None else checks.positive("round_length", given)
    shortest = log.spans[-1] * len(log.names) / MOST_MEANS
    if length < shortest:
        raise InputError(
            "round_length",
            f"must be at least {shortest:.2g}",
            f"{length:g}; give a longer one, or a shorter longest delay",
        )
    return length


def _instance(log: Log, means: FloatArray, round_length: float | None) -> Instance:
    """Return the table in rounds; that of elapsed time is read off between its delays."""
    length = length_of_round(log, round_length)
    if log.clock == "rounds":
        return Instance(means, log.names)
    rounds = np.arange(1, max(int(log.spans[-1] // length), 1) + 1)
    columns = np.append(np.log(rounds * length), np.inf)
    return Instance([np.interp(columns, np.log(log.spans), row) for row in means], log.names)
