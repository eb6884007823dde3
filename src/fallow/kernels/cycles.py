"""Cycles of arms: the reward of one pass, filling free rounds, and local search."""

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import compiled


@compiled
def _write_rewards(means: FloatArray, cycle: IntArray, last: IntArray, rewards: FloatArray) -> None:
    """Write the reward at each position; `last` is scratch space with one place an arm."""
    length = len(cycle)
    for position in range(length):
        last[cycle[position]] = position - length
    for position in range(length):
        arm = cycle[position]
        delay = min(position - last[arm], means.shape[1])
        rewards[position] = means[arm, delay - 1]
        last[arm] = position


@compiled
def cycle_rewards(means: FloatArray, cycle: IntArray) -> FloatArray:
    """Return the expected reward at each position of a cycle that repeats for ever."""
    rewards = np.empty(len(cycle))
    _write_rewards(means, cycle, np.empty(len(means), np.int64), rewards)
    return rewards


@compiled
def fill(means: FloatArray, cycle: IntArray) -> IntArray:
    """Return the cycle with each free position (-1) given, in order, to the arm that adds most."""
    arms, width = means.shape
    length = len(cycle)
    filled = cycle.copy()
    since = np.empty(arms, np.int64)
    until = np.empty(arms, np.int64)
    for free in range(length):
        if filled[free] != -1:
            continue
        since[:] = length
        until[:] = length
        for distance in range(length - 1, 0, -1):
            before = filled[free - distance]
            after = filled[(free + distance) % length]
            if before != -1:
                since[before] = distance
            if after != -1:
                until[after] = distance
        best, best_addition = 0, -np.inf
        for arm in range(arms):
            addition = means[arm, min(since[arm], width) - 1]
            if since[arm] < length:  # the arm is in the cycle, so its next pull comes sooner
                addition += means[arm, min(until[arm], width) - 1]
                addition -= means[arm, min(since[arm] + until[arm], width) - 1]
            if addition > best_addition:
                best, best_addition = arm, addition
        filled[free] = best
    return filled


@compiled
def _apply(cycle: IntArray, position: int, move: int, arms: int, changed: IntArray) -> int:
    """Write to `changed` the cycle after a move at a position, and return its length.

    Moves 0 .. arms - 1 replace the pull by that arm, the next `arms` moves insert an arm before it,
    then one deletes it, and the others swap it with each later pull.
    """
    length = len(cycle)
    changed[:length] = cycle
    if move < arms:
        changed[position] = move
        return length
    if move < 2 * arms:
        changed[position] = move - arms
        changed[position + 1 : length + 1] = cycle[position:]
        return length + 1
    if move == 2 * arms:
        changed[position : length - 1] = cycle[position + 1 :]
        return length - 1
    other = position + move - 2 * arms
    changed[position] = cycle[other]
    changed[other] = cycle[position]
    return length


@compiled
def local_search(means: FloatArray, cycle: IntArray, max_pulls: int) -> IntArray:
    """Replace, insert, delete and swap pulls while that raises the gain.

    Take the best move at each position in turn. Stop at a cycle that no move improves, or when
    `max_pulls` pulls have been evaluated.
    """
    arms = len(means)
    gain = cycle_rewards(means, cycle).mean()
    last = np.empty(arms, np.int64)
    evaluated = 0
    position = 0
    unimproved = 0  # positions in a row at which no move helped
    while unimproved < len(cycle):
        length = len(cycle)
        position %= length
        changed = np.empty(length + 1, np.int64)
        rewards = np.empty(length + 1)
        best_move, best_gain = -1, gain + 1e-12
        for move in range(2 * arms + length - position):
            changed_length = _apply(cycle, position, move, arms, changed)
            if changed_length == 0:
                continue
            _write_rewards(means, changed[:changed_length], last, rewards)
            changed_gain = rewards[:changed_length].mean()
            if changed_gain > best_gain:
                best_move, best_gain = move, changed_gain
            evaluated += changed_length
            if evaluated >= max_pulls:
                break
        if best_move >= 0:
            cycle = changed[: _apply(cycle, position, best_move, arms, changed)].copy()
            gain = best_gain
            unimproved = 0
        else:
            unimproved += 1
        if evaluated >= max_pulls:
            break
        # Go on behind the pull that was looked at, wherever a move has put it.
        position += 1 + len(cycle) - length
    return cycle
