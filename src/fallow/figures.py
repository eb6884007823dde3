"""Drawing finished numbers; the only place that imports matplotlib."""

from collections.abc import Mapping

import matplotlib as mpl
from matplotlib.figure import Figure

from fallow.arrays import IntArray
from fallow.replicate import Estimate

# Okabe and Ito's colours, which stay distinct for colour-blind readers; line styles for print.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
LINES = ("-", "--", "-.", ":")


def regret_figure(
    rounds: IntArray, curves: Mapping[str, Estimate], title: str, label: str
) -> Figure:
    """Draw mean regret with 95 % bands over a logarithmic axis of rounds."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for place, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[place % len(COLOURS)]
        line = LINES[place % len(LINES)]
        axes.plot(rounds, curve.mean, color=colour, linestyle=line, label=name)
        low, high = curve.mean - curve.half_width, curve.mean + curve.half_width
        axes.fill_between(rounds, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_xscale("log")
    axes.axhline(0, color="#999999", linewidth=0.8)
    axes.set_xlabel("round t")
    axes.set_ylabel(label)
    axes.set_title(title)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def image(figure: Figure, kind: str) -> bytes:
    """Return the figure as a PNG or SVG file, the same bytes for the same figure."""
    from io import BytesIO

    buffer = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "fallow"}):
        figure.savefig(
            buffer, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else {}
        )
    return buffer.getvalue()
