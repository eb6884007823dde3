"""Drawing curves and points of measured times, with a legend beside them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.figure import Figure

from fallow.drawing.colours import colour_of, line_of, marker_of
from fallow.drawing.figures import image


@dataclass(frozen=True)
class Axes:
    """A panel: its labels, and by name the places and values of its curves."""

    title: str
    x_label: str
    y_label: str
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]]


def log_log(panels: Sequence[Axes], names: Sequence[str]) -> bytes:
    """Return an SVG file of curves on logarithmic axes; a name looks the same in every panel."""

    def draw() -> Figure:
        figure = Figure(figsize=(2.4 + 4.4 * len(panels), 4.6), layout="constrained")
        places = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, panel in zip(places, panels, strict=True):
            for name, (x, y) in panel.curves.items():
                look = names.index(name)
                axes.plot(
                    x,
                    y,
                    color=colour_of(look),
                    linestyle=line_of(look),
                    marker=marker_of(look),
                    markersize=3,
                    label=name,
                )
            axes.set(xscale="log", yscale="log", title=panel.title)
            axes.set(xlabel=panel.x_label, ylabel=panel.y_label)
            axes.spines[["top", "right"]].set_visible(False)
        handles: dict[str, Artist] = {}
        for axes in places:
            artists, labels = axes.get_legend_handles_labels()
            handles |= dict(zip(labels, artists, strict=True))
        shown = [name for name in names if name in handles]
        figure.legend(
            [handles[name] for name in shown],
            shown,
            loc="outside right center",
            frameon=False,
            fontsize="small",
        )
        return figure

    return _svg(draw)


def scatter(
    points: Mapping[str, tuple[float, float]], bold: Sequence[str], x_label: str, y_label: str
) -> bytes:
    """Return an SVG file of named points over a logarithmic axis."""

    def draw() -> Figure:
        figure = Figure(figsize=(7.2, 4.2), layout="constrained")
        axes = figure.subplots()
        for place, (name, (x, y)) in enumerate(sorted(points.items(), key=lambda item: item[1])):
            beside = (6, 4) if place % 2 else (6, -11)  # above and below in turn, to keep apart
            colour = colour_of(0 if name in bold else 1)
            axes.plot(x, y, "o", color=colour)
            axes.annotate(
                name, (x, y), beside, textcoords="offset points", color=colour, fontsize="small"
            )
        axes.set(xscale="log", xlabel=x_label, ylabel=y_label, ylim=(0, 1.05))
        axes.margins(x=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        return figure

    return _svg(draw)


def _svg(draw: Callable[[], Figure]) -> bytes:
    return image(draw, "svg")
