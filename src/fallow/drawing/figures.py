"""Figures of finished numbers; with `arms` and `studies/draw.py` the only user of matplotlib."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, cast

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.drawing.colours import colour_of, line_of
from fallow.extras import needed_by
from fallow.intervals import Estimate
from fallow.text import brief, span_in_words, visible

with needed_by("a figure"):
    import matplotlib as mpl
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 12
"""Arms whose recovery is drawn."""
FEWEST_PLAYS = 10
"""A mean of fewer plays is not drawn: it says nothing, and hides what the others say."""

LIGHT: dict[str, Any] = {
    "svg.hashsalt": "fallow",
    "savefig.facecolor": "#ffffff",
}


class Picture(Figure):
    """A figure that a notebook shows, also where pyplot was never imported."""

    def _repr_png_(self) -> bytes:
        return image(lambda: self, "png", {})


@dataclass(frozen=True)
class Mark:
    """A value from elsewhere to compare a curve with: a point and its range."""

    curve: str
    x: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves with bands over one axis.

    Attributes
    ----------
    title
        Above the panel.
    x
        Where the curves have values.
    curves
        By name.
    marks
        Published values.
    verticals
        Places on the x axis with a dotted line.
    note
        Below the title: what the dotted lines point out.
    """

    title: str
    x: FloatArray | IntArray
    curves: Mapping[str, Estimate]
    marks: Sequence[Mark] = ()
    verticals: Sequence[float] = ()
    note: str = ""


