"""Random families, drawn from a seed, and families that break the paper's model."""

import numpy as np

from fallow import checks, decay
from fallow.instance import Instance

MAX_DRAWS = 10_000
"""Most draws that baselines drift through."""


def random_geometric(
    arms: int = 7, max_delay: int = 6, seed: int = 0, highest: float = 1.0
) -> Instance:
    """Baselines uniform on [0, highest], delays on 1..max_delay, f = rate^tau, rate on [0.5, 1].

    Examples
    --------
    >>> random_geometric(arms=100, max_delay=20)
    Instance(100 arms, delays up to 20)
    """
    draws = generator(seed)
    shape = decay.geometric(draws.uniform(0.5, 1))
    return _random_b2dep(draws, arms, max_delay, shape, highest)


def random_power(arms: int = 7, max_delay: int = 6, seed: int = 0) -> Instance:
    """Baselines and delays as in random_geometric, f = tau^-exponent, exponent on [0.1, 2].

    Examples
    --------
    >>> random_power(seed=1).arms
    7
    """
    draws = generator(seed)
    return _random_b2dep(draws, arms, max_delay, decay.power(draws.uniform(0.1, 2)))


def random_table(arms: int = 7, max_delay: int = 6, seed: int = 0) -> Instance:
    """Baselines and delays as in random_geometric, f sorted uniform values.

    Examples
    --------
    >>> random_table(seed=1).arms
    7
    """
    draws = generator(seed)
    return _random_b2dep(
        draws, arms, max_delay, lambda delays: np.sort(draws.random(len(delays)))[::-1]
    )


def random_blocking(
    arms: int = 7, max_delay: int = 6, seed: int = 0, highest: float = 1.0
) -> Instance:
    """Baselines and delays as in random_geometric, f = 1: no pay before the delay is over.

    Examples
    --------
    >>> bool(random_blocking(highest=0.05).means.max() <= 0.05)
    True
    """
    return _random_b2dep(generator(seed), arms, max_delay, decay.constant(1), highest)


def falling(seed: int = 0) -> Instance:
    """Seven arms whose payoff falls with rest, against the paper's model.

    The means of random_geometric at delays 1 to 7, in reverse.

    Examples
    --------
    >>> bool((np.diff(falling().means, axis=1) <= 0).all())
    True
    """
    return Instance(random_geometric(seed=seed).means[:, ::-1])


def mixed(seed: int = 0) -> Instance:
    """Seven arms, four whose payoff rises with rest and three whose payoff falls, in turn.

    The means of random_geometric, those of every other arm in reverse.

    Examples
    --------
    >>> steps = np.diff(mixed().means, axis=1)
    >>> bool((steps[::2] >= 0).all() and (steps[1::2] <= 0).all())
    True
    """
    means = random_geometric(seed=seed).means.copy()
    means[1::2] = means[1::2, ::-1]
    return Instance(means)


def drifting(progress: float = 0.0, seed: int = 0, draws: int = 2) -> Instance:
    """Arms of random_geometric whose baselines move, by progress in [0, 1], to other draws.

    They move evenly from each of the draws to the next.

    Examples
    --------
    >>> drifting(0) == drifting(1)
    False
    """
    source = generator(seed)
    count = checks.whole_number("draws", draws, minimum=2, maximum=MAX_DRAWS)
    place = checks.share("progress", progress) * (count - 1)
    stops = source.random((count, 7))
    before = min(int(place), count - 2)
    share = place - before
    baselines = (1 - share) * stops[before] + share * stops[before + 1]
    delays = source.integers(1, 7, 7)
    return Instance.b2dep(baselines, delays, decay.geometric(source.uniform(0.5, 1)))


def generator(seed: int) -> np.random.Generator:
    """Return where all randomness of an instance comes from."""
    return np.random.default_rng(checks.seed("seed", seed))


def _random_b2dep(
    draws: np.random.Generator,
    arms: int,
    max_delay: int,
    shape: decay.Decay,
    highest: float = 1.0,
) -> Instance:
    count = checks.whole_number("arms", arms, minimum=1, maximum=checks.MAX_ARMS)
    longest = checks.whole_number("max_delay", max_delay, minimum=1, maximum=checks.MAX_VALUES)
    checks.table_size(count, longest + 1)
    baselines = checks.share("highest", highest) * draws.random(count)
    return Instance.b2dep(baselines, draws.integers(1, longest + 1, count), shape)
