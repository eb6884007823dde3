"""Filling, changing and entering cycles against plain Python, on small random tables."""

import math

import numpy as np
import pytest
import reference
from helpers import random_tables

from fallow.arrays import FloatArray
from fallow.kernels import cycles, playing
from fallow.limits import no_limits


def filled(means: FloatArray, cycle: list[int]) -> list[int]:
    """Each free round, -1, in order, goes to the arm with which the whole cycle earns most."""
    for place in [place for place, arm in enumerate(cycle) if arm < 0]:
        choices = [[*cycle[:place], arm, *cycle[place + 1 :]] for arm in range(len(means))]
        totals = [reference.cycle_total(means.tolist(), choice) for choice in choices]
        cycle = choices[int(np.argmax(totals))]
    return cycle


def test_free_rounds_go_in_order_to_the_arm_that_adds_most() -> None:
    for generator, means in random_tables(100, arms=4, width=6):
        cycle = generator.integers(-1, len(means), generator.integers(1, 12))
        found = cycles.fill(means, no_limits(len(means)), cycle)
        assert found.tolist() == filled(means, cycle.tolist())


def changed_cycles(cycle: list[int], position: int, arms: int) -> list[list[int]]:
    """The cycle after each move at a position: replaced, inserted, deleted and swapped pulls."""
    before, behind = cycle[:position], cycle[position + 1 :]
    changed = [[*before, arm, *behind] for arm in range(arms)]
    changed += [[*before, arm, *cycle[position:]] for arm in range(arms)]
    changed += [before + behind]
    for place, other in enumerate(behind):
        changed.append([*before, other, *behind[:place], cycle[position], *behind[place + 1 :]])
    return changed


def gains_of(means: FloatArray, changed: list[list[int]]) -> list[float]:
    """The gain of each cycle, minus infinity for one without pulls."""
    totals = [reference.cycle_total(means.tolist(), cycle) for cycle in changed]
    return [
        total / len(cycle) if cycle else -math.inf
        for cycle, total in zip(changed, totals, strict=True)
    ]


def test_moves_change_the_cycle_and_its_gain() -> None:
    for generator, means in random_tables(60, arms=4, width=6):
        cycle = generator.integers(0, len(means), generator.integers(1, 9))
        for position in range(len(cycle)):
            changed = changed_cycles(cycle.tolist(), position, len(means))
            for move, expected in enumerate(changed):
                found = cycles.after_move(cycle, position, move, len(means))
                assert found.tolist() == expected
            gains = cycles.move_gains(means, cycle, position)
            assert gains == pytest.approx(gains_of(means, changed), abs=1e-12)


def searched(means: FloatArray, cycle: list[int], max_moves: int) -> list[int]:
    """The cycle of local search, from the gain of every changed cycle."""
    moves = position = unimproved = 0
    while unimproved < len(cycle) and moves < max_moves:
        position %= len(cycle)
        length = len(cycle)
        changed = changed_cycles(cycle, position, len(means))
        gains = gains_of(means, changed)
        moves += len(changed)
        best = int(np.argmax(gains))
        if gains[best] > gains[cycle[position]] + 1e-12:
            cycle, unimproved = changed[best], 0
        else:
            unimproved += 1
        position += 1 + len(cycle) - length
    return cycle


def test_local_search_takes_the_best_move_at_each_position_until_its_limit() -> None:
    for generator, means in random_tables(60, arms=4, width=5):
        cycle = generator.integers(0, len(means), generator.integers(1, 6))
        for max_moves in [*range(40), 10_000]:
            found = cycles.local_search(means, no_limits(len(means)), cycle, max_moves)
            assert found.tolist() == searched(means, cycle.tolist(), max_moves)


def test_of_equal_starts_the_first_is_taken() -> None:
    cycle = np.array([0, 1, 1])
    own = cycles.own_delays(cycle, 2)
    assert playing.best_start(np.full((2, 3), 0.5), np.array([3, 3]), cycle, own, 3) == 0