def curve_figure(
    panels: Sequence[Panel],
    title: str,
    x_label: str,
    y_label: str,
    x_scale: str = "log",
    stacked: bool = False,
) -> Figure:
    """Draw panels of mean curves, 95 % bands, and marks for published values.

    Parameters
    ----------
    panels
        What to draw.
    title, x_label, y_label
        Of the whole figure, and what the axes mean.
    x_scale
        "log", "linear", or "symlog" for values on both sides of 0.
    stacked
        Whether panels stand above each other, as on a telephone, and not beside each other.
    """
    rows, columns = (len(panels), 1) if stacked else (1, len(panels))
    width = 3.7 if stacked else max(4.4 * columns, 6.4)
    figure = Picture(figsize=(width, 0.7 + 3.3 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, panel in zip(grid.ravel(), panels, strict=True):
        _draw(axes, panel)
        axes.set_xscale(x_scale, **_scale_options(x_scale, panel.x))
        axes.set_xlabel(plain_text(x_label))
    for axes in grid[:, 0]:
        axes.set_ylabel(y_label)
    _draw_legend(figure)
    figure.suptitle(plain_text(title), fontsize="medium", wrap=True)
    return figure


def bars_and_dots_figure(
    bars: Mapping[str, float],
    dots: Mapping[str, Mapping[str, float]],
    bars_label: str,
    dots_label: str,
    title: str,
) -> Figure:
    """Draw one bar a name on the left; on the right a dot a name in each of several series."""
    names = list(dict.fromkeys(name for series in dots.values() for name in series))
    rows = max(len(bars), len(names), 4)
    figure = Picture(figsize=(9, 1.6 + 0.26 * rows), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.barh([plain_text(name) for name in bars], list(bars.values()), color=colour_of(0))
    left.set_xlabel(bars_label)
    for place, (label, series) in enumerate(dots.items()):
        height = [names.index(name) for name in series]
        size = 9 - 4 * place  # so that none hides another
        colour = colour_of(place + 1)
        right.plot(list(series.values()), height, "D", ms=size, color=colour, label=label)
    right.set_yticks(range(len(names)), [plain_text(name) for name in names])
    right.set_xlabel(dots_label)
    right.set_xlim(left=0)
    right.grid(axis="x", alpha=0.3)
    right.legend(
        frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, 1.12), ncols=2
    )
    for axes in (left, right):
        axes.invert_yaxis()
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(plain_text(title), fontsize="medium")
    return figure


def recovery_figure(
    names: Sequence[str],
    spans: FloatArray,
    fitted: FloatArray,
    means: FloatArray,
    half_widths: FloatArray,
    plays: FloatArray,
    unit: str,
) -> Figure:
    """Draw how each arm recovers: fitted means as a line, its plays' own with 95 % intervals.

    Parameters
    ----------
    names
        Of the arms; those with the most plays are drawn.
    spans
        What the delays stand for; the last is for rested arms.
    fitted, means, half_widths, plays
        By arm and delay.
    unit
        Of the spans.
    """
    total = plays.sum(axis=1)
    shown = np.sort(np.argsort(-total, kind="stable")[:MOST_PANELS])
    columns = min(len(shown), 4)
    rows = math.ceil(len(shown) / columns)
    figure = Picture(figsize=(max(2.6 * columns, 5.2), 2.1 * rows + 0.9), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    places = np.arange(len(spans))
    ticks = np.unique(np.linspace(0, len(spans) - 1, min(len(spans), 5)).astype(int))
    labels = [*(span_in_words(span, unit, brief=True) for span in spans[ticks[:-1]]), "rested"]
    for axes, arm in zip(grid, shown, strict=False):
        heard = (plays[arm] >= FEWEST_PLAYS) & np.isfinite(half_widths[arm])
        axes.errorbar(
            places[heard],
            means[arm, heard],
            half_widths[arm, heard],
            fmt="o",
            markersize=3,
            linewidth=1,
            color=mpl.rcParams["text.color"],
            label=f"mean of {FEWEST_PLAYS} plays or more, 95 % interval",
        )
        axes.plot(places, fitted[arm], color=colour_of(int(arm)), linewidth=2, label="fitted")
        name = plain_text(brief(names[arm]))
        axes.set_title(f"{name}, {total[arm]:,.0f} plays", fontsize="small")
        axes.set_xticks(ticks, labels, fontsize="small")
        axes.tick_params(labelbottom=True)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in grid[len(shown) :]:
        axes.set_visible(False)
    what = "time" if unit == "seconds" else unit
    figure.supxlabel(f"{what} since the arm was last played", fontsize="medium")
    figure.supylabel("reward", fontsize="medium")
    keys = grid[0].get_legend_handles_labels()
    figure.legend(*keys, loc="outside upper right", ncols=2, frameon=False, fontsize="small")
    if len(shown) < len(names):
        left_out = f"{len(shown)} arms with the most plays; {len(names) - len(shown):,} not drawn"
        figure.suptitle(left_out, fontsize="medium", x=0.01, ha="left")
    return figure


def _scale_options(scale: str, x: FloatArray | IntArray) -> dict[str, float]:
    """Return from where on a symlog axis is logarithmic: the smallest distance from 0."""
    return {"linthresh": float(np.abs(x[x != 0]).min(initial=1))} if scale == "symlog" else {}


def plain_text(text: str) -> str:
    """Return text that is drawn as it stands, without formulas between dollar signs.

    Control characters are written out: fonts and XML have none.
    """
    return visible(text).replace("$", r"\$")


def _draw(axes: Axes, panel: Panel) -> None:
    for place, (name, curve) in enumerate(panel.curves.items()):
        colour, line = colour_of(place), line_of(place)
        axes.plot(panel.x, curve.mean, color=colour, linestyle=line, label=plain_text(name))
        low, high = curve.mean - curve.half_width, curve.mean + curve.half_width
        axes.fill_between(panel.x, low, high, color=colour, alpha=0.2, linewidth=0)
        for mark in panel.marks:
            if mark.curve == name:
                reach = [[mark.value - mark.low], [mark.high - mark.value]]
                label = f"{plain_text(name)}, as published"
                # Beside the curve's end, so that marks do not hide each other.
                beside = mark.x * 1.1 ** (place + 1)
                axes.errorbar(beside, mark.value, reach, fmt="D", color=colour, label=label)
    for x in panel.verticals:
        axes.axvline(x, color="#808080", linewidth=1, linestyle=":")
    lowest, highest = axes.get_ylim()
    if lowest < 0 < highest:
        axes.axhline(0, color="#808080", linewidth=0.8)
    lines = filter(None, [panel.title, panel.note])
    axes.set_title("\n".join(map(plain_text, lines)), fontsize="small", wrap=True)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_legend(figure: Figure) -> None:
    """Draw one legend for all panels, below them, so that it hides nothing."""
    keys: dict[str, Artist] = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        keys.update(zip(labels, handles, strict=True))
    inches = 0.6 + 0.07 * max(map(len, keys))  # of a key and its label
    columns = max(1, int(figure.get_figwidth() / inches))
    figure.set_figheight(figure.get_figheight() + 0.18 * math.ceil(len(keys) / columns))
    figure.legend(
        list(keys.values()),
        list(keys),
        loc="outside lower center",
        ncols=min(columns, len(keys)),
        frameon=False,
        fontsize="small",
    )


def image(draw: Callable[[], Figure], kind: str, theme: Mapping[str, Any] = LIGHT) -> bytes:
    """Return a figure as a PNG, SVG or PDF file, the same bytes for the same numbers."""
    buffer = BytesIO()
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    with mpl.rc_context(cast(Any, theme)):
        draw().savefig(buffer, format=kind, dpi=150, metadata=metadata)
    return buffer.getvalue()
