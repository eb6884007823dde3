"""The random instances that several questions are asked of."""

from collections.abc import Iterator

import numpy as np

from fallow import Instance, decay


def small_instances(count: int, seed: int, max_arms: int, max_delay: int) -> Iterator[Instance]:
    """Draw instances with geometric, power, table and blocking decays in equal parts."""
    generator = np.random.default_rng(seed)
    for draw in range(count):
        arms = generator.integers(2, max_arms + 1)
        baselines = generator.random(arms)
        delays = generator.integers(1, max_delay + 1, arms)
        families = [
            decay.geometric(generator.uniform(0.1, 0.999)),
            decay.power(generator.uniform(0.1, 3)),
            decay.table(np.sort(generator.random(max_delay))[::-1].tolist()),
            decay.constant(1),
        ]
        yield Instance.b2dep(baselines, delays, families[draw % len(families)])
