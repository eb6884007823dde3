"""Accounts of what was played: exact expected rewards and switches at any round.

A run is a cycle of arms, by its number, and how many pulls of it were made. Pulls are counted by
arm and delay in whole numbers; the expected reward up to a round is those counts times the means,
so nothing drifts however long the horizon.
"""

from typing import NamedTuple

import numpy as np

from fallow.arrays import FloatArray, Int32Array, IntArray
from fallow.kernels import compiled, tiered

CLOCK = 0


class Cycles(NamedTuple):
    """Cycles of arms by number: cycle c is `arms[starts[c]:starts[c + 1]]`."""

    arms: IntArray
    starts: IntArray


class Ledger(NamedTuple):
    """What has been played so far.

    `last` is the round of each arm's last pull, `counts` the pulls by arm and delay, and `totals`
    the rounds played, the switches, the previous cycle (-1 for none) and the next checkpoint.
    """

    last: IntArray
    counts: IntArray
    totals: IntArray


@compiled
def _total(counts: IntArray, means: FloatArray) -> float:
    """Return what all pulls are worth, added in the order of arms and delays."""
    total = 0.0
    for arm in range(counts.shape[0]):
        for column in range(counts.shape[1]):
            total += counts[arm, column] * means[arm, column]
    return total


@compiled
def _advance(
    cycle: IntArray, phase: int, pulls: int, now: int, last: IntArray, counts: IntArray
) -> None:
    """Count so many pulls, from round `now` on, of a cycle that goes on at position `phase`.

    From the second pass on every position has a fixed delay, so two passes tell all.
    """
    length, width = len(cycle), counts.shape[1]
    place = phase
    for pull in range(min(pulls, 2 * length)):
        arm = cycle[place]
        place = place + 1 if place + 1 < length else 0
        delay = min(now + pull - last[arm], width)
        again = 0 if pull < length else (pulls - 1 - pull) // length
        counts[arm, delay - 1] += 1 + again
        last[arm] = now + pull
    for pull in range(max(pulls - length, 2 * length), pulls):
        last[cycle[(phase + pull) % length]] = now + pull


def _most_pulls(
    means: FloatArray, cycles: Cycles, numbers: Int32Array, checkpoints: IntArray
) -> int:
    """Return how many pulls and cells `account` looks at: three passes a run and a checkpoint."""
    lengths = np.diff(cycles.starts)
    longest = int(lengths.max())
    return 3 * int(lengths[numbers].sum()) + len(checkpoints) * (3 * longest + means.size)


@tiered(_most_pulls)
def account(
    means: FloatArray,
    cycles: Cycles,
    numbers: Int32Array,
    pulls: IntArray,
    ledger: Ledger,
    checkpoints: IntArray,
    rewards: FloatArray,
    switches: IntArray,
) -> None:
    """Enter runs in the ledger, and write the totals at each checkpoint that they pass."""
    last, counts, totals = ledger.last, ledger.counts, ledger.totals
    arms, starts = cycles.arms, cycles.starts
    now, changes, previous, checkpoint = totals
    width = counts.shape[1]
    for run in range(len(numbers)):
        number = numbers[run]
        start, end = starts[number], starts[number + 1]
        changes += number != previous and previous != -1
        previous = number
        done = 0
        while done < pulls[run]:
            step = pulls[run] - done
            if checkpoint < len(checkpoints):
                step = min(step, checkpoints[checkpoint] - now)
            if end - start == 1 and step > 0:  # one arm over and over needs no loop
                arm = arms[start]
                counts[arm, min(now - last[arm], width) - 1] += 1
                counts[arm, 0] += step - 1
                last[arm] = now + step - 1
            else:
                phase = done % (end - start)
                _advance(arms[start:end], phase, step, now, last, counts)
            done += step
            now += step
            while checkpoint < len(checkpoints) and checkpoints[checkpoint] == now:
                rewards[checkpoint] = _total(counts, means)
                switches[checkpoint] = changes
                checkpoint += 1
    totals[:] = now, changes, previous, checkpoint
