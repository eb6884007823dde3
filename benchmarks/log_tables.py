"""Tables of which logs are simulated, and what else tests and benchmarks of logs share."""

import numpy as np

from fallow import Instance, Learner, Log, Outcome
from fallow.arrays import FloatArray

ARMS, MAX_DELAY = 10, 8


def null_table(seed: int) -> Instance:
    """Return arms that do not wear out."""
    return Instance(np.repeat(_levels(seed), MAX_DELAY + 1, axis=1))


def weak_table(seed: int) -> Instance:
    """Return arms that lose a tenth of their level at first."""
    fading = 0.1 * np.exp(-3 * np.arange(MAX_DELAY) / MAX_DELAY)
    return Instance(_levels(seed) * (1 - np.append(fading, 0)))


def strong_table(seed: int) -> Instance:
    """Return arms that lose 70 % at first, and recover at delays of their own."""
    delays = np.random.default_rng(seed).integers(1, MAX_DELAY + 1, ARMS)
    lost = [0.7 * 0.8**age for age in range(MAX_DELAY)]
    return Instance.b2dep(_levels(seed)[:, 0], delays, lost)


def without_propensities(log: Log) -> Log:
    """Return the log as if nobody had noted the propensities."""
    bare = log.part(np.arange(log.users))
    bare.propensity = bare.propensities = None
    return bare


def replay(log: Log, learner: Learner, horizon: int) -> float:
    """Take the log's rewards whenever it played the arm that the learner asks for.

    This is right for ordinary bandits, and wrong here: the delays are the log's.
    """
    total, rounds = 0.0, 0
    for arm, reward in zip(log.arms.tolist(), log.rewards.tolist(), strict=True):
        block = learner.ask()  # the same until it is told
        if block.arms == (arm,):
            learner.tell(block, Outcome((reward,), (0.0,)))
            total, rounds = total + reward, rounds + 1
        if rounds == horizon:
            break
    return total / rounds


def _levels(seed: int) -> FloatArray:
    return np.random.default_rng([1, seed]).uniform(0.3, 0.8, (ARMS, 1))
