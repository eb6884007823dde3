"""All questions in the order of the page."""

from collections.abc import Callable

from benchmarks import (
    blocks,
    certificates,
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

QUESTIONS: tuple[Question, ...] = (
    ucb1.measure,
    regret.measure,
    horizon.measure,
    size.measure,
    size.measure_optimal,
    blocks.measure,
    simulation.measure,
    exact.measure,
    exact.measure_large,
    index_policy.measure,
    long_delays.measure,
    quality.measure,
    quality.measure_larger,
    certificates.measure,
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
