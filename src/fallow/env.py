"""Instances as Gymnasium environments, and policies of other libraries as learners.

Importing this module registers `fallow/Bandit-v0`; `gymnasium.make("fallow.env:fallow/Bandit-v0")`
imports it by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from fallow import catalog, checks
from fallow.arrays import IntArray
from fallow.instance import Instance
from fallow.planners.cycle import Plan
from fallow.planners.ranking import ghost
from fallow.protocol import Block, Outcome


class BanditEnv(gymnasium.Env[IntArray, np.int64]):
    """An instance to be played pull by pull: an action is an arm, a reward 0 or 1.

    The observation is the delay of each arm in rounds, D + 1 for a rested one. `info` has
    `expected_reward`, the mean of the arm just pulled, and `regret`, the lead of the reference over
    the expected reward so far. An episode is cut after `horizon` pulls.

    Parameters
    ----------
    instance
        What to play; the first draw of the paper's Figure 2 by default.
    horizon
        Pulls of an episode.
    reference
        A plan or a gain per round, the best ranking policy by default.

    Examples
    --------
    >>> env = gymnasium.make("fallow/Bandit-v0", instance=catalog.figure3())
    >>> env.reset(seed=0)[0]
    array([3, 3])
    >>> env.step(1)[0]
    array([3, 1])
    """

    def __init__(
        self,
        instance: Instance | None = None,
        horizon: int = 1000,
        reference: Plan | float | None = None,
    ) -> None:
        self.instance = catalog.figure2() if instance is None else instance
        self.horizon = checks.whole_number("horizon", horizon, minimum=1)
        reference = ghost(self.instance) if reference is None else reference
        self._gain = reference.gain if isinstance(reference, Plan) else float(reference)
        arms, rested = self.instance.means.shape
        self.action_space = gymnasium.spaces.Discrete(arms)
        self.observation_space = gymnasium.spaces.MultiDiscrete(
            np.full(arms, rested), start=np.ones(arms, np.int64)
        )
        self._delays = self._rested()
        self._pulls = 0
        self._earned = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[IntArray, dict[str, Any]]:
        """Rest all arms."""
        super().reset(seed=seed, options=options)
        self._delays = self._rested()
        self._pulls = 0
        self._earned = 0.0
        return self._delays.copy(), {"expected_reward": 0.0, "regret": 0.0}

    def step(self, action: np.int64) -> tuple[IntArray, float, bool, bool, dict[str, Any]]:
        """Pull an arm."""
        if not self.action_space.contains(action):
            raise ValueError(
                f"action must be an arm from 0 to {self.instance.arms - 1}, got {action}"
            )
        arm = int(action)
        mean = float(self.instance.means[arm, self._delays[arm] - 1])
        reward = float(self.np_random.random() < mean)
        self._pulls += 1
        self._earned += mean
        self._delays = aged(self._delays, arm, self.instance.max_delay)
        info = {"expected_reward": mean, "regret": self._pulls * self._gain - self._earned}
        return self._delays.copy(), reward, False, self._pulls >= self.horizon, info

    def _rested(self) -> IntArray:
        return np.full(self.instance.arms, self.instance.max_delay + 1)


class PolicyLearner:
    """A policy from delays to an arm, as any RL library trains it on `BanditEnv`, as a learner.

    It starts at rest, and has no saved state: a policy is code.

    Parameters
    ----------
    policy
        A function from the observation of `BanditEnv` to an arm.
    arms, max_delay
        Of the environment that the policy knows.

    Examples
    --------
    >>> from fallow import simulate
    >>> alternate = PolicyLearner(lambda delays: delays.argmax(), arms=2, max_delay=2)
    >>> float(simulate(catalog.figure3(), alternate, horizon=4, seed=0).expected_reward(4))
    3.2666666666666666
    """

    def __init__(
        self, policy: Callable[[IntArray], int | np.integer], arms: int, max_delay: int
    ) -> None:
        self.policy = policy
        self.max_delay = checks.whole_number("max_delay", max_delay, minimum=0)
        self.delays = np.full(checks.whole_number("arms", arms, minimum=1), max_delay + 1)
        self.pending: Block | None = None

    def ask(self) -> Block:
        """Return the arm that the policy pulls at these delays."""
        self.pending = Block((int(self.policy(self.delays.copy())),))
        return self.pending

    def tell(self, block: Block, outcome: Outcome) -> None:  # noqa: ARG002, the policy is fixed
        """Move on to the next delays."""
        if self.pending is None or block != self.pending:
            raise ValueError(f"block must be the one asked for, {self.pending}, got {block}")
        self.pending = None
        self.delays = aged(self.delays, block.arms[0], self.max_delay)


def aged(delays: IntArray, pulled: int, max_delay: int) -> IntArray:
    """Return the delays one round later."""
    later = np.minimum(delays + 1, max_delay + 1)
    later[pulled] = 1
    return later


gymnasium.register(id="fallow/Bandit-v0", entry_point="fallow.env:BanditEnv")
