"""What ranking policies earned."""

import math
from collections.abc import Sequence

import numpy as np

from fallow import checks
from fallow.arrays import IntArray
from fallow.errors import InputError
from fallow.learners import restored
from fallow.protocol import Block, Outcome


def checked_order(order: Sequence[int] | IntArray) -> tuple[int, ...]:
    """Return the arms from the largest baseline to the smallest, each of them once."""
    if not isinstance(order, Sequence | np.ndarray) or isinstance(order, str):
        raise InputError(
            "order",
            "must list the arms from the largest baseline to the smallest, such as instance.order",
            checks.short(order),
        )
    ranked = tuple(checks.whole_numbers("order", order, minimum=0))
    if sorted(ranked) != list(range(len(ranked))):
        raise InputError(
            "order", f"must hold each arm from 0 to {len(ranked) - 1} once", checks.short(ranked)
        )
    return ranked


class PolicyRewards:
    """What the ranking policies pi_1, ..., pi_k earned, pull by pull.

    The first play after a change of policy only calibrates the delays (paper, section 6) and is
    left out. A policy that goes on being played loses nothing. All pulls that are counted are
    independent, and over whole plays of pi_m their expectations have the average g(m).

    Parameters
    ----------
    order
        The arms by decreasing baseline.

    Attributes
    ----------
    counts, sums
        Pulls that count and their rewards; pi_m stands at place m - 1.
    last
        m of the policy played last, 0 before the first.

    Examples
    --------
    >>> rewards = PolicyRewards(order=(0, 1))
    >>> rewards.block(arms=2, pulls=4)
    Block(arms=(0, 1), plays=3)
    >>> rewards.credit(Block((0, 1), 3), Outcome(first=(1.0, 1.0), rest=(2.0, 1.0)))
    >>> rewards.counts, rewards.average(2)
    ([0, 4], 0.75)
    >>> rewards.block(arms=2, pulls=4)
    Block(arms=(0, 1), plays=2)
    """

    def __init__(self, order: Sequence[int] | IntArray) -> None:
        self.order = checked_order(order)
        self.counts = [0] * len(self.order)
        self.sums = [0.0] * len(self.order)
        self.last = 0

    def check(self, order: tuple[int, ...]) -> None:
        """Check rewards that were restored, of the policies with this order."""
        restored.equal("progress.rewards.order", self.order, order)
        restored.rewards("progress.rewards.", self.counts, self.sums, (len(order),))
        restored.whole_number("progress.rewards.last", self.last, least=0, most=len(order))

    def average(self, arms: int) -> float:
        """Return the average reward of the policy over so many arms; it must have been played."""
        # A sum may carry a rounding error.
        return min(self.sums[arms - 1] / self.counts[arms - 1], 1.0)

    def block(self, arms: int, pulls: int) -> Block:
        """Return a block of the policy over so many arms in which at least `pulls` pulls count."""
        calibration = int(arms != self.last)
        return Block(self.order[:arms], math.ceil(pulls / arms) + calibration)

    def credit(self, block: Block, outcome: Outcome) -> None:
        """Enter what a block earned."""
        arms = len(block.arms)
        plays, reward = block.plays, math.fsum(outcome.rest)
        if arms == self.last:
            reward += math.fsum(outcome.first)
        else:
            plays -= 1
        self.counts[arms - 1] += plays * arms
        self.sums[arms - 1] += reward
        self.last = arms
