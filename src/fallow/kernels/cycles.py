"""Cycles of arms: the reward of one pass, filling free rounds, and local search."""

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import compiled

FREE = -1


@compiled
def _gaps(cycle: IntArray, arms: int) -> IntArray:
    """Return the rounds from each pull of a repeated cycle back to the arm's pull before."""
    length = len(cycle)
    last = np.empty(arms, np.int64)
    gaps = np.empty(length, np.int64)
    for position in range(length):
        last[cycle[position]] = position - length
    for position in range(length):
        gaps[position] = position - last[cycle[position]]
        last[cycle[position]] = position
    return gaps


@compiled
def _mean(means: FloatArray, arm: int, delay: int) -> float:
    return float(means[arm, min(delay, means.shape[1]) - 1])


@compiled
def cycle_rewards(means: FloatArray, cycle: IntArray) -> FloatArray:
    """Return the expected reward at each position of a cycle that repeats for ever."""
    gaps = _gaps(cycle, len(means))
    rewards = np.empty(len(cycle))
    for position in range(len(cycle)):
        rewards[position] = _mean(means, cycle[position], gaps[position])
    return rewards


@compiled
def _look_around(cycle: IntArray, position: int, since: IntArray, until: IntArray) -> None:
    """Write the rounds from each arm's last pull to a position, and from there to its next.

    The pull at the position does not count. On entry both arrays hold a number of rounds, at most
    the cycle's length, that is as good as never.
    """
    length = len(cycle)
    for distance in range(since[0] - 1, 0, -1):
        before = cycle[position - distance]
        after = cycle[(position + distance) % length]
        if before != FREE:
            since[before] = distance
        if after != FREE:
            until[after] = distance


@compiled
def _addition(means: FloatArray, arm: int, since: int, until: int, length: int) -> float:
    """Return what a pull adds to a cycle, so many rounds from the arm's pulls before and after."""
    addition = _mean(means, arm, since)
    if since < length:  # else the cycle has no other pull of the arm
        addition += _mean(means, arm, until) - _mean(means, arm, since + until)
    return addition


@compiled
def fill(means: FloatArray, cycle: IntArray) -> IntArray:
    """Return the cycle with each free position given, in order, to the arm that adds most."""
    arms, width = means.shape
    length = len(cycle)
    filled = cycle.copy()
    for free in range(length):
        if filled[free] == FREE:
            since = np.full(arms, min(length, width))
            until = since.copy()
            _look_around(filled, free, since, until)
            best, best_addition = 0, -np.inf
            for arm in range(arms):
                addition = _addition(means, arm, since[arm], until[arm], length)
                if addition > best_addition:
                    best, best_addition = arm, addition
            filled[free] = best
    return filled


@compiled
def after_move(cycle: IntArray, position: int, move: int, arms: int) -> IntArray:
    """Return the cycle after a move at a position.

    Moves 0 .. arms - 1 replace the pull by that arm, the next `arms` moves insert an arm before it,
    then one deletes it, and the others swap it with each later pull.
    """
    changed = cycle.copy()
    if move < arms:
        changed[position] = move
    elif move < 2 * arms:
        inserted = np.array([move - arms])
        changed = np.concatenate((cycle[:position], inserted, cycle[position:]))
    elif move == 2 * arms:
        changed = np.concatenate((cycle[:position], cycle[position + 1 :]))
    else:
        other = position + move - 2 * arms
        changed[position] = cycle[other]
        changed[other] = cycle[position]
    return changed


@compiled
def move_gains(means: FloatArray, cycle: IntArray, position: int) -> FloatArray:
    """Return the gain after each move at a position, in the order of `after_move`.

    A move changes only gaps of the arms involved, and where the length changes the gap of each arm
    around the position, so it costs the same whatever the length. Deleting the only pull counts as
    minus infinity.
    """
    arms, width = means.shape
    length = len(cycle)
    pulled = cycle[position]
    gaps = _gaps(cycle, arms)
    total = 0.0
    for place in range(length):
        total += _mean(means, cycle[place], gaps[place])
    since = np.full(arms, min(length, width))
    until = since.copy()
    _look_around(cycle, position, since, until)
    without = total - _addition(means, pulled, since[pulled], until[pulled], length)
    longer = total  # one more round before this pull, as yet nobody's
    shorter = without  # this round is gone
    for arm in range(arms):
        gap = since[arm] + until[arm]
        if since[arm] < length:
            shorter += _mean(means, arm, gap - 1) - _mean(means, arm, gap)
            if arm != pulled:
                longer += _mean(means, arm, gap + 1) - _mean(means, arm, gap)
    longer += _mean(means, pulled, since[pulled] + 1) - _mean(means, pulled, since[pulled])
    gains = np.empty(2 * arms + 1)
    for arm in range(arms):
        added = _addition(means, arm, since[arm], until[arm], length)
        gains[arm] = (without + added) / length
        if arm == pulled:
            added = _addition(means, arm, since[arm], 1, length + 1)
        elif since[arm] < length:
            added = _addition(means, arm, since[arm], until[arm] + 1, length + 1)
        else:
            added = _mean(means, arm, length + 1)
        gains[arms + arm] = (longer + added) / (length + 1)
    gains[2 * arms] = shorter / (length - 1) if length > 1 else -np.inf
    swaps = _swap_totals(means, cycle, position, gaps, since, until) + without
    return np.concatenate((gains, swaps / length))


@compiled
def _swap_totals(
    means: FloatArray,
    cycle: IntArray,
    position: int,
    gaps: IntArray,
    since: IntArray,
    until: IntArray,
) -> FloatArray:
    """Return what each swap with a later pull earns beyond the cycle without this pull."""
    length = len(cycle)
    pulled = cycle[position]
    following = np.empty(length, np.int64)
    for place in range(length):
        following[place - gaps[place]] = gaps[place]
    before = position - gaps[position]  # the pulled arm's pulls around the other, without this one
    after = position + following[position]
    totals = np.empty(length - position - 1)
    for other in range(position + 1, length):
        arm = cycle[other]
        earned = _addition(means, arm, since[arm], until[arm], length)
        if arm == pulled:  # nothing changes
            before = other
            after = other + following[other]
            if after == position + length:
                after += following[position]
        else:
            # The other arm now comes here, so that is where its pull there would have followed.
            to_other = min(gaps[other], other - position)
            from_other = min(following[other], position + length - other)
            earned -= _addition(means, arm, to_other, from_other, length)
            if gaps[position] == length:
                earned += _mean(means, pulled, length)
            else:
                earned += _addition(means, pulled, other - before, after - other, length)
        totals[other - position - 1] = earned
    return totals


@compiled
def local_search(means: FloatArray, cycle: IntArray, max_moves: int) -> IntArray:
    """Replace, insert, delete and swap pulls while that raises the gain.

    Take the best move at each position in turn. Stop at a cycle that no move improves, or when
    `max_moves` moves have been looked at.
    """
    moves = 0
    position = 0
    unimproved = 0  # positions in a row at which no move helped
    while unimproved < len(cycle) and moves < max_moves:
        length = len(cycle)
        position %= length
        gains = move_gains(means, cycle, position)
        moves += len(gains)
        best = int(gains.argmax())
        if gains[best] > gains[cycle[position]] + 1e-12:  # replaced by itself: no change
            cycle = after_move(cycle, position, best, len(means))
            unimproved = 0
        else:
            unimproved += 1
        # Go on behind the pull that was looked at, wherever a move has put it.
        position += 1 + len(cycle) - length
    return cycle
