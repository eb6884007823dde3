"""Which cells of a log a policy needs, and whether the log has enough of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fallow.arrays import FloatArray
from fallow.intervals import LEVEL, student_quantile
from fallow.logs.evidence import MIN_EFFECTIVE_SIZE, CellMeans, Evidence, what_is_missing
from fallow.logs.log import Log
from fallow.text import span_in_words

MAX_WEAK_SHARE = 0.05
"""Share of a learner's rounds that may be in cells with few plays."""


class Support(NamedTuple):
    """How well the log supports a cell: an arm at a delay.

    `share` is how often the cycle uses it, `unit` that of the delay. `rows` are its plays in the
    log, `effective` those that would be as sure if all counted alike.
    """

    arm: str
    delay: float
    share: float
    rows: int
    effective: float
    unit: str = "rounds"

    def __str__(self) -> str:
        return f"{self.arm} after {span_in_words(self.delay, self.unit)}"


class CannotSay(ValueError):  # noqa: N818, it is an answer
    """The log does not tell.

    Attributes
    ----------
    cells
        Those that are missing, if that is why.
    low, high
        What lies between them if payoffs do not fall with rest; NaN if cells are not the reason.
    """

    def __init__(
        self, reason: str, cells: Sequence[Support] = (), low: float = np.nan, high: float = np.nan
    ) -> None:
        super().__init__(reason)
        self.cells = tuple(cells)
        self.low = low
        self.high = high


def check_chance(log: Log) -> None:
    """Refuse a log in which chance does not tell anything."""
    missing = what_is_missing(log)
    if missing:
        raise CannotSay(f"a value needs {missing}")


def support_of(log: Log, cells: CellMeans, shares: FloatArray) -> tuple[Support, ...]:
    """Return the cells that are used so often."""
    return tuple(
        Support(
            log.names[arm],
            float(log.spans[column]),
            float(shares[arm, column]),
            int(cells.rows[arm, column]),
            float(cells.effective[arm, column]),
            log.unit,
        )
        for arm, column in np.argwhere(shares).tolist()
    )


def check_support(evidence: Evidence, shares: FloatArray) -> tuple[Support, ...]:
    """Return the cells that are used, or refuse if the log has too little of one."""
    cells = evidence.means()
    _check_eligible(evidence.log, shares)
    support = support_of(evidence.log, cells, shares)
    weak = [cell for cell in support if cell.effective < MIN_EFFECTIVE_SIZE]
    if weak:
        low, high = _monotone_bounds(shares, cells)
        raise CannotSay(
            f"a value needs an effective sample size of {MIN_EFFECTIVE_SIZE:g} in each cell, "
            f"got too little for {_named(weak)}; if payoffs do not fall with rest, it lies "
            f"between about {low:.2f} and {high:.2f}",
            weak,
            low,
            high,
        )
    return support


def check_mostly_supported(support: Sequence[Support]) -> None:
    """Refuse a learner that lives on cells of which the log has too little."""
    weak = [cell for cell in support if cell.effective < MIN_EFFECTIVE_SIZE]
    if sum(cell.share for cell in weak) > MAX_WEAK_SHARE:
        raise CannotSay(
            f"a value needs an effective sample size of {MIN_EFFECTIVE_SIZE:g} in cells "
            f"that are used often, got too little for {_named(weak)}",
            weak,
        )


def _named(cells: Sequence[Support]) -> str:
    named = ", ".join(f"{cell} ({cell.effective:.1f})" for cell in cells[:5])
    return named + (f" and {len(cells) - 5} more" if len(cells) > 5 else "")


def _check_eligible(log: Log, shares: FloatArray) -> None:
    """Refuse arms that could not be played at times: nobody knows what they would have paid."""
    if log.propensities is None:
        return
    used = np.flatnonzero(shares.any(axis=1))
    never = (log.propensities[:, used] == 0).any(axis=0)
    if never.any():
        names = ", ".join(log.names[arm] for arm in used[never][:5].tolist())
        raise CannotSay(
            f"a value needs arms that could always come up, got propensities of 0 for {names}"
        )


def _monotone_bounds(shares: FloatArray, cells: CellMeans) -> tuple[float, float]:
    """Return what a cycle earns at least and at most where cells lie between their neighbours.

    Cells with plays enough count by the ends of their 95 % intervals.
    """
    heard = cells.effective >= MIN_EFFECTIVE_SIZE
    half_widths = student_quantile(LEVEL, MIN_EFFECTIVE_SIZE) * cells.errors
    lows = np.where(heard, np.maximum(cells.means - half_widths, 0), 0)
    highs = np.where(heard, np.minimum(cells.means + half_widths, 1), 1)
    sooner = np.maximum.accumulate(lows, axis=1)
    later = np.minimum.accumulate(highs[:, ::-1], axis=1)[:, ::-1]
    # By chance sooner cells may seem to pay more.
    low = np.where(heard, lows, np.minimum(sooner, later))
    high = np.where(heard, highs, np.maximum(sooner, later))
    return float((shares * low).sum()), float((shares * high).sum())
