"""Accounts of what was played: exact expected rewards and switches at any round.

A run is a cycle of arms, by its number, and how many pulls of it were made. Pulls are counted by
arm and delay in whole numbers; the expected reward up to a round is those counts times the means,
so nothing drifts however long the horizon.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import compiled

Int32Array = npt.NDArray[np.int32]

CLOCK, SWITCHES, PREVIOUS, CHECKPOINT = range(4)


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
def _advance(cycle: IntArray, phase: int, pulls: int, ledger: Ledger) -> None:
    """Count so many pulls of a cycle that goes on at position `phase`.

    From the second pass on every position has a fixed delay, so two passes tell all.
    """
    length = len(cycle)
    width = ledger.counts.shape[1]
    start = ledger.totals[CLOCK]
    for pull in range(min(pulls, 2 * length)):
        arm = cycle[(phase + pull) % length]
        delay = min(start + pull - ledger.last[arm], width)
        again = 0 if pull < length else (pulls - 1 - pull) // length
        ledger.counts[arm, delay - 1] += 1 + again
        ledger.last[arm] = start + pull
    for pull in range(max(pulls - length, 0), pulls):
        ledger.last[cycle[(phase + pull) % length]] = start + pull
    ledger.totals[CLOCK] += pulls


@compiled
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
    totals = ledger.totals
    for run in range(len(numbers)):
        number = numbers[run]
        cycle = cycles.arms[cycles.starts[number] : cycles.starts[number + 1]]
        if number != totals[PREVIOUS]:
            totals[SWITCHES] += totals[PREVIOUS] != -1
            totals[PREVIOUS] = number
        done = 0
        while done < pulls[run]:
            step = pulls[run] - done
            if totals[CHECKPOINT] < len(checkpoints):
                step = min(step, checkpoints[totals[CHECKPOINT]] - totals[CLOCK])
            _advance(cycle, done % len(cycle), step, ledger)
            done += step
            while (
                totals[CHECKPOINT] < len(checkpoints)
                and checkpoints[totals[CHECKPOINT]] == totals[CLOCK]
            ):
                rewards[totals[CHECKPOINT]] = (ledger.counts * means).sum()
                switches[totals[CHECKPOINT]] = totals[SWITCHES]
                totals[CHECKPOINT] += 1
