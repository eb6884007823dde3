"""What a chart shows, in words and numbers, for those who cannot see it."""

from __future__ import annotations

from collections.abc import Iterator

from fallow.arrays import FloatArray, IntArray
from fallow.drawing.figures import Panel
from fallow.studies.draw import Chart

STANDS_OUT = 0.05
"""The share of a curve's range by which an extreme must exceed its ends to be told."""


def describe(chart: Chart) -> str:
    """Return sentences that say where every curve begins and ends, and what is marked."""
    facts = [_describe_panel(panel) for panel in chart.panels]
    return " ".join(map(_sentence, [f"the chart shows {chart.y_label} by {chart.x_label}", *facts]))


def _describe_panel(panel: Panel) -> str:
    x = f"from {_number(panel.x[0])} to {_number(panel.x[-1])}"
    facts = [_follow(name, panel.x, curve.mean) for name, curve in panel.curves.items()]
    facts += _list_marks(panel)
    facts += filter(None, [panel.note])
    return f"{', '.join(filter(None, [panel.title, x]))}: {'; '.join(facts)}"


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _follow(name: str, x: FloatArray | IntArray, means: FloatArray) -> str:
    """Say how a curve goes on, and where it is well above or below both of its ends."""
    first, last = means[0], means[-1]
    low, high = means.argmin(), means.argmax()
    margin = STANDS_OUT * (means[high] - means[low])
    words = [f"{name} goes from {_number(first)} to {_number(last)}"]
    if means[high] > max(first, last) + margin:
        words.append(f"highest {_number(means[high])} at {_number(x[high])}")
    if means[low] < min(first, last) - margin:
        words.append(f"lowest {_number(means[low])} at {_number(x[low])}")
    return ", ".join(words)


def _list_marks(panel: Panel) -> Iterator[str]:
    for mark in panel.marks:
        band = f"{_number(mark.low)} to {_number(mark.high)}"
        yield f"published for {mark.curve}: {_number(mark.value)} ({band})"


def _number(value: float) -> str:
    """Return a number to three digits, or whole where it has more."""
    rounded = round(float(value), 6) + 0.0  # so that nothing is -0
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:.3g}"
