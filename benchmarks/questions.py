"""All questions in the order of the page."""

from collections.abc import Callable

from benchmarks import (
    blocks,
    exact,
    horizon,
    index_policy,
    long_delays,
    quality,
    ranking_learners,
    readings,
    regret,
    rotation,
    scaling,
    simulation,
    size,
    startup,
    theory,
    ucb1,
)
from benchmarks.section import Section

Question = Callable[[], Section]

CHECKED: tuple[Question, ...] = (
    ucb1.measure,
    simulation.measure,
    horizon.measure_speed,
    size.measure_speed,
    blocks.measure_one,
    exact.measure,
    index_policy.measure,
    long_delays.measure,
    rotation.measure_speed,
    startup.measure,
)
"""What `make bench-check` asks: a few minutes."""

QUESTIONS: tuple[Question, ...] = (
    ucb1.measure,
    regret.measure,
    horizon.measure,
    horizon.measure_speed,
    size.measure,
    size.measure_optimal,
    size.measure_speed,
    blocks.measure,
    simulation.measure,
    exact.measure,
    exact.measure_large,
    index_policy.measure,
    long_delays.measure,
    quality.measure,
    quality.measure_larger,
    theory.measure_stages,
    theory.measure_theorem3,
    theory.measure_theorem4,
    readings.measure,
    ranking_learners.measure,
    ranking_learners.measure_doubling,
    ranking_learners.measure_joint,
    rotation.measure,
    rotation.measure_costs,
    rotation.measure_speed,
    scaling.measure,
    scaling.measure_adding,
    scaling.measure_memory,
    startup.measure,
    startup.measure_demo,
)
