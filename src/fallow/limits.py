"""Rules as arrays: what kernels must know of them."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fallow.arrays import IntArray

NEVER = 2**40
"""A number of rounds that nobody waits for; each file of kernels that needs it has a copy."""


class Limits(NamedTuple):
    """The rounds that each arm must and may wait, and the caps on pulls of several arms.

    An arm is pulled again after at least `shortest` rounds, and at most `longest`, which is NEVER
    where it need not be pulled. In any `rounds[cap]` rounds the arms in `members[cap]` together
    have at most `pulls[cap]` pulls. `bind` says whether anything is forbidden at all.

    Cached machine code knows fields by their places. A change of them, here or in `Past`, must come
    with a change of every file of kernels that imports the class.
    """

    shortest: IntArray
    longest: IntArray
    members: npt.NDArray[np.bool_]
    pulls: IntArray
    rounds: IntArray
    bind: bool = True

    def caps(self) -> Iterator[tuple[npt.NDArray[np.bool_], int, int]]:
        """Yield the members, pulls and rounds of each cap that has members."""
        for members, pulls, rounds in zip(self.members, self.pulls, self.rounds, strict=True):
            if members.any():
                yield members, int(pulls), int(rounds)

    def of(self, arms: IntArray) -> "Limits":
        """Return the limits of some of the arms, which bind whatever the others do."""
        return self._replace(
            shortest=self.shortest[arms],
            longest=self.longest[arms],
            members=np.ascontiguousarray(self.members[:, arms]),
        )


class Past(NamedTuple):
    """What limits and means must know of the pulls up to now.

    `delays` are the rounds since each arm was pulled, capped where it is rested. `waited` is how
    many of its longest wait an arm has used up. `recent[cap]` holds the rounds since the latest
    pulls that a cap counts, the last one first.
    """

    delays: IntArray
    waited: IntArray
    recent: IntArray


def rested_past(limits: Limits, rested: int) -> Past:
    """Return the past of arms that were never pulled, when every wait begins."""
    arms, caps = len(limits.shortest), len(limits.pulls)
    never = np.full((caps, int(limits.pulls.max(initial=1))), NEVER)
    return Past(np.full(arms, rested), np.ones(arms, np.int64), never)


def no_limits(arms: int) -> Limits:
    """Return the limits of arms that may be pulled at any time."""
    return Limits(
        np.ones(arms, np.int64),
        np.full(arms, NEVER),
        members=np.zeros((0, arms), np.bool_),
        pulls=np.zeros(0, np.int64),
        rounds=np.zeros(0, np.int64),
        bind=False,
    )
