"""What the settings of the page lead to, all of it by the library."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from fallow.arrays import IntArray
from fallow.explore.code import as_python, as_toml
from fallow.explore.messages import Answer, PlannedCycle, SliderSettings
from fallow.explore.model import Explored
from fallow.instance import Instance
from fallow.kernels.cycles import cycle_rewards, own_delays
from fallow.planners import Plan, beam, ghost, greedy, optimal, plan
from fallow.planners.feasible import RulesConflict, StuckError
from fallow.planners.optimal import within_reach

QUICK_STATES = 5_000
"""Delay vectors of which the optimum is found while a slider moves."""
QUICK_WIDTH = 16
"""Of the beam search where there are more."""
MOST_ROUNDS = 240
"""Of a cycle that are shown."""


def answer(explored: Explored, settings: SliderSettings) -> Answer:
    """Return what the settings lead to."""
    instance, model = explored.at(settings)
    plans: dict[str, Plan] = {}
    conflict = None
    try:
        plans = _plans(instance, settings.thorough)
    except (RulesConflict, StuckError) as error:
        conflict = str(error)
    best = plans.get("best")
    return Answer(
        means=instance.means.tolist(),
        cycles=[
            _planned_cycle(instance, name, each, plans["best"]) for name, each in plans.items()
        ],
        certificate=0.0 if best is None else best.certificate,
        rests=[] if best is None else _rests(instance, best),
        conflict=conflict,
        python=as_python(instance, model),
        toml=as_toml(instance, model),
    )


def _plans(instance: Instance, thorough: bool) -> dict[str, Plan]:
    """Return the best plan and those of simple planners, of which some may find none."""
    simple = {}
    for planner in (greedy, ghost):
        with suppress(StuckError):
            simple[planner.__name__] = planner(instance)
    best = plan(instance) if thorough else _quick_plan(instance, list(simple.values()))
    return {"best": best, **simple}


def _quick_plan(instance: Instance, known: list[Plan]) -> Plan:
    """Return a plan that is found while a slider moves."""
    if within_reach(instance, QUICK_STATES):
        return optimal(instance)
    with suppress(StuckError):
        known = [*known, beam(instance, QUICK_WIDTH)]
    return max(known, key=lambda each: each.gain) if known else plan(instance)


def _planned_cycle(instance: Instance, planner: str, found: Plan, best: Plan) -> PlannedCycle:
    cycle = _steady(found.cycle)
    share = found.gain / best.upper_bound if best.upper_bound > 0 else 1.0
    return PlannedCycle(
        planner=planner,
        length=len(cycle),
        cycle=cycle[:MOST_ROUNDS].tolist(),
        delays=own_delays(cycle, instance.arms)[:MOST_ROUNDS].tolist(),
        rewards=cycle_rewards(instance.means, cycle)[:MOST_ROUNDS].tolist(),
        gain=found.gain,
        share=share,
    )


def _steady(cycle: tuple[int, ...]) -> IntArray:
    """Return a cycle from where it is least, so that it does not jump as sliders move."""
    if len(cycle) > MOST_ROUNDS:
        return np.array(cycle)
    return np.array(min(cycle[start:] + cycle[:start] for start in range(len(cycle))))


def _rests(instance: Instance, best: Plan) -> list[list[int]]:
    """Return the delays at which a plan plays each arm."""
    cycle = np.array(best.cycle)
    delays = own_delays(cycle, instance.arms)
    return [np.unique(delays[cycle == arm]).tolist() for arm in range(instance.arms)]
