"""Policies of other libraries as learners."""

from collections.abc import Callable

import numpy as np

from fallow import checks
from fallow.arrays import IntArray
from fallow.errors import InputError
from fallow.protocol import Block, Outcome


class PolicyLearner:
    """A policy from delays to an arm, as any RL library trains it, as a learner.

    It starts at rest, and has no saved state: a policy is code.

    Parameters
    ----------
    policy
        A function from the observation of `fallow.env.BanditEnv`, the arms' delays, to an arm.
    arms, max_delay
        Of the environment that the policy knows.

    Examples
    --------
    >>> from fallow import catalog, simulate
    >>> alternate = PolicyLearner(lambda delays: delays.argmax(), arms=2, max_delay=2)
    >>> float(simulate(catalog.figure3(), alternate, horizon=4, seed=0).expected_reward(4))
    3.2666666666666666
    """

    def __init__(
        self, policy: Callable[[IntArray], int | np.integer], arms: int, max_delay: int
    ) -> None:
        self.policy = policy
        self.max_delay = checks.whole_number("max_delay", max_delay, minimum=0)
        self.delays = np.full(checks.arms(arms), self.max_delay + 1)
        self.pending: Block | None = None

    def ask(self) -> Block:
        """Return the arm that the policy pulls at these delays."""
        self.pending = Block((int(self.policy(self.delays.copy())),))
        return self.pending

    def tell(self, block: Block, outcome: Outcome) -> None:  # noqa: ARG002, the policy is fixed
        """Move on to the next delays."""
        if self.pending is None or block != self.pending:
            raise InputError("block", f"must be the one asked for, {self.pending}", f"{block}")
        self.pending = None
        self.delays = age(self.delays, block.arms[0], self.max_delay)


def age(delays: IntArray, pulled: int, max_delay: int) -> IntArray:
    """Return the delays one round later."""
    later = np.minimum(delays + 1, max_delay + 1)
    later[pulled] = 1
    return later
