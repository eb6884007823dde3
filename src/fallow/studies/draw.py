"""From curves to the figure that a spec asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from fallow.arrays import FloatArray
from fallow.drawing.figures import Mark, Panel, curve_figure
from fallow.intervals import Estimate
from fallow.studies.spec import MEASURES, Spec
from fallow.studies.summarize import Curve


class Chart(NamedTuple):
    """A figure before it is drawn, as `curve_figure` takes it."""

    panels: Sequence[Panel]
    title: str
    x_label: str
    y_label: str
    x_scale: str


def draw(spec: Spec, curves: Sequence[Curve], stacked: bool = False) -> Figure:
    """Return the figure of an experiment, its panels beside or above each other."""
    return curve_figure(*chart(spec, curves), stacked=stacked)


def chart(spec: Spec, curves: Sequence[Curve]) -> Chart:
    """Return what the figure of an experiment shows: over rounds, the sweep's values, or costs."""
    label = MEASURES[spec.measure]
    if spec.kind == "rounds":
        panels = [
            _over_rounds(spec, [curve for curve in curves if _setting(curve) == (point, cost)])
            for point in spec.points
            for cost in spec.switching_costs
        ]
        return Chart(panels, spec.title, "round t", label, "log")
    if spec.kind == "costs":
        panels = [
            _at_the_end(
                spec,
                _sweep_title(spec, point),
                [curve for curve in curves if curve.point == point],
                lambda curve: curve.switching_cost,
            )
            for point in spec.points
        ]
        return Chart(panels, spec.title, "cost of a switch", f"final {label}", "linear")
    panels = [
        _at_the_end(
            spec,
            _cost_title(cost),
            [curve for curve in curves if curve.switching_cost == cost],
            lambda curve: curve.point or 0.0,
        )
        for cost in spec.switching_costs
    ]
    scale = "log" if min(panels[0].x) > 0 else "symlog"
    axis = spec.axis or _sweep_label(spec)
    return Chart(panels, spec.title, axis, f"final {label}", scale)


def _setting(curve: Curve) -> tuple[float | None, float]:
    return curve.point, curve.switching_cost


def _over_rounds(spec: Spec, curves: Sequence[Curve]) -> Panel:
    """Return the curves of one point and cost over the rounds, with what was published."""
    point, cost = _setting(curves[0])
    published = spec.published if spec.measure == "regret" else ()
    ends = [curve.ranking_rounds for curve in curves if curve.ranking_rounds]
    titles = [_sweep_title(spec, point), _cost_title(cost) if spec.measure == "regret" else ""]
    return Panel(
        ", ".join(title for title in titles if title),
        curves[0].rounds,
        {curve.learner: getattr(curve, spec.measure) for curve in curves},
        [
            Mark(value.learner, value.round, value.value, value.low, value.high)
            for value in published
            if value.switching_cost == cost
        ],
        ends,
        _dotted_note("ranking ends", ends, ",.0f"),
    )


def _at_the_end(
    spec: Spec, title: str, curves: Sequence[Curve], position: Callable[[Curve], float]
) -> Panel:
    """Return what each learner came to at the horizon, by the position of its curves on the axis.

    Where the first two learners come to the same is pointed out.
    """
    ordered = sorted(curves, key=position)
    finals = {}
    for learner in spec.learners:
        ends = [getattr(curve, spec.measure) for curve in ordered if curve.learner == learner]
        means, half_widths = ([part[-1] for part in parts] for parts in zip(*ends, strict=True))
        finals[learner] = Estimate(np.array(means), np.array(half_widths))
    axis = np.unique([position(curve) for curve in ordered])
    first, second, *_ = [final.mean for final in finals.values()] * 2
    equal = crossings(axis, first - second)
    note = _dotted_note(" and ".join([*finals][:2]) + " equal", equal, ".2g")
    return Panel(title, axis, finals, verticals=equal, note=note)


def _dotted_note(what: str, positions: Sequence[float], form: str) -> str:
    """Return the note that explains the dotted lines of a panel."""
    numbers = ", ".join(f"{position:{form}}" for position in positions)
    return f"dotted: {what} at {numbers}" if positions else ""


def crossings(axis: FloatArray, difference: FloatArray) -> list[float]:
    """Return where a difference changes its sign, by straight lines between its values.

    Examples
    --------
    >>> crossings(np.array([0.0, 1.0, 2.0]), np.array([3.0, 1.0, -1.0]))
    [1.5]
    """
    signs = np.sign(difference)
    for index in range(1, len(signs)):  # a zero takes the sign before it, so that it counts once
        signs[index] = signs[index] or signs[index - 1]
    before = np.flatnonzero(signs[:-1] * signs[1:] < 0)
    steps = difference[before] / (difference[before] - difference[before + 1])
    zeros: list[float] = (axis[before] + steps * np.diff(axis)[before]).tolist()
    return zeros


def _sweep_title(spec: Spec, point: float | None) -> str:
    if spec.sweep is None or point is None:
        return ""
    return f"T = {point:,}" if spec.sweep[0] == "horizon" else f"{_sweep_label(spec)} = {point:g}"


def _sweep_label(spec: Spec) -> str:
    name = "" if spec.sweep is None else spec.sweep[0]
    return "horizon T" if name == "horizon" else name.replace("_", " ")


def _cost_title(cost: float) -> str:
    return f"switching cost {cost:g}" if cost else "no switching cost"
