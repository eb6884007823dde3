"""Planning for learners: more planners, and the exact one, as rounds go by."""

import numpy as np
import pytest

from fallow import Instance, Rotation, catalog, optimal, simulate
from fallow.learners.online import plan_online

TRAP = [[0, 0, 0.2097, 0.6088, 1], [0, 0.8497, 0.861, 1, 1], [0, 0, 0.3528, 1, 1]]
"""Three arms on which the index policy earns 0.9 of the optimum."""


def test_more_planners_are_asked_once_they_can_earn_enough() -> None:
    """60 arms put the optimum out of reach. The index policy is 0.13 a round below its bound."""
    feeble = np.tile(np.arange(5) * 1e-6, (57, 1))
    instance = Instance(np.vstack([TRAP, feeble]))
    best = optimal(Instance(TRAP)).gain
    assert plan_online(instance, rounds=500).method == "whittle"
    assert plan_online(instance, rounds=500).gain < 0.91 * best
    assert plan_online(instance, rounds=600).gain == pytest.approx(best)


def test_a_plan_that_is_proved_best_is_not_searched_for_again() -> None:
    plan = plan_online(Instance.blocking([1] * 100, [2] * 100), rounds=10**18)
    assert (plan.method, plan.gain) == ("whittle", 1)


def test_rotation_leaves_a_second_best_cycle() -> None:
    """Beam search alone stays at a loss of 9e-4 of the optimum on Figure 2's first instance."""
    instance = catalog.figure2(seed=0)
    rounds = [10**6, 10**9, 10**12]
    run = simulate(instance, Rotation(7, max_delay=6), rounds[-1], seed=1, checkpoints=rounds)
    lost = 1 - np.array([float(earned) for earned in run.expected_reward(rounds)]) / (
        optimal(instance).gain * np.array(rounds)
    )
    assert lost[0] < 2e-3
    assert lost[1] < 1e-5
    assert lost[2] < 1e-7
