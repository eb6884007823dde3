"""Logs with known truth: users with tastes and moods, and several ways to choose for them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray
from fallow.instance import Instance
from fallow.logs.log import Log

USER, TASTE, MOOD = 0.05, 0.1, 0.1
"""Standard deviations over users: of their level, of their taste for an arm, of its mood."""
PERSISTENCE = 0.95
"""Correlation of a mood from one round to the next."""
LOWEST, HIGHEST = 0.02, 0.98
"""Chances of a reward are cut off here."""
EXPLORE = 0.1
"""Share of the decisions that are drawn evenly."""


class Behaviour(NamedTuple):
    """How much each thing weighs in the choice of an arm, on the scale of log odds.

    The arm's `level` (popularity), the user's `taste` for it, its `record` with the user (average
    reward so far), the `last` reward of the two, and the user's `mood` for it, which comes and
    goes. Moods exist only where they weigh in.
    """

    level: float = 0.0
    taste: float = 0.0
    record: float = 0.0
    last: float = 0.0
    mood: float = 0.0


BEHAVIOURS = {
    "uniform": Behaviour(),
    "softmax": Behaviour(level=4),
    "taste": Behaviour(level=4, taste=10),
    "recommender": Behaviour(record=4, last=1.5),
    "momentum": Behaviour(level=4, taste=10, mood=10),
    "all": Behaviour(level=2, taste=5, record=3, last=1, mood=8),
}


def simulate_log(
    instance: Instance,
    users: int,
    rounds: int,
    behaviour: str = "uniform",
    seed: int = 0,
    explore: float = EXPLORE,
    greedy: bool = False,
) -> Log:
    """Return the log of users who start rested, with the propensities of all arms.

    A reward is 1 with the chance that the table has for its cell, shifted by the user's level,
    taste and mood. Arms are drawn with softmax chances by the behaviour, but for a share of
    decisions that is drawn evenly.

    Parameters
    ----------
    instance
        The table of means that users have on average.
    users, rounds
        How many users, and rounds of each.
    behaviour
        How arms were chosen: "uniform", "softmax" (popular ones more often), "taste" (by the
        user's own too), "recommender" (by rewards so far), "momentum" (by taste and mood), "all".
    seed
        The same seed gives the same log.
    explore
        The share of decisions that are drawn evenly.
    greedy
        Whether all others take the arm with the best odds, where they would else be drawn too.

    Examples
    --------
    >>> from fallow import catalog
    >>> simulate_log(catalog.figure2(), users=20, rounds=50, behaviour="recommender")
    Log(1,000 plays, 20 users, 7 arms, delays up to 6)
    """
    checks.whole_number("users", users, minimum=1)
    checks.whole_number("rounds", rounds, minimum=1)
    checks.one_of("behaviour", behaviour, BEHAVIOURS)
    checks.share("explore", explore)
    draw = np.random.default_rng(checks.seed("seed", seed))
    weigh = BEHAVIOURS[behaviour]
    shape = users, instance.arms
    everyone = np.arange(users)
    level = USER * draw.standard_normal((users, 1))
    taste = TASTE * draw.standard_normal(shape)
    mood = MOOD * draw.standard_normal(shape) if weigh.mood else np.zeros(shape)
    pulls, wins, last = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    delays = np.full(shape, instance.max_delay + 1)
    liking = weigh.level * instance.baselines + weigh.taste * taste
    arms = np.empty((rounds, users), np.int64)
    rewards = np.empty((rounds, users))
    propensities = np.empty((rounds, *shape))
    for now in range(rounds):
        record = (wins + 1) / (pulls + 2)
        odds = liking + weigh.record * record + weigh.last * last + weigh.mood * mood
        behind = odds - odds.max(axis=1, keepdims=True)
        chances = (behind == 0).astype(float) if greedy else np.exp(behind)
        chances *= (1 - explore) / chances.sum(axis=1, keepdims=True)
        chances += explore / instance.arms
        arm = _drawn(chances, draw)
        means = instance.means[arm, delays[everyone, arm] - 1]
        shift = level[:, 0] + (taste + mood)[everyone, arm]
        reward = (draw.random(users) < np.clip(means + shift, LOWEST, HIGHEST)).astype(float)
        arms[now], rewards[now], propensities[now] = arm, reward, chances
        pulls[everyone, arm] += 1
        wins[everyone, arm] += reward
        last[everyone, arm] = reward
        np.minimum(delays + 1, instance.max_delay + 1, out=delays)
        delays[everyone, arm] = 1
        if weigh.mood:
            fresh = MOOD * math.sqrt(1 - PERSISTENCE**2) * draw.standard_normal(shape)
            mood = PERSISTENCE * mood + fresh
    return Log(
        user=np.tile(everyone, rounds),
        time=np.repeat(np.arange(rounds), users),
        arm=arms.ravel(),
        reward=rewards.ravel(),
        propensities=propensities.reshape(rounds * users, instance.arms),
        max_delay=instance.max_delay,
        arms=range(instance.arms),
        from_start=True,
    )


def _drawn(chances: FloatArray, draw: np.random.Generator) -> np.ndarray:
    """Return an arm for each user, drawn with the chances in its row."""
    points = draw.random((len(chances), 1))
    below = (np.cumsum(chances, axis=1)[:, :-1] <= points).sum(axis=1)
    return np.asarray(below)


def true_means(instance: Instance, behaviour: str = "uniform") -> FloatArray:
    """Return the expected reward of each cell over users, to which logs of it converge.

    It differs from the table only where chances are cut off.
    """
    variance = USER**2 + TASTE**2 + (MOOD**2 if BEHAVIOURS[behaviour].mood else 0)
    points, weights = np.polynomial.hermite_e.hermegauss(61)
    chances = instance.means[..., np.newaxis] + math.sqrt(variance) * points
    means: FloatArray = np.clip(chances, LOWEST, HIGHEST) @ (weights / weights.sum())
    return means
