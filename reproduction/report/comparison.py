"""Published values beside ours: one row for a value, one column for a variant of the experiment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fallow.intervals import format_estimate
from fallow.studies.spec import Published
from fallow.studies.summarize import Curve
from reproduction.report.experiment import Experiment


@dataclass(frozen=True)
class Ours:
    """Our mean regret where a value was published, the half-width of its interval, and a note."""

    published: Published
    mean: float
    half_width: float

    @property
    def agrees(self) -> bool:
        """Whether our mean lies in the published band."""
        return self.published.low <= self.mean <= self.published.high

    @property
    def note(self) -> str:
        """Why our mean lies outside the band; empty where it lies inside."""
        return "" if self.agrees else self.published.note

    @property
    def regret(self) -> str:
        """The mean with its interval, rounded as in a sentence."""
        return format_estimate(self.mean, self.half_width)

    def __str__(self) -> str:
        place = "inside" if self.agrees else "outside"
        return f"{format_estimate(self.mean, self.half_width, ',.1f')}, {place}"


class Variant(NamedTuple):
    """How an experiment was played: the number of runs, and whether rewards were noisy."""

    runs: int
    noise: bool

    def __str__(self) -> str:
        return f"{self.runs:,} runs" + ("" if self.noise else ", no noise")


COMMITTING = "committing"
"""A curve called "pi_low, committing" is that of the nearest reading of pi_low (readings.py)."""


@dataclass(frozen=True)
class Comparison:
    """A published value, and ours by the variant of the experiment.

    Attributes
    ----------
    ours
        Of the learner as the text has it.
    committing
        Of its committing reading; empty for a learner that has none.
    """

    figure: str
    published: Published
    ours: dict[Variant, Ours] = field(default_factory=dict)
    committing: dict[Variant, Ours] = field(default_factory=dict)

    def is_about(self, figure: str, published: Published) -> bool:
        """Tell whether this is the row of a value that some experiment compares with."""
        return (figure, *_value(published)) == (self.figure, *_value(self.published))


class ComparisonTable(NamedTuple):
    """The head and the rows of a table, and the notes that its last column numbers from 1."""

    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    notes: list[str]


def _value(published: Published) -> tuple[str | float, ...]:
    return (
        published.learner,
        published.switching_cost,
        published.round,
        published.value,
        published.low,
        published.high,
    )


def compare_with_paper(results: Iterable[Experiment]) -> list[Comparison]:
    """Return every published value beside ours."""
    rows: list[Comparison] = []
    for result in results:
        figure, _, _ = result.spec.section.partition(":")
        for published in result.spec.published:
            curves = {
                curve.learner: curve
                for curve in result.curves
                if curve.switching_cost == published.switching_cost
            }
            curve = curves[published.learner]
            variant = Variant(curve.runs, result.spec.rewards != "none")
            free = (
                row for row in rows if row.is_about(figure, published) and variant not in row.ours
            )
            row = next(free, None)
            if row is None:
                row = Comparison(figure, published)
                rows.append(row)
            row.ours[variant] = _measure(curve, published)
            reading = curves.get(f"{published.learner}, {COMMITTING}")
            if reading is not None:
                row.committing[variant] = _measure(reading, published)
    return rows


def _measure(curve: Curve, published: Published) -> Ours:
    place = curve.rounds.tolist().index(published.round)
    mean, half_width = curve.regret.mean[place], curve.regret.half_width[place]
    return Ours(published, float(mean), float(half_width))


def count_inside(comparisons: Sequence[Comparison]) -> str:
    """Return a sentence that counts by variant for how many published values ours agree."""
    variants = _list_variants(comparisons)
    printed = [_count([row.ours for row in comparisons], variant) for variant in variants]
    readings = [{**row.ours, **row.committing} for row in comparisons]
    committing = [_count(readings, variant) for variant in variants]
    return (
        f"Of the {len(comparisons)} published values our mean lies inside the band for "
        f"{', '.join(printed)}. With the committing reading of pi_low, where it was played, it "
        f"does for {', '.join(committing)}."
    )


def _count(ours: Sequence[Mapping[Variant, Ours]], variant: Variant) -> str:
    return f"{sum(variant in each and each[variant].agrees for each in ours)} ({variant})"


def _list_variants(comparisons: Sequence[Comparison]) -> list[Variant]:
    return list(dict.fromkeys(variant for row in comparisons for variant in row.ours))


def tabulate(comparisons: Sequence[Comparison]) -> ComparisonTable:
    """Return the comparisons as a table in which each reason is given once."""
    variants = _list_variants(comparisons)
    found = (ours.note for row in comparisons for ours in row.ours.values())
    notes = list(dict.fromkeys(note for note in found if note))
    head = ("figure", "learner", "cost", "T", "published (band)", *map(str, variants), "note")
    rows = []
    for row in comparisons:
        published = row.published
        numbers = sorted({notes.index(ours.note) + 1 for ours in row.ours.values() if ours.note})
        rows.append(
            (
                row.figure,
                published.learner,
                f"{published.switching_cost:g}",
                f"{published.round:,}",
                f"{published.value:g} ({published.low:g} to {published.high:g})",
                *(str(row.ours.get(variant, "")) for variant in variants),
                ", ".join(map(str, numbers)),
            )
        )
        if row.committing:
            name = f"{published.learner}, {COMMITTING}"
            regrets = (str(row.committing.get(variant, "")) for variant in variants)
            rows.append((row.figure, name, *rows[-1][2:4], "", *regrets, ""))
    return ComparisonTable(head, rows, notes)
