"""Figures show the numbers that were measured, where they belong."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fallow.drawing.figures import LIGHT, image
from fallow.studies.draw import crossings, draw
from fallow.studies.read import load_spec
from fallow.studies.run import run
from fallow.studies.summarize import summarize
from reproduction.figures import DARK

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
