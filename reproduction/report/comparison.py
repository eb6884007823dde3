"""Published values beside ours: one row for a value, one column for a variant of the experiment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fallow.intervals import format_estimate
from fallow.studies.spec import Published, Spec
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

    def __str__(self) -> str:
        place = "inside" if self.agrees else "outside"
        return f"{format_estimate(self.mean, self.half_width, ',.1f')}, {place}"


@dataclass(frozen=True)
class Comparison:
    """A published value, and ours by the variant of the experiment."""

    figure: str
    published: Published
    ours: dict[str, Ours] = field(default_factory=dict)

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
            curve = _find_curve(result.curves, published)
            variant = _name_variant(result.spec, curve)
            free = (
                row for row in rows if row.is_about(figure, published) and variant not in row.ours
            )
            row = next(free, None)
            if row is None:
                row = Comparison(figure, published)
                rows.append(row)
            row.ours[variant] = _measure(curve, published)
    return rows


def _find_curve(curves: Sequence[Curve], published: Published) -> Curve:
    (found,) = [
        curve
        for curve in curves
        if curve.learner == published.learner and curve.switching_cost == published.switching_cost
    ]
    return found


def _measure(curve: Curve, published: Published) -> Ours:
    place = curve.rounds.tolist().index(published.round)
    mean, half_width = curve.regret.mean[place], curve.regret.half_width[place]
    return Ours(published, float(mean), float(half_width))


def _name_variant(spec: Spec, curve: Curve) -> str:
    noise = ", no noise" if spec.rewards == "none" else ""
    return f"{curve.runs:,} runs{noise}"


def tabulate(comparisons: Sequence[Comparison]) -> ComparisonTable:
    """Return the comparisons as a table in which each reason is given once."""
    variants = list(dict.fromkeys(variant for row in comparisons for variant in row.ours))
    found = (ours.note for row in comparisons for ours in row.ours.values())
    notes = list(dict.fromkeys(note for note in found if note))
    head = ("figure", "learner", "cost", "T", "published (band)", *variants, "note")
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
    return ComparisonTable(head, rows, notes)
