"""A log: who was shown what, when, and what it paid."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from fallow.arrays import BoolArray, FloatArray, Int32Array, IntArray
from fallow.frames import frame
from fallow.kernels.plays import follow_plays
from fallow.logs.clock import pace, round_edges, rounds, time_edges, time_spans
from fallow.logs.columns import Values, names_of, numbers_of, times_of
from fallow.logs.evidence import Evidence
from fallow.logs.read import read_rows
from fallow.logs.rows import Rows
from fallow.logs.settings import Settings
from fallow.text import counted

if TYPE_CHECKING:
    from fallow.frames import DataFrame

COLUMNS = ("arms", "rewards", "delays", "gaps", "windows", "whole", "propensity", "propensities")
"""What a log holds by play."""


class Log:
    """Plays of many users in the order of time, each with its delay and what it paid.

    Parameters
    ----------
    user, time, arm, reward
        One entry a play, in any order. Users and arms are whole numbers or text. Times are numbers
        or datetimes. Rewards lie in [0, 1] unless `scale` is given; NaN or None is an unknown one.
    propensity
        The chance with which the arm was chosen, for each play, as the system drew it.
    propensities
        The chances of all arms, one row a play and one column an arm, in the order of `arms`.
        Better than `propensity`; give one of them.
    max_delay
        An arm is rested when more than so many rounds have passed, or so much time (seconds for
        datetimes). Unless given, a tenth of the delays are longer; in rounds it is at most 30, and
        less if arms have fewer than 40 plays there on average.
    clock
        What counts as delay: the user's own plays ("rounds"), or elapsed time ("time"), which is
        sorted into 8 delays, evenly spaced in its logarithm.
    arms
        The arms in order. Unless given, those that were played, sorted, as numbers if they are.
    scale
        The rewards that stand for 0 and 1.
    from_start
        Whether the log has every play that there ever was. If so, an arm is rested at first;
        otherwise nobody knows when it was last played.
    random
        Declares that arms were drawn at random, each with a chance of its own that was the same for
        all users at all times. What was played then tells the propensities.

    Attributes
    ----------
    users, plays
        How many there are.
    names
        The arms.
    starts
        Where the plays of each user begin, and where the last user's end.
    arms, rewards, delays
        By play. A delay is counted from 1 to `max_delay`, one more is rested, 0 is unknown.
    gaps, windows
        By play: how many plays of the user ago the arm was last played (0: not in this log), and
        how many plays lie within the longest delay.
    propensity, propensities
        By play, or None where they are not known; the first follows from the second.
    clock, max_delay
        As given, but `max_delay` is the number of delays, which is 8 if they are elapsed time.
    longest
        The longest delay that is not rested, in rounds or in elapsed time.
    spans
        What each delay stands for, in rounds or in elapsed time; the last is for rested arms.
    unit
        What spans are counted in: "rounds", "seconds" for datetimes, else "units of time".
    pace
        The median time between two plays of a user; 1 by rounds.
    shares
        How often each arm was played.
    scale
        As it was given.
    counts
        What was found in the rows.

    Examples
    --------
    >>> log = Log(user=["ann"] * 4, time=[1, 2, 3, 4], arm=["hymn", "waltz", "hymn", "hymn"],
    ...           reward=[1, 0, 1, 0], max_delay=2)
    >>> log
    Log(4 plays, 1 user, 2 arms, delays up to 2)
    >>> log.delays
    array([0, 0, 2, 1], dtype=int32)
    >>> log.counts.unknown
    2
    """

    _evidence: dict[bool, Evidence]

    def __init__(
        self,
        *,
        user: Values,
        time: Values,
        arm: Values,
        reward: Values,
        propensity: Values | None = None,
        propensities: Values | None = None,
        max_delay: float | None = None,
        clock: str = "rounds",
        arms: Sequence[object] | None = None,
        scale: tuple[float, float] | None = None,
        from_start: bool = False,
        random: bool = False,
    ) -> None:
        settings = Settings(max_delay, clock, arms, scale, from_start, random)
        settings.check_sources(propensity, propensities)
        users, played, times = names_of("user", user), names_of("arm", arm), times_of(time)
        rows = Rows(
            user=users.codes,
            time=times.since,
            arm=played.codes,
            reward=numbers_of("reward", reward),
            propensity=None if propensity is None else numbers_of("propensity", propensity),
            propensities=(
                None if propensities is None else numbers_of("propensities", propensities, 2)
            ),
            names=played.known,
            unit=times.unit,
        )
        self._take(rows, settings)

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        user: str,
        time: str,
        arm: str,
        reward: str,
        propensity: str | None = None,
        propensities: str | Sequence[str] | None = None,
        max_delay: float | None = None,
        clock: str = "rounds",
        arms: Sequence[object] | None = None,
        scale: tuple[float, float] | None = None,
        from_start: bool = False,
        random: bool = False,
    ) -> Self:
        r"""Read a log from a file: Parquet, CSV with a header, or JSON lines (extra `data`).

        Parameters
        ----------
        path
            The file; its name ends in .parquet, .csv, .jsonl or .ndjson.
        user, time, arm, reward, propensity
            The names of its columns. Times that are text are written like 2026-01-31 12:00:00.
        propensities
            The names of columns, one an arm in the order of `arms`, or of a single column of lists.
        max_delay, clock, arms, scale, from_start, random
            As for `Log`.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "plays.csv")
        ...     _ = path.write_text("who,at,song,liked\nann,1,hymn,1\nann,2,waltz,0\n")
        ...     Log.read(path, user="who", time="at", arm="song", reward="liked")
        Log(2 plays, 1 user, 2 arms, delays up to 1)
        """
        settings = Settings(max_delay, clock, arms, scale, from_start, random)
        settings.check_sources(propensity, propensities)
        columns = {"user": user, "time": time, "arm": arm, "reward": reward}
        if propensity is not None:
            columns["propensity"] = propensity
        log = cls.__new__(cls)
        log._take(read_rows(path, columns, propensities, clock), settings)
        return log

    def _take(self, rows: Rows, settings: Settings) -> None:
        """Clean the rows, and follow the plays."""
        rows.rescale(settings.scale)
        rows.order_arms(settings.names())
        rows.check_propensities()
        counts = rows.clean()
        if settings.random:
            rows.check_alike()
        self.names = tuple(rows.names)
        self.clock = settings.clock
        self.scale = settings.scale
        self.unit = "rounds" if self.clock == "rounds" else rows.unit
        self.starts = rows.starts()
        self.arms, self.rewards = rows.arm, rows.reward
        self.propensities = rows.propensities
        self.shares: FloatArray = np.bincount(self.arms, minlength=len(self.names)) / self.plays
        self.propensity = self.shares[self.arms] if settings.random else rows.propensity
        if self.clock == "rounds":
            times, origins, self.pace = rounds(self.starts), np.full(self.users, -1.0), 1.0
        else:
            times, self.pace = rows.time, pace(self.starts, rows.time)
            origins = times[self.starts[:-1]]
        if settings.from_start:
            origins = np.full(self.users, -np.inf)
        del rows.user, rows.time  # large, and the caller still has the rows
        self._follow(times, origins, settings.max_delay)
        self.counts = counts._replace(unknown=int(np.count_nonzero(self.delays == 0)))

    def _follow(self, times: FloatArray, origins: FloatArray, max_delay: float | None) -> None:
        """Look how long delays are to see which ones to tell apart, then sort them."""

        def follow(edges: FloatArray) -> tuple[Int32Array, Int32Array, Int32Array, BoolArray]:
            return follow_plays(self.starts, self.arms, times, edges, origins, len(self.names))

        _, gaps, _, _ = follow(np.array([np.inf]))
        again = np.flatnonzero(gaps)
        elapsed = times[again]
        elapsed -= times[again - gaps[again]]
        in_rounds = self.clock == "rounds"
        if in_rounds:
            edges = round_edges(elapsed, max_delay, len(self.names))
        else:
            edges = time_edges(elapsed, max_delay)
        self.max_delay, self.longest = edges.size, float(edges[-1])
        self.delays, self.gaps, self.windows, self.whole = follow(edges)
        if in_rounds:
            self.spans = np.arange(1.0, self.max_delay + 2)
        else:
            self.spans = time_spans(edges, elapsed, self.delays[again])

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        vars(self)["_evidence"] = {}  # it followed from the attributes as they were

    def evidence(self, weighted: bool) -> Evidence:
        """Return the plays that count, with weights or without: see `Evidence`.

        It is computed once, and again after an attribute of the log was assigned.
        """
        if weighted not in self._evidence:
            self._evidence[weighted] = Evidence(self, weighted)
        return self._evidence[weighted]

    def part(self, users: IntArray) -> Log:
        """Return the plays of some users alone, who are counted from 0 and in order.

        Examples
        --------
        >>> log = Log(user=[1, 2, 2], time=[1, 1, 2], arm=[0, 0, 0], reward=[0, 1, 1])
        >>> log.part(np.array([1]))
        Log(2 plays, 1 user, 1 arm, delays up to 1)
        """
        lengths = np.diff(self.starts)
        chosen = np.zeros(self.users, bool)
        chosen[users] = True
        plays = np.flatnonzero(np.repeat(chosen, lengths))
        part = copy(self)
        part.starts = np.concatenate([[0], np.cumsum(lengths[chosen])])
        for name in COLUMNS:
            column = getattr(self, name)
            setattr(part, name, None if column is None else column[plays])
        part.shares = np.bincount(part.arms, minlength=len(self.names)) / part.plays
        return part

    def frame(self) -> DataFrame:
        """Return one row a play as a polars frame (extra `data`), users and plays in order.

        Users are counted from 0. A reward that is not known is NaN, and a delay that is not known
        is 0. Propensities are there where they are known. Its method `to_pandas` needs the extra
        `pandas`.

        Examples
        --------
        >>> log = Log(user=["ann", "ann"], time=[1, 2], arm=["hymn", "hymn"], reward=[1, 0])
        >>> log.frame().rows()
        [(0, 'hymn', 0, 1.0), (0, 'hymn', 1, 0.0)]
        """
        columns: dict[str, npt.ArrayLike] = {
            "user": np.repeat(np.arange(self.users), np.diff(self.starts)),
            "arm": np.array(self.names)[self.arms],
            "delay": self.delays,
            "reward": self.rewards,
        }
        if self.propensity is not None:
            columns["propensity"] = self.propensity
        return frame(columns)

    @property
    def plays(self) -> int:
        """The number of plays."""
        return self.arms.size

    @property
    def users(self) -> int:
        """The number of users."""
        return self.starts.size - 1

    def __repr__(self) -> str:
        sizes = (self.plays, "play"), (self.users, "user"), (len(self.names), "arm")
        found = ", ".join(counted(count, word) for count, word in sizes)
        return f"Log({found}, delays up to {self.max_delay:,})"
