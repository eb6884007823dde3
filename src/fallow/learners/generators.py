"""The random numbers of learners."""

import numpy as np


def own_generator(seed: int) -> np.random.Generator:
    """Return a stream apart from the one that the simulator draws from an equal seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
