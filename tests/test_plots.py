"""What `plot` draws: the numbers of the object, in the colours of its arms, labels apart."""

import subprocess
import sys
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from fallow import (
    InputError,
    Instance,
    Plan,
    RankingUCB,
    catalog,
    decay,
    plan,
    replicate,
    schedule,
    simulate,
)
from fallow.arrays import FloatArray
from fallow.drawing.colours import colour_of
from fallow.intervals import estimate
from fallow.learners import Follow
from fallow.logs import fit, simulate_log


def songs(arms: int, max_delay: int = 6) -> Instance:
    generator = np.random.default_rng(arms)
    return Instance.b2dep(
        generator.uniform(0.3, 0.95, arms),
        generator.integers(1, max_delay + 1, arms),
        decay.geometric(0.7),
        names=[f"song number {arm} {'with a very long title' * (arm % 2)}" for arm in range(arms)],
    )


def texts_that_touch(figure: Figure) -> list[tuple[str, str]]:
    """Return pairs of visible texts of a figure that cover each other."""
    figure.draw_without_rendering()
    drawn = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    ticks = {
        label
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for label in axis.get_ticklabels()
        if not axis.get_view_interval()[0] <= _place(axis, label) <= axis.get_view_interval()[1]
    }
    boxes = [(text.get_text(), text.get_window_extent()) for text in drawn if text not in ticks]
    return [
        (one, other)
        for (one, box), (other, beside) in combinations(boxes, 2)
        if box.overlaps(beside) and box.width and beside.width
    ]


def _place(axis: Any, label: Text) -> float:
    x, y = label.get_position()
    return float(x if axis.axis_name == "x" else y)


def heights(line: Line2D) -> FloatArray:
    return np.asarray(line.get_ydata(), np.float64)


def boxes(axes: Axes) -> list[tuple[int, str]]:
    """Return the places and colours of the boxes in a picture of pulls, in order."""
    found = []
    for drawn in axes.collections:
        for path in drawn.get_paths():
            left, right = (
                np.asarray(path.vertices)[:, 0].min(),
                np.asarray(path.vertices)[:, 0].max(),
            )
            found.append((round((left + right) / 2), to_hex(np.asarray(drawn.get_facecolor())[0])))
    return sorted(found)


@pytest.mark.parametrize("arms", [2, 7, 20, 40])
def test_an_instance_draws_its_means_in_the_colours_of_its_arms(arms: int) -> None:
    instance = songs(arms)
    figure = instance.plot()
    lines = figure.axes[0].get_lines()
    best = sorted(instance.order[:20].tolist())
    assert len(lines) == len(best)
    for arm, line in zip(best, lines, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), instance.means[arm])
        assert line.get_color() == colour_of(arm)
        assert str(line.get_label()).startswith(f"song number {arm}")
    title = figure.axes[0].get_title()
    assert title == ("The 20 of 40 arms that pay most when rested" if arms == 40 else "")
    assert texts_that_touch(figure) == []


@pytest.mark.parametrize("arms", [2, 7, 20, 40])
def test_a_plan_draws_its_cycle(arms: int) -> None:
    instance = songs(arms)
    best = Plan.of(instance, [*range(arms), 0, 0], "by hand")
    figure = best.plot()
    assert boxes(figure.axes[0]) == [
        (place + 1, colour_of(arm)) for place, arm in enumerate(best.cycle)
    ]
    assert f"{best.gain:.3f} a round" in figure.get_suptitle()
    assert texts_that_touch(figure) == []


def test_a_long_cycle_is_cut_and_says_so() -> None:
    instance = songs(40)
    cycle = np.random.default_rng(0).integers(0, 40, 990)
    figure = Plan.of(instance, cycle, "by hand").plot()
    assert "the first 60 of 990 pulls" in figure.get_suptitle()
    assert len(boxes(figure.axes[0])) == 60
    assert texts_that_touch(figure) == []


def test_a_schedule_draws_its_rounds() -> None:
    soon = schedule(songs(4), rounds=9)
    assert boxes(soon.plot().axes[0]) == [
        (place + 1, colour_of(arm)) for place, arm in enumerate(soon.arms)
    ]


