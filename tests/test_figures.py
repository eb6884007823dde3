"""Figures show the numbers that were measured, where they belong."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from fallow.drawing.figures import LIGHT, Panel, curve_figure, image
from fallow.intervals import Estimate
from fallow.studies.draw import crossings, draw
from fallow.studies.read import load_spec
from fallow.studies.run import run
from fallow.studies.summarize import summarize
from reproduction.figures import DARK
from reproduction.report.content import Content
from reproduction.report.page import figure_1

ROOT = Path(__file__).parent.parent
EXPERIMENTS = ROOT / "reproduction" / "experiments"


@pytest.mark.parametrize(
    "name",
    [
        "figure2",
        "figure3",
        "further-gap",
        "further-costs-figure2",
        "further-ranking-class",
    ],
)
def test_each_kind_of_figure_is_drawn_in_both_themes(tmp_path: Path, name: str) -> None:
    spec = replace(load_spec(EXPERIMENTS / f"{name}.toml"), runs=2, horizon=1000)
    run(spec, tmp_path)
    spec, curves = summarize(tmp_path)
    figure = draw(spec, curves)
    assert all(axes.get_xlabel() for axes in figure.axes)
    assert figure.axes[0].get_ylabel()
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    first = [curve for curve in curves if curve.switching_cost == spec.switching_costs[0]]
    for learner in spec.learners:
        measured = [
            getattr(curve, spec.measure).mean for curve in first if curve.learner == learner
        ]
        if spec.kind == "costs":
            ends = [curve.regret.mean[-1] for curve in curves if curve.learner == learner]
            measured = [np.array(ends)]
        drawn = np.asarray(lines[learner].get_ydata(), float)
        expected = measured[0] if spec.kind != "sweep" else [mean[-1] for mean in measured]
        np.testing.assert_allclose(drawn, expected)
    light, again, dark = (
        image(lambda: draw(spec, curves), "svg", theme) for theme in (LIGHT, LIGHT, DARK)
    )
    assert light == again != dark


@pytest.mark.slow
@pytest.mark.parametrize("stacked", [False, True])
def test_no_text_of_the_report_lies_on_another(report: Content, stacked: bool) -> None:
    figures = [draw(result.spec, result.curves, stacked) for result in report.results]
    for figure in (figure_1(stacked), *figures):
        assert overlapping_texts(figure) == []


def test_notes_on_dotted_lines_that_are_close_do_not_meet() -> None:
    estimate = Estimate(np.arange(3.0), np.ones(3))
    places = [0.01, 0.011, 0.0112]
    note = "dotted: one and other equal at " + ", ".join(map(str, places))
    panel = Panel("title", np.array([0.01, 0.1, 1.0]), {"one": estimate}, (), places, note)
    for stacked in (False, True):
        figure = curve_figure(
            [panel] * 3, "A long title of a figure " * 3, "x", "y", "log", stacked
        )
        assert overlapping_texts(figure) == []
        for axes in figure.axes:
            dotted = [line for line in axes.get_lines() if line.get_linestyle() == ":"]
            assert [np.asarray(line.get_xdata())[0] for line in dotted] == places
            assert axes.get_title() == f"title\n{note}"


def overlapping_texts(figure: Figure) -> list[tuple[str, str]]:
    """Return the texts of a figure that lie on each other, or not wholly on the figure."""
    figure.draw_without_rendering()
    hidden = {
        label
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        for label in (tick.label1, tick.label2)
        if not axes.axison or not _is_between(tick.get_loc(), *axis.get_view_interval())
    }
    boxes = [
        (text.get_text(), text.get_window_extent())
        for text in figure.findobj(Text)
        if text not in hidden and text.get_visible() and text.get_text().strip()
    ]
    assert len(boxes) > 5
    outside = [
        (text, "the edge")
        for text, box in boxes
        if not all(figure.bbox.contains(*corner) for corner in box.corners())
    ]
    return outside + [
        (one[0], other[0]) for one, other in combinations(boxes, 2) if one[1].overlaps(other[1])
    ]


def _is_between(value: float, low: float, high: float) -> bool:
    return low <= value <= high


def test_marks_bands_and_titles_are_those_of_their_panel(tmp_path: Path) -> None:
    spec = replace(load_spec(EXPERIMENTS / "figure3.toml"), runs=3)
    run(spec, tmp_path)
    spec, curves = summarize(tmp_path)
    for axes, cost in zip(draw(spec, curves).axes, (1, 0), strict=True):
        assert axes.get_title() == ("switching cost 1" if cost else "no switching cost")
        bars = {bar.get_label(): next(iter(bar)) for bar in axes.containers}
        published = [each for each in spec.published if each.switching_cost == cost]
        assert set(bars) == {f"{each.learner}, as published" for each in published}
        for each in published:
            marker = bars[f"{each.learner}, as published"]
            assert list(marker.get_ydata()) == [each.value]
        (curve,) = [
            each for each in curves if each.switching_cost == cost and each.learner == "pi_ucb"
        ]
        band = np.asarray(axes.collections[0].get_paths()[0].vertices)
        assert band[:, 1].max() == pytest.approx(
            (curve.regret.mean + curve.regret.half_width).max(), rel=1e-6
        )


def test_a_sweep_over_horizons_has_a_panel_for_each(tmp_path: Path) -> None:
    spec = load_spec(EXPERIMENTS / "further-horizons-figure3.toml")
    spec = replace(spec, runs=2, sweep=("horizon", (100, 1_000)), title="costs $5 and $6")
    run(spec, tmp_path)
    figure = draw(*summarize(tmp_path))
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["T = 100, switching cost 1", "T = 1,000, switching cost 1"]
    image(lambda: figure, "svg")  # a dollar is a dollar


def test_the_axis_of_a_sweep_says_what_it_means(tmp_path: Path) -> None:
    spec = replace(load_spec(EXPERIMENTS / "further-gap.toml"), runs=2)
    run(spec, tmp_path)
    figure = draw(*summarize(tmp_path))
    assert figure.axes[0].get_xlabel() == "epsilon, where mu_2 = 13/15 + epsilon"
    assert figure.axes[0].get_xscale() == "symlog"


def test_crossings_are_where_the_sign_changes() -> None:
    axis = np.array([0.0, 1.0, 2.0, 4.0])
    assert crossings(axis, np.array([1.0, -1.0, -2.0, 2.0])) == [0.5, 3.0]
    assert crossings(axis, np.ones(4)) == []
    assert crossings(axis, np.array([1.0, 0.0, -1.0, -1.0])) == [1.0]
    assert crossings(axis, np.array([1.0, 0.0, 1.0, 1.0])) == []
