"""A sink of results: curves over any number of runs, in memory that hardly grows with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from fallow.arrays import FloatArray
from fallow.errors import InputError
from fallow.intervals import Moments, moments
from fallow.studies.batch import Batch, Failure
from fallow.studies.result import Result

BESIDE_REGRET = ("share", "switches", "ranking_rounds")
"""What is measured beside regret: the share of the optimum, and two counts, all up to a round."""

LARGEST_VALUE = 1e100
"""Of all measures; the squares of larger ones could not be added up."""
BLOCK_RUNS = 512
"""Number of runs whose values are kept one by one before they are summarised."""
LISTED_FAILURES = 20
"""Number of failed runs that are remembered one by one; the others are counted."""


@dataclass(frozen=True, eq=False)
class Segment:
    """Some consecutive runs.

    Attributes
    ----------
    runs
        Those that it covers; failed ones have no values.
    values
        By run, then by measure, learner and round, as long as `moments` is None. Otherwise, for
        each measure, learner and round, a sorted sample that stands for all values.
    moments
        Of all values, once the runs fill a block.
    weight
        How many values one of the sample stands for.
    """

    runs: range
    values: FloatArray
    moments: Moments | None = None
    weight: int = 1

    def summarise(self) -> Segment:
        """Return the summary of a segment that fills a block."""
        return Segment(self.runs, np.sort(self.values, axis=0), moments(self.values))

    def pairs_with(self, following: Segment) -> bool:
        """Tell whether both are parts of a block, or the halves of a larger one."""
        if self.moments is None or following.moments is None:
            return self.runs.start // BLOCK_RUNS == following.runs.start // BLOCK_RUNS
        return len(self.runs) == len(following.runs) and (
            self.runs.start % (2 * len(self.runs)) == 0
        )

    def join(self, following: Segment) -> Segment:
        """Return both as one segment, whose sample is halved if it is larger than a block."""
        runs = range(self.runs.start, following.runs.stop)
        if self.moments is None or following.moments is None:
            return Segment(runs, np.concatenate([self.values, following.values]))
        weight = max(self.weight, following.weight)
        samples = [half.thin(weight, runs).values for half in (self, following)]
        moments = self.moments.merge(following.moments)
        both = Segment(runs, np.sort(np.concatenate(samples), axis=0), moments, weight)
        return both.thin(2 * weight, runs) if len(both.values) > BLOCK_RUNS else both

    def thin(self, weight: int, runs: range) -> Segment:
        """Return the segment with a sample of larger weight.

        Of the sorted values every other one is kept, the first or the second in turn (Munro and
        Paterson 1980).
        """
        values, first = self.values, runs.start // len(runs) % 2
        for _ in range((weight // self.weight).bit_length() - 1):
            values = values[first::2] if len(values) > 1 else values
        return replace(self, values=values, weight=weight)


@dataclass(frozen=True, eq=False)
class Tally:
    """Count, mean, variance and a quantile sketch of values, by measure, learner and round.

    Up to a block of runs everything is exact. Beyond it, runs are summarised in whole blocks, two
    neighbours become one, and so on, a tree that is fixed by the numbers of the runs alone: however
    runs are split among workers, tallies of the parts extend to the same tally, bit for bit.

    With n runs the rank of a quantile is wrong by at most log2(n / 512) / 1024 of them, 0.75 % for
    100,000, unless many failed.

    Attributes
    ----------
    segments
        In order of their runs.
    failures
        The first of the runs that failed.
    failed
        How many failed.
    """

    segments: tuple[Segment, ...] = ()
    failures: tuple[Failure, ...] = ()
    failed: int = 0

    def __len__(self) -> int:
        return sum(len(segment.runs) for segment in self.segments)

    @property
    def stop(self) -> int:
        """The number of the run that comes next."""
        return self.segments[-1].runs.stop if self.segments else 0

    def extend(self, following: Tally) -> Tally:
        """Return the tally with the runs that come next, of another tally, added."""
        return Tally(
            reduce(_push, following.segments, self.segments),
            (self.failures + following.failures)[:LISTED_FAILURES],
            self.failed + following.failed,
        )

    def add(self, batch: Batch, switching_costs: Sequence[float]) -> Tally:
        """Return the tally with those runs of a batch added that come next, if any do."""
        runs = range(max(batch.runs.start, self.stop), batch.runs.stop)
        if not runs:
            return self
        failures = [failure for failure in batch.failures if failure.run in runs]
        values = measure(batch.result, switching_costs)
        return self.extend(tally(runs, batch.result.runs, values, failures))

    def moments(self) -> Moments:
        """Return count, mean and squared deviations over all runs."""
        parts = [part.moments or moments(part.values) for part in self.segments]
        return reduce(Moments.merge, parts)

    def quantiles(self, shares: Sequence[float]) -> FloatArray:
        """Return, for each share, the value that this share of the runs does not exceed."""
        values = np.concatenate([segment.values for segment in self.segments])
        weights = np.repeat(
            [float(segment.weight) for segment in self.segments],
            [len(segment.values) for segment in self.segments],
        )
        order = np.argsort(values, axis=0, kind="stable")
        ranks = np.cumsum(weights[order], axis=0)
        quantiles = []
        for share in shares:
            # A rank that is whole may come out of the products a little above.
            rank = np.argmax(ranks >= share * weights.sum() * (1 - 1e-12), axis=0)
            chosen = np.take_along_axis(order, rank[np.newaxis], axis=0)
            quantiles.append(np.take_along_axis(values, chosen, axis=0)[0])
        return np.array(quantiles)


def tally(
    runs: range, numbers: Sequence[int], values: FloatArray, failures: Sequence[Failure] = ()
) -> Tally:
    """Return the tally of some runs.

    Parameters
    ----------
    runs
        What it covers.
    numbers, values
        The runs that did not fail, and the values of each.
    failures
        Those that did.

    Examples
    --------
    >>> values = np.arange(1000.0).reshape(1000, 1, 1, 1)
    >>> parts = [range(0, 300), range(300, 1000)]
    >>> first, second = (tally(part, part, values[part.start:part.stop]) for part in parts)
    >>> first.extend(second).moments().mean.item()
    499.5
    """
    finished = np.asarray(numbers, dtype=np.int64)
    segments: tuple[Segment, ...] = ()
    start = runs.start
    while start < runs.stop:
        stop = min(start - start % BLOCK_RUNS + BLOCK_RUNS, runs.stop)
        within = (finished >= start) & (finished < stop)
        segments = _push(segments, Segment(range(start, stop), values[within]))
        start = stop
    return Tally(segments, tuple(failures[:LISTED_FAILURES]), len(failures))


def measure(result: Result, switching_costs: Sequence[float]) -> FloatArray:
    """Return, by run, measure, learner and round: regret at each cost, then `BESIDE_REGRET`."""
    ranking = np.minimum(result.ranking_rounds[:, :, np.newaxis], result.rounds)
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        regrets = [result.regrets(switching_cost=cost) for cost in switching_costs]
    measures = np.stack([*regrets, result.shares(), result.switches, ranking], axis=1)
    largest = np.abs(measures).max(initial=0.0)
    if not largest <= LARGEST_VALUE:
        raise InputError(
            "regrets",
            f"must be at most {LARGEST_VALUE:g}",
            f"{largest:g} with switching costs "
            f"{', '.join(f'{cost:g}' for cost in switching_costs)}; make them smaller",
        )
    return measures + 0.0  # no negative zeros, whose order is not defined


def _push(segments: tuple[Segment, ...], last: Segment) -> tuple[Segment, ...]:
    """Return segments with one more at the end, joined with those before it as far as they go."""
    if last.moments is None and len(last.runs) == BLOCK_RUNS:
        last = last.summarise()
    if segments and segments[-1].pairs_with(last):
        return _push(segments[:-1], segments[-1].join(last))
    return (*segments, last)
