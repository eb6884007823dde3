"""A multiple-choice knapsack: at most one item a group, weights that are whole numbers."""

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import tiered


@tiered(lambda values, capacity: values.size * capacity)
def best_choices(values: FloatArray, weights: IntArray, capacity: int) -> IntArray:
    """Return the choice of each group, -1 for none, with the largest total value.

    `values[group, choice]` is what a choice is worth; `weights[choice]` is the same in each group.
    """
    groups, choices = values.shape
    best = np.zeros(capacity + 1)
    chosen = np.full((groups, capacity + 1), -1, np.int8)
    for group in range(groups):
        for room in range(capacity, 0, -1):
            value = best[room]
            for choice in range(choices):
                if weights[choice] <= room:
                    candidate = best[room - weights[choice]] + values[group, choice]
                    if candidate > value:
                        value = candidate
                        chosen[group, room] = choice
            best[room] = value
    picks = np.empty(groups, np.int64)
    room = capacity
    for group in range(groups - 1, -1, -1):
        picks[group] = chosen[group, room]
        if picks[group] >= 0:
            room -= weights[picks[group]]
    return picks
