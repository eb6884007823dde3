"""What many runs came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fallow import checks
from fallow.arrays import FloatArray, IntArray
from fallow.errors import InputError
from fallow.frames import frame
from fallow.intervals import Estimate, estimate
from fallow.text import counted, first_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fallow.frames import DataFrame

MOST_NAMES = 6
"""Learners that a result names in a line."""


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Totals of each learner in each run, at the same rounds.

    Run r of every learner met the same instance and the same random numbers, so the difference of
    two learners is taken run by run before it is averaged.

    Where no reference is given, regret is against "ghost", as in the paper, and a share is of the
    reward of "optimum". If the result has no reference of that name, its first one is taken.

    Attributes
    ----------
    learners
        Names of the learners.
    runs
        Numbers of the runs.
    rounds
        The rounds at which totals were taken.
    rewards, switches
        Expected reward and number of switches, by run, learner and round.
    ranking_rounds
        Rounds spent on ranking the arms, by run and learner; 0 for learners that do not say.
    gains
        Reward per round of each reference, by run.
    """

    learners: tuple[str, ...]
    runs: tuple[int, ...]
    rounds: IntArray
    rewards: FloatArray
    switches: IntArray
    ranking_rounds: IntArray
    gains: Mapping[str, FloatArray]

    def plot(self, reference: str | None = None, switching_cost: float = 0.0) -> Figure:
        """Draw the regret of each learner over the rounds, with 95 % intervals (extra `plot`).

        Parameters
        ----------
        reference
            The reference that regret is against, as in `regret`.
        switching_cost
            Charged for each switch.

        Examples
        --------
        >>> from fallow import RankingUCB, catalog, replicate
        >>> pi_ucb = {"pi_ucb": lambda instance, seed: RankingUCB(instance.order)}
        >>> result = replicate(catalog.figure3(), pi_ucb, 100, runs=3, seed=0)
        >>> result.plot().axes[0].get_ylabel()
        'regret against ghost'
        """
        from fallow.drawing.figures import Panel, curve_figure

        against = self._reference(reference, "ghost")
        regrets = estimate(self.regrets(against, switching_cost))
        curves = {
            name: Estimate(regrets.mean[place], regrets.half_width[place])
            for place, name in enumerate(self.learners)
        }
        title = self._in_words() + (f", a switch costs {switching_cost:g}" * bool(switching_cost))
        panel = Panel("", self.rounds, curves)
        return curve_figure([panel], title, "round", f"regret against {against}")

    def __repr__(self) -> str:
        return f"Result({self._in_words()}: {first_names(self.learners, MOST_NAMES)})"

    def _repr_html_(self) -> str:
        from fallow.drawing.html import number_table, snippet

        last = int(self.rounds[-1])
        columns = {f"regret against {name}": self.regrets(name)[..., -1] for name in self.gains}
        columns = {"reward a round": self.rewards[..., -1] / max(last, 1), **columns}
        forms = [".3f", *[""] * len(self.gains)]
        ends = [estimate(values) for values in columns.values()]
        rows = {
            name: [f"{end.at(place):{form}}" for end, form in zip(ends, forms, strict=True)]
            for place, name in enumerate(self.learners)
        }
        words = f"{self._in_words()}: means at the end, with 95 % intervals"
        return snippet("Result", words, number_table(["learner", *columns], rows))

    def _in_words(self) -> str:
        runs, learners = counted(len(self.runs), "run"), counted(len(self.learners), "learner")
        return f"{runs} of {learners}, {self.rounds[-1]:,} rounds"

    def regret(
        self, learner: str, reference: str | None = None, switching_cost: float = 0.0
    ) -> FloatArray:
        """Return the regret of a learner against a reference, by run and round.

        The reference is ghost unless given, or the first one if ghost is not among them.
        """
        return self.regrets(reference, switching_cost)[:, self._place(learner)]

    def regrets(self, reference: str | None = None, switching_cost: float = 0.0) -> FloatArray:
        """Return the regret of all learners, as in `regret`, by run, learner and round."""
        earned = self.rewards - switching_cost * self.switches
        regrets: FloatArray = self._earned_by(self._reference(reference, "ghost")) - earned
        return regrets

    def share(self, learner: str, reference: str | None = None) -> FloatArray:
        """Return the share of a reference's reward that a learner earned, by run and round.

        The reference is the optimum unless given, or the first one if the optimum is not among
        them. Where the reference earns nothing, the share is 1.

        Examples
        --------
        >>> from fallow import RankingUCB, catalog, replicate
        >>> pi_ucb = {"pi_ucb": lambda instance, seed: RankingUCB(instance.order)}
        >>> result = replicate(catalog.figure3(), pi_ucb, 100, runs=3, seed=0)
        >>> list(result.gains), result.share("pi_ucb").shape
        (['ghost'], (3, 34))
        """
        return self.shares(reference)[:, self._place(learner)]

    def shares(self, reference: str | None = None) -> FloatArray:
        """Return the shares of all learners, as in `share`, by run, learner and round."""
        earned = self._earned_by(self._reference(reference, "optimum"))
        best = np.broadcast_to(earned, self.rewards.shape)
        return np.divide(self.rewards, best, out=np.ones(best.shape), where=best > 0)

    def difference(
        self, learner: str, other: str, reference: str | None = None, switching_cost: float = 0.0
    ) -> Estimate:
        """Return how much more regret a learner has than another, by round.

        Taken run by run, so what both meet in a run does not widen the interval.
        """
        regrets = self.regrets(reference, switching_cost)
        return estimate(regrets[:, self._place(learner)] - regrets[:, self._place(other)])

    def frame(self) -> DataFrame:
        """Return one row for each run, learner and round as a polars frame (extra `data`).

        Its method `to_pandas` needs the extra `pandas`.
        """
        runs, learners, rounds = self.rewards.shape
        gains = {
            f"{name}_gain": np.repeat(gains, learners * rounds)
            for name, gains in self.gains.items()
        }
        return frame(
            {
                "run": np.repeat(np.array(self.runs, np.int64), learners * rounds),
                "learner": np.tile(np.repeat(self.learners, rounds), runs),
                "round": np.tile(self.rounds, runs * learners),
                "expected_reward": self.rewards.ravel(),
                "switches": self.switches.ravel(),
                "ranking_rounds": np.repeat(self.ranking_rounds.ravel(), rounds),
                **gains,
            }
        )

    @classmethod
    def from_frame(cls, rows: DataFrame) -> Result:
        """Return the totals whose rows these are; runs and rounds in any order.

        Raises
        ------
        InputError
            Names the column, the rule and the value.
        """
        columns = ("learner", "run", "round", "expected_reward", "switches", "ranking_rounds")
        if not set(columns) <= set(rows.columns) or rows.is_empty():
            given = ", ".join(rows.columns) if len(rows) else "no rows"
            raise InputError("rows", f"must have columns {', '.join(columns)}", f"{given}")
        for name in ("run", "round"):
            _counts(rows, name)
        names = [
            checks.text("learner", name) for name in rows["learner"].unique(maintain_order=True)
        ]
        places = rows["learner"].replace_strict({name: place for place, name in enumerate(names)})
        rows = rows.with_columns(place=places).sort("run", "place", "round")
        found = [_counts(rows, name) for name in ("run", "place", "round")]
        runs, _, rounds = axes = [np.unique(each) for each in found]
        every = [each.ravel() for each in np.meshgrid(*axes, indexing="ij")]
        if not np.array_equal(found, every):
            raise InputError(
                "rows",
                f"must be one for each run, learner and round, {len(every[0]):,} in all",
                f"{len(rows):,}, or one of them twice",
            )
        shape = tuple(map(len, axes))
        ranking = _counts(rows, "ranking_rounds").reshape(shape)
        gains = {
            name.removesuffix("_gain"): _numbers(rows, name).reshape(len(runs), -1)
            for name in rows.columns
            if name.endswith("_gain")
        }
        return cls(
            tuple(names),
            tuple(runs.tolist()),
            rounds,
            _numbers(rows, "expected_reward").reshape(shape),
            _counts(rows, "switches").reshape(shape),
            _first("ranking_rounds", ranking),
            {name: _first(f"{name}_gain", values) for name, values in gains.items()},
        )

    @classmethod
    def merge(cls, parts: Sequence[Result]) -> Result:
        """Return the runs of several results of one study, in this order, as one.

        Examples
        --------
        >>> from fallow import RankingUCB, catalog, replicate
        >>> pi_ucb = lambda instance, seed: RankingUCB(instance.order)
        >>> numbers = range(0, 3), range(3, 5)
        >>> parts = [replicate(catalog.figure3(), pi_ucb, 100, runs, seed=0) for runs in numbers]
        >>> Result.merge(parts).runs
        (0, 1, 2, 3, 4)
        """
        first = parts[0]
        return cls(
            first.learners,
            tuple(run for part in parts for run in part.runs),
            first.rounds,
            np.concatenate([part.rewards for part in parts]),
            np.concatenate([part.switches for part in parts]),
            np.concatenate([part.ranking_rounds for part in parts]),
            {name: np.concatenate([part.gains[name] for part in parts]) for name in first.gains},
        )

    def _place(self, learner: str) -> int:
        checks.one_of("learner", learner, self.learners)
        return self.learners.index(learner)

    def _reference(self, given: str | None, usual: str) -> str:
        """Return the reference that is given, else the usual one, else the first."""
        if not self.gains:
            raise InputError("references", "must be at least one to compare with", "none")
        if given is not None:
            checks.one_of("reference", given, self.gains)
            return given
        return usual if usual in self.gains else next(iter(self.gains))

    def _earned_by(self, reference: str) -> FloatArray:
        """Return what a reference earns, by run and round, with room for the learners between."""
        earned: FloatArray = self.gains[reference][:, np.newaxis, np.newaxis] * self.rounds
        return earned


def _counts(rows: DataFrame, name: str) -> IntArray:
    """Return a column of whole numbers from 0."""
    values = rows[name].to_numpy()
    if values.dtype.kind not in "iu":
        raise InputError(name, "must hold whole numbers", f"{rows[name].dtype}")
    wrong = values[(values < 0) | (values > checks.LARGEST)]
    if wrong.size:
        raise InputError(name, f"must be from 0 to {checks.LARGEST}", f"{wrong[0]}")
    return values.astype(np.int64)


def _numbers(rows: DataFrame, name: str) -> FloatArray:
    """Return a column of finite numbers."""
    values = rows[name].to_numpy()
    if values.dtype.kind not in "iuf":
        raise InputError(name, "must hold numbers", f"{rows[name].dtype}")
    wrong = values[~np.isfinite(values)]
    if wrong.size:
        raise InputError(name, "must be finite", f"{wrong[0]}")
    return values.astype(np.float64)


def _first(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Return the first values along the last axis, along which all must be the same."""
    first = values[..., 0]
    wrong = values[values != first[..., np.newaxis]]
    if wrong.size:
        raise InputError(name, "must not change within a run", f"{wrong[0]} in some rows of one")
    return first
