"""Figures in which each arm has its colour: how means recover, and what is pulled when."""

from collections.abc import Mapping, Sequence

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.drawing.colours import colour_of, line_of, marker_of
from fallow.drawing.figures import Picture, plain_text
from fallow.extras import needed_by
from fallow.text import brief

with needed_by("a figure"):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

MOST_CURVES = 20
"""Arms whose means are drawn."""
MOST_PULLS = 60
"""Pulls of a cycle or a schedule that are drawn."""
MOST_ROUNDS = 40
"""Rounds that are drawn of the beginning of a run, and of its end."""
MOST_MARKS = 12
"""Marks on a curve."""


def means_figure(names: Sequence[str], means: FloatArray) -> Figure:
    """Draw the mean of each arm over its delay; of many arms those that pay most when rested.

    Parameters
    ----------
    names
        Of the arms.
    means
        By arm and delay; the last column is for rested arms.
    """
    shown = np.sort(np.argsort(-means[:, -1], kind="stable")[:MOST_CURVES]).tolist()
    delays = np.arange(1, means.shape[1] + 1)
    figure = Picture(figsize=(6.4, max(3.6, 1 + 0.2 * len(shown))), layout="constrained")
    axes = figure.subplots()
    for arm in shown:
        axes.plot(
            delays,
            means[arm],
            color=colour_of(arm),
            linestyle=line_of(arm),
            marker=marker_of(arm),
            markersize=4,
            markevery=-(-len(delays) // MOST_MARKS),
            label=plain_text(brief(names[arm])),
        )
    ticks = np.unique(np.linspace(1, len(delays), min(len(delays), 8)).astype(int)).tolist()
    axes.set_xticks(ticks, [*map(str, ticks[:-1]), "rested"])
    axes.set(xlabel="rounds since the last pull", ylabel="expected reward", ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize="small", handlelength=3)
    if len(shown) < len(names):
        title = f"The {len(shown)} of {len(names):,} arms that pay most when rested"
        axes.set_title(title, fontsize="small")
    return figure


def pulls_figure(names: Mapping[int, str], pulls: Sequence[int], title: str, axis: str) -> Figure:
    """Draw which arm is pulled when, a row an arm; of many pulls the first.

    Parameters
    ----------
    names
        By arm, of those that are pulled.
    pulls
        Arms in the order of their pulls.
    title
        What they are.
    axis
        What the pulls are counted by.
    """
    shown = np.array(pulls[:MOST_PULLS])
    if len(shown) < len(pulls):
        title += f"; the first {len(shown)} of {len(pulls):,} pulls"
    rows = np.unique(shown).tolist()
    figure = Picture(figsize=(6.4, 1.3 + 0.24 * max(len(rows), 2)), layout="constrained")
    _draw_pulls(figure.subplots(), names, rows, shown, 1, axis)
    figure.suptitle(plain_text(title), fontsize="medium")
    return figure


def run_figure(
    rounds: IntArray,
    averages: FloatArray,
    names: Sequence[str],
    first: Sequence[int] | IntArray,
    last: Sequence[int] | IntArray,
) -> Figure:
    """Draw what a run earned on average up to each round, and below it what it pulled.

    Parameters
    ----------
    rounds, averages
        Expected reward of all pulls up to a round, divided by their number.
    names
        Of the arms.
    first, last
        The arms of the first rounds, and of the last ones if these are others; none where they are
        not known.
    """
    rows = np.unique([*first, *last]).astype(int).tolist()
    windows = [
        (axis, start, np.array(arms))
        for axis, start, arms in (
            ("round", 1, first),
            ("rounds before the end", 1 - len(last), last),
        )
        if len(arms)
    ]
    heights = [3, *[0.9 + 0.2 * max(len(rows), 3)] * bool(windows)]
    figure = Picture(figsize=(7.2, sum(heights)), layout="constrained")
    grid = figure.add_gridspec(len(heights), max(len(windows), 1), height_ratios=heights)
    curve = figure.add_subplot(grid[0, :])
    curve.plot(rounds, averages, color=colour_of(0), marker="o" if len(rounds) == 1 else "")
    curve.set(xscale="log", xlabel="round", ylabel="expected reward\na round, so far")
    curve.spines[["top", "right"]].set_visible(False)
    for place, (axis, start, arms) in enumerate(windows):
        axes = figure.add_subplot(grid[1, place])
        _draw_pulls(axes, dict(enumerate(names)), rows, arms, start, axis)
        axes.tick_params(labelleft=place == 0)
    return figure


def _draw_pulls(
    axes: Axes,
    names: Mapping[int, str],
    rows: Sequence[int],
    pulls: IntArray,
    start: int,
    axis: str,
) -> None:
    """Draw a box for each pull, in the row of its arm."""
    for row, arm in enumerate(rows):
        places = np.flatnonzero(pulls == arm)
        boxes = [(start + place - 0.45, 0.9) for place in places.tolist()]
        axes.broken_barh(boxes, (row - 0.4, 0.8), facecolors=colour_of(arm))
    axes.set_yticks(range(len(rows)), [plain_text(brief(names[arm])) for arm in rows])
    axes.set(xlim=(start - 0.6, start + len(pulls) - 0.4), ylim=(len(rows) - 0.4, -0.6))
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=[1, 2, 5, 10]))
    axes.set_xlabel(axis)
    axes.spines[["top", "right"]].set_visible(False)
