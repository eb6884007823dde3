"""Tables of which logs are simulated: without an effect of rest, with a weak and a strong one."""

import numpy as np

from fallow import Instance
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


def _levels(seed: int) -> FloatArray:
    return np.random.default_rng([1, seed]).uniform(0.3, 0.8, (ARMS, 1))
