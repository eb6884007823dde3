"""Figures of the reproduction alone: the paper's Figure 1, and those of the tournament."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch

from fallow.arrays import FloatArray
from fallow.drawing.colours import colour_of, line_of
from fallow.drawing.figures import plain_text

DARK: dict[str, Any] = {
    "svg.hashsalt": "fallow",
    "savefig.facecolor": "#161a1d",
    "axes.facecolor": "#161a1d",
    "axes.edgecolor": "#c8ccd0",
    "axes.labelcolor": "#e6e8ea",
    "xtick.color": "#c8ccd0",
    "ytick.color": "#c8ccd0",
    "text.color": "#e6e8ea",
}
HEAT = "cividis"
"""The colour map of shares, which reads the same for colour-blind readers, and in print."""


def heat_colours(share: float) -> tuple[str, str]:
    """Return the colour of a share between 0 and 1, and one that is legible on it.

    Examples
    --------
    >>> heat_colours(0.0), heat_colours(1.0)
    (('#00224e', 'white'), ('#fee838', 'black'))
    """
    return to_hex(mpl.colormaps[HEAT](share)), "white" if share < 0.47 else "black"


def heat_figure(learners: Sequence[str], families: Sequence[str], shares: FloatArray) -> Figure:
    """Draw the share of the optimum that each learner (row) earned on each family (column)."""
    size = 3 + 0.62 * len(families), 1.8 + 0.3 * len(learners)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    picture = axes.imshow(shares, cmap=HEAT, vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(families)), list(map(plain_text, families)), rotation=40, ha="right")
    axes.set_yticks(range(len(learners)), list(map(plain_text, learners)))
    for row, column in np.ndindex(shares.shape):
        share = float(shares[row, column])
        if not math.isnan(share):
            _, ink = heat_colours(share)
            text = f"{share:.2f}"
            axes.text(column, row, text, ha="center", va="center", color=ink, fontsize="small")
    axes.set_xlabel("family")
    axes.set_ylabel("learner")
    figure.colorbar(picture, label="share of the optimum's reward", fraction=0.03)
    figure.suptitle("The tournament", fontsize="medium")
    return figure


def regret_figure(
    rounds: Sequence[int], curves: Mapping[str, FloatArray], highlighted: Sequence[str], title: str
) -> Figure:
    """Draw the regret of learners over time on log axes.

    Parameters
    ----------
    rounds
        Where the curves have values.
    curves
        Regret by name; what is not above 0 is not drawn.
    highlighted
        The names that stand out and have a place in the legend; all others are thin and grey.
    title
        Above the picture.
    """
    figure = Figure(figsize=(6.4, 4), layout="constrained")
    axes = figure.subplots()
    for name, regret in curves.items():
        if name not in highlighted:
            axes.plot(rounds, _positive(regret), color="#b0b0b0", linewidth=0.6, zorder=1)
    for place, name in enumerate(highlighted):
        line = line_of(place)
        axes.plot(
            rounds,
            _positive(curves[name]),
            color=colour_of(place),
            linestyle=line,
            label=plain_text(name),
            zorder=2,
        )
    axes.set(xscale="log", yscale="log", xlabel="round", ylabel="regret against the optimum")
    axes.legend(frameon=False, fontsize="small")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(plain_text(title), fontsize="medium")
    return figure


def _positive(values: FloatArray) -> FloatArray:
    """Return values with gaps where a log axis has no place for them."""
    return np.where(values > 0, values, math.nan)


def transition_figure(
    totals: Mapping[str, FloatArray], title: str, stacked: bool = False
) -> Figure:
    """Draw what a play of each ranking policy earns in total after a play of another (Figure 1).

    Parameters
    ----------
    totals
        By the name of an instance, its `transition_totals`.
    title
        Of the whole figure.
    stacked
        Whether instances stand above each other, and not beside each other.
    """
    rows, columns = (len(totals), 1) if stacked else (1, len(totals))
    size = (3.7, 5.2) if stacked else (5.2 * columns, 4.3)
    figure = Figure(figsize=size, layout="constrained")
    heights = [np.ptp(_vertical_limits(len(table))) for table in totals.values()]
    options = {"height_ratios": heights} if stacked else {}
    grid = figure.subplots(rows, columns, squeeze=False, gridspec_kw=options).ravel()
    for axes, (name, table) in zip(grid, totals.items(), strict=True):
        _draw_graph(axes, table)
        axes.set_title(name, fontsize="small")
    figure.suptitle(title, fontsize="medium", wrap=True)
    return figure


def _vertical_limits(policies: int) -> tuple[float, float]:
    return (-0.5, 0.7) if policies == 2 else (-1.0, 1.6)


def _draw_graph(axes: Axes, totals: FloatArray) -> None:
    """Draw policies on a circle, an arrow for each pair, a loop for each policy."""
    count, radius = len(totals), 0.17
    angles = (math.pi if count == 2 else math.pi / 2) - 2 * math.pi * np.arange(count) / count
    centres = np.column_stack([np.cos(angles), np.sin(angles)])
    for place, centre in enumerate(centres):
        colour = colour_of(place)
        axes.add_patch(Circle(centre, radius, facecolor="none", edgecolor=colour, linewidth=2))
        axes.annotate(rf"$\pi_{place + 1}$", centre, ha="center", va="center", fontsize="large")
        outwards = np.array([0.0, 1.0]) if count == 2 else centre
        across = np.array([-outwards[1], outwards[0]]) * 0.6
        start, end = (centre + radius * (0.8 * outwards + side) for side in (-across, across))
        _arrow(axes, start, end, 2.5, colour, f"{totals[place, place]:.3f}", outwards)
        for other, target in enumerate(centres):
            if other != place:
                way = (target - centre) / np.linalg.norm(target - centre)
                label = f"{totals[place, other]:.3f}"
                _arrow(axes, centre + way * radius, target - way * radius, 0.25, colour, label)
    axes.set(xlim=(-1.7, 1.7), ylim=_vertical_limits(count), aspect="equal")
    axes.axis("off")


def _arrow(
    axes: Axes,
    start: FloatArray,
    end: FloatArray,
    bend: float,
    colour: str,
    label: str,
    beyond: FloatArray | None = None,
) -> None:
    """Draw a bent arrow with a label on its middle, or `beyond` it in some direction."""
    style = f"arc3,rad={bend}"
    axes.add_patch(
        FancyArrowPatch(
            tuple(start),
            tuple(end),
            connectionstyle=style,
            arrowstyle="-|>",
            mutation_scale=14,
            color=colour,
        )
    )
    # The arrow is a quadratic curve whose control point stands off its middle.
    off = np.array([end[1] - start[1], start[0] - end[0]])
    control = (start + end) / 2 + bend * off
    middle = (start + 2 * control + end) / 4
    shift = np.zeros(2) if beyond is None else beyond * (8 + 12 * abs(beyond[0]))
    paper = {"boxstyle": "round,pad=0.15", "fc": mpl.rcParams["axes.facecolor"], "ec": "none"}
    axes.annotate(
        label,
        tuple(middle),
        xytext=tuple(shift),
        textcoords="offset points",
        ha="center",
        va="center",
        color=colour,
        bbox=paper,
    )
