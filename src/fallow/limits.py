"""Rules as arrays: what kernels must know of them."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fallow.arrays import IntArray

NEVER = 2**40
"""A number of rounds that nobody waits for."""


class Limits(NamedTuple):
    """The rounds that each arm must and may wait, and the caps on pulls of several arms.

    An arm is pulled again after at least `shortest` rounds, and at most `longest`, which is NEVER
    where it need not be pulled. In any `rounds[cap]` rounds the arms in `members[cap]` together
    have at most `pulls[cap]` pulls. `bind` says whether anything is forbidden at all.
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
