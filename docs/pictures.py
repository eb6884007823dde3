"""The pictures of pages, drawn by the build of the site. They follow the reader's colour scheme.

`python -m docs.pictures` draws them into `docs/pictures`, for those who read the pages as files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import fallow
from docs.fences import read_fences
from fallow.drawing.colours import colour_of, ink_on, line_of
from fallow.drawing.figures import LIGHT, image

INK = "#2b2b2b"
"""Lines and letters where it is light."""
IN_THE_DARK = f"""<style>@media (prefers-color-scheme: dark) {{
[style*="fill: {INK}"] {{ fill: #dedede !important }}
[style*="stroke: {INK}"] {{ stroke: #dedede !important }}
}}</style>"""
INKED = ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color")
THEME: dict[str, Any] = {
    **LIGHT,
    **dict.fromkeys(INKED, INK),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9,
    "savefig.transparent": True,
}
WIDTH = 4.6
"""Inches; letters can still be read on a phone."""
SONGS = fallow.Instance.b2dep(
    baselines=[0.9, 0.8, 0.5],
    delays=[3, 2, 1],
    decay=fallow.decay.geometric(0.7),
    names=["hymn", "waltz", "march"],
)


def svg(name: str) -> str:
    """Return the picture of a name, one of `PICTURES`."""
    drawn = image(PICTURES[name], "svg", THEME).decode()
    return drawn.replace("<defs>", f"{IN_THE_DARK}<defs>", 1)


def songs() -> Figure:
    """Draw how songs recover, and the rotation that is best for them."""
    figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    above, below = figure.subplots(2, 1, height_ratios=[3, 1])
    places = np.arange(1, SONGS.max_delay + 2)
    for arm, means in enumerate(SONGS.means):
        above.plot(places, means, marker="o", linestyle=line_of(arm), color=colour_of(arm))
        above.annotate(SONGS.names[arm], (places[-1] + 0.08, means[-1]), va="center")
    above.set_xticks(places, [*(f"{delay}" for delay in places[:-1]), "rested"])
    above.set_xlabel("rounds since the song was last played")
    above.set_ylabel("what it pays")
    above.set_xlim(right=places[-1] + 0.5)
    above.set_ylim(0, 1)
    draw_strip(below, SONGS, fallow.plan(SONGS).cycle * 2)
    return figure


def delays() -> Figure:
    """Draw some rounds with the delay of each pull."""
    figure = Figure(figsize=(WIDTH, 1.1), layout="constrained")
    draw_strip(figure.subplots(), SONGS, [0, 1, 0, 2, 2, 1, 0, 1])
    return figure


def greedy() -> Figure:
    """Draw what greedy plays beside the best plan."""
    means = fallow.catalog.greedy_trap().means
    trap = fallow.Instance(means, names=["hit", "filler"])
    plans = {"greedy": fallow.planners.greedy(trap), "best": fallow.optimal(trap)}
    return compared(trap, {name: plan.cycle for name, plan in plans.items()})


def order() -> Figure:
    """Draw the same songs, equally often, in two orders."""
    return compared(SONGS, {"march twice in a row": (0, 2, 2, 1), "march in between": (2, 0, 2, 1)})


def planners() -> Figure:
    """Draw the gain of every planner on one instance, and what no policy can exceed."""
    instance = fallow.catalog.figure2(seed=0)
    gains = {name: find(instance).gain for name, find in fallow.planners.HEURISTICS.items()}
    gains["optimal"] = fallow.optimal(instance).gain
    figure = Figure(figsize=(WIDTH, 2.6), layout="constrained")
    axes = figure.subplots()
    bars = axes.barh(list(gains), list(gains.values()), color=colour_of(0), height=0.6)
    axes.bar_label(bars, fmt="%.3f", padding=-32, color=ink_on(colour_of(0)))
    quick = fallow.upper_bound(instance, effort=0)
    axes.axvline(quick, color=colour_of(1), linestyle=line_of(1))
    axes.set_title(f"the quick upper bound: {quick:.3f}", color=colour_of(1), loc="right", size=9)
    axes.set_xlabel("gain, reward a round")
    axes.set_xlim(0, 1)
    axes.invert_yaxis()
    return figure


def plotted(page: str, name: str) -> Callable[[], Figure]:
    """Return what draws an object of a page, made by the page's own code."""

    def draw() -> Figure:
        names: dict[str, Any] = {}
        text = (Path(__file__).parent / page).read_text(encoding="utf-8")
        blocks = (block for block, _ in read_fences(text) if block.language == "python")
        with TemporaryDirectory() as folder, chdir(folder), redirect_stdout(StringIO()):
            while name not in names:
                exec(next(blocks).text, names)
        figure: Figure = names[name].plot()
        return figure

    return draw


def compared(instance: fallow.Instance, cycles: dict[str, tuple[int, ...]]) -> Figure:
    """Draw cycles beneath each other with their gains."""
    figure = Figure(figsize=(WIDTH, 1.3 * len(cycles)), layout="constrained")
    for axes, (name, cycle) in zip(figure.subplots(len(cycles), 1), cycles.items(), strict=True):
        draw_strip(axes, instance, cycle * (8 // len(cycle)))
        earned = fallow.gain(instance, cycle)
        axes.set_title(f"{name}: {earned:.3f} a round in the long run", loc="left", size=9)
    return figure


def draw_strip(axes: Axes, instance: fallow.Instance, pulls: Sequence[int]) -> None:
    """Draw pulls from rested arms, each a box with its arm; beneath are its delay and its mean."""
    last = dict.fromkeys(set(pulls), -instance.max_delay - 1)
    for place, arm in enumerate(pulls):
        delay = min(place - last[arm], instance.max_delay + 1)
        colour = colour_of(arm)
        axes.bar(place, 1, width=0.94, color=colour)
        axes.text(
            place, 0.5, instance.names[arm], ha="center", va="center", color=ink_on(colour_of(arm))
        )
        rest = "rested" if delay > instance.max_delay else f"after {delay}"
        pays = f"{instance.means[arm, delay - 1]:.2f}"
        axes.text(place, -0.1, f"{rest}\n{pays}", ha="center", va="top", size=8.5)
        last[arm] = place
    axes.set_xlim(-0.5, len(pulls) - 0.5)
    axes.set_ylim(-1, 1)
    axes.set_axis_off()


PICTURES = {
    **{draw.__name__: draw for draw in (songs, delays, greedy, order, planners)},
    "playlist-songs": plotted("tutorials/playlist.md", "songs"),
    "playlist-best": plotted("tutorials/playlist.md", "best"),
    "learn-run": plotted("tutorials/learn.md", "run"),
    "recovery": plotted("guides/logs.md", "found"),
}
FOLDER = Path(__file__).parent / "pictures"

if __name__ == "__main__":
    for name in PICTURES:
        (FOLDER / f"{name}.svg").write_text(svg(name), encoding="utf-8")