@pytest.mark.parametrize(("arms", "horizon"), [(2, 1), (2, 55), (7, 10**4), (40, 10**15)])
def test_a_trajectory_draws_its_average_and_its_pulls(arms: int, horizon: int) -> None:
    instance = songs(arms)
    run = simulate(instance, Follow(plan(instance, max_states=0, effort=0)), horizon, seed=0)
    figure = run.plot()
    curve, *windows = figure.axes
    (line,) = curve.get_lines()
    rounds = np.asarray(line.get_xdata(), np.int64)
    assert (rounds[0], rounds[-1]) == (1, horizon)
    np.testing.assert_allclose(heights(line), run.expected_reward(rounds) / rounds)
    shown = min(40, horizon)
    last = run.arms(max(shown, horizon - shown))
    assert len(windows) == 1 + bool(len(last))
    expected = [(run.arms(0, shown), 1), (last, 1 - len(last))]
    for axes, (pulled, start) in zip(windows, expected, strict=False):
        assert boxes(axes) == [(start + place, colour_of(arm)) for place, arm in enumerate(pulled)]
    assert texts_that_touch(figure) == []


def test_totals_draw_what_they_know() -> None:
    run = simulate(songs(3), RankingUCB([0, 1, 2]), 100, seed=0, checkpoints=[0, 10, 50])
    (axes,) = run.plot().axes
    (line,) = axes.get_lines()
    assert np.asarray(line.get_xdata()).tolist() == [10, 50]
    start = simulate(songs(3), RankingUCB([0, 1, 2]), 100, seed=0, checkpoints=[0])
    with pytest.raises(InputError, match="a trajectory must have totals after round 0 to be drawn"):
        start.plot()


def test_a_result_draws_regret_with_its_intervals() -> None:
    learners = {
        "pi_ucb": lambda instance, _: RankingUCB(instance.order),
        "best": lambda instance, _: Follow(plan(instance)),
    }
    references = {"gain of a half": lambda _: 0.5, "gain of 1": lambda _: 1.0}
    result = replicate(
        catalog.figure2, learners, 200, runs=4, seed=0, workers=1, references=references
    )
    for reference, cost in ((None, 0.0), ("gain of 1", 2.0)):
        axes = result.plot(reference, switching_cost=cost).axes[0]
        against = reference or "gain of a half"
        assert axes.get_ylabel() == f"regret against {against}"
        for place, name in enumerate(learners):
            line = axes.get_lines()[place]
            found = estimate(result.regret(name, against, cost))
            np.testing.assert_allclose(heights(line), found.mean)
            assert line.get_color() == colour_of(place)
            band = np.asarray(axes.collections[place].get_paths()[0].vertices)[:, 1]
            assert band.max() == pytest.approx((found.mean + found.half_width).max())
    alone = replicate(catalog.figure3(), learners, 9, 1, seed=0, workers=1, references={})
    with pytest.raises(
        ValueError, match="references must be at least one to compare with, got none"
    ):
        alone.plot()
    with pytest.raises(ValueError, match="reference must be one of"):
        result.plot("ghost")


def test_a_fit_draws_each_arm_in_its_colour() -> None:
    found = fit(simulate_log(songs(20), users=60, rounds=60))
    figure = found.plot()
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert len(panels) == 12
    for axes in panels:
        arm = found.instance.names.index(axes.get_title().split(",")[0])
        fitted = next(line for line in axes.get_lines() if line.get_label() == "fitted")
        assert fitted.get_color() == colour_of(arm)
        np.testing.assert_array_equal(fitted.get_ydata(), found.means[arm])
    assert texts_that_touch(figure) == []


def test_dollars_in_names_are_dollars() -> None:
    instance = Instance([[0.1, 0.9], [0.2, 0.3]], names=["$x_$ and $5", "^{\n\x1b"])
    run = simulate(instance, RankingUCB([0, 1]), 9, seed=0)
    shown: Any
    for shown in (instance, plan(instance), run):
        assert shown.plot()._repr_png_().startswith(b"\x89PNG")


@pytest.mark.slow
def test_without_matplotlib_a_plot_names_the_extra() -> None:
    """Everything else works, and nothing of matplotlib is imported before."""
    code = """
import sys
sys.modules["matplotlib"] = None
import fallow
songs = fallow.Instance.blocking([1, 0.5], delays=[1, 1])
best = fallow.plan(songs)
run = fallow.simulate(songs, fallow.RankingUCB([0, 1]), 10, seed=0)
for each in (songs, best, run):
    each._repr_html_()
    try:
        each.plot()
    except ModuleNotFoundError as error:
        print(error)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("a figure needs matplotlib") == 3
    assert result.stdout.count('pip install "fallow[plot]"') == 3
