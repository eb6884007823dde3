"""Instances as Gymnasium environments.

Importing this module registers `fallow/Bandit-v0`; `gymnasium.make("fallow.env:fallow/Bandit-v0")`
imports it by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fallow import catalog, checks
from fallow.arrays import IntArray
from fallow.errors import InputError
from fallow.extras import needed_by
from fallow.instance import Instance, check_instance
from fallow.learners.policy import age
from fallow.planners.cycle import Plan, gain_of
from fallow.planners.ranking import ghost

with needed_by("an environment"):
    import gymnasium


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
        check_instance(self.instance)
        self.horizon = checks.whole_number("horizon", horizon, minimum=1)
        reference = ghost(self.instance) if reference is None else reference
        self._gain = gain_of("reference", reference)
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
            raise InputError(
                "action", f"must be an arm from 0 to {self.instance.arms - 1}", f"{action}"
            )
        arm = int(action)
        mean = float(self.instance.means[arm, self._delays[arm] - 1])
        reward = float(self.np_random.random() < mean)
        self._pulls += 1
        self._earned += mean
        self._delays = age(self._delays, arm, self.instance.max_delay)
        info = {"expected_reward": mean, "regret": self._pulls * self._gain - self._earned}
        return self._delays.copy(), reward, False, self._pulls >= self.horizon, info

    def _rested(self) -> IntArray:
        return np.full(self.instance.arms, self.instance.max_delay + 1)


gymnasium.register(id="fallow/Bandit-v0", entry_point="fallow.env:BanditEnv")
