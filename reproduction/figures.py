"""Figures of the reproduction alone: the paper's Figure 1, and those of the tournament."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
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


def heat_figure(learners: Sequence[str], families: Sequence[str], shares: FloatArray) -> Figure:
    """Draw the share of the optimum that each learner (row) earned on each family (column)."""
    size = 3 + 0.62 * len(families), 1.8 + 0.3 * len(learners)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    # Cividis reads the same for colour-blind readers, and in print.
    picture = axes.imshow(shares, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(families)), list(map(plain_text, families)), rotation=40, ha="right")
    axes.set_yticks(range(len(learners)), list(map(plain_text, learners)))
    for row, column in np.ndindex(shares.shape):
        share = shares[row, column]
        if not math.isnan(share):
            colour = "white" if share < 0.55 else "black"
            axes.text(
                column,
                row,
                f"{share:.2f}",
                ha="center",
                va="center",
                color=colour,
                fontsize="small",
            )
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


def transition_figure(totals: Mapping[str, FloatArray], title: str) -> Figure:
    """Draw what a play of each ranking policy earns in total after a play of another (Figure 1).

    Parameters
    ----------
    totals
        By the name of an instance, its `transition_totals`.
    title
        Of the whole figure.
    """
    figure = Figure(figsize=(5.2 * len(totals), 4.3), layout="constrained")
    row = np.atleast_1d(figure.subplots(1, len(totals)))
    for axes, (name, table) in zip(row, totals.items(), strict=True):
        _draw_graph(axes, table)
        axes.set_title(name, fontsize="small")
    figure.suptitle(title, fontsize="medium")
    return figure


def _draw_graph(axes: Axes, totals: FloatArray) -> None:
    """Draw policies on a circle, an arrow for each pair, a loop for each policy."""
    count, radius = len(totals), 0.17
    angles = (math.pi if count == 2 else math.pi / 2) - 2 * math.pi * np.arange(count) / count
    centres = np.column_stack([np.cos(angles), np.sin(angles)])
    for place, centre in enumerate(centres):
        colour = colour_of(place)
        axes.add_patch(Circle(centre, radius, facecolor="none", edgecolor=colour, linewidth=2))
        axes.annotate(rf"$\pi_{place + 1}$", centre, ha="center", va="center", fontsize="large")
        across = np.array([-centre[1], centre[0]]) * 0.6
        start, end = (centre + radius * (0.8 * centre + side) for side in (-across, across))
        _arrow(axes, start, end, 2.5, colour, f"{totals[place, place]:.3f}")
        for other, target in enumerate(centres):
            if other != place:
                way = (target - centre) / np.linalg.norm(target - centre)
                label = f"{totals[place, other]:.3f}"
                _arrow(axes, centre + way * radius, target - way * radius, 0.25, colour, label)
    axes.set(xlim=(-1.7, 1.7), ylim=(-1, 1.5), aspect="equal")
    axes.axis("off")


def _arrow(
    axes: Axes, start: FloatArray, end: FloatArray, bend: float, colour: str, label: str
) -> None:
    """Draw a bent arrow with a label on it."""
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
    paper = {"boxstyle": "round,pad=0.15", "fc": mpl.rcParams["axes.facecolor"], "ec": "none"}
    axes.annotate(label, tuple(middle), ha="center", va="center", color=colour, bbox=paper)
