"""The instances of sibling papers, in our model and as published."""

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray
from fallow.catalog.families import generator
from fallow.instance import Instance


def blocking_small(seed: int = 0) -> Instance:
    """Twenty blocking arms, gaps uniform on [.01, .05], delays on 1..10 (Basu et al. 2019).

    Examples
    --------
    >>> blocking_small().max_delay <= 10
    True
    """
    return _blocking(seed, shortest=1, longest=10)


def blocking_large(seed: int = 0) -> Instance:
    """The same twenty blocking arms with delays on 11..20 (Basu et al. 2019).

    Examples
    --------
    >>> bool(blocking_large().delays.min() > 10)
    True
    """
    return _blocking(seed, shortest=11, longest=20)


def blocking_fixed(seed: int = 0) -> Instance:
    """The same twenty blocking arms with all delays 10 (Basu et al. 2019).

    Examples
    --------
    >>> set(blocking_fixed().delays.tolist())
    {10}
    """
    return _blocking(seed, shortest=10, longest=10)


def recovering(seed: int = 0) -> Instance:
    """Ten arms that recover along logistic curves over 30 rounds (Pike-Burke et al. 2019).

    The mean at delay z is a / (1 + exp(-b (z - c))), with a and b uniform on [.1, 1] and c on
    [.1, 30].

    Examples
    --------
    >>> recovering().means.shape
    (10, 30)
    """
    return _logistic(generator(seed), first=1)


def published_blocking(seed: int = 0, shortest: int = 1, longest: int = 10) -> Instance:
    """The twenty blocking arms with delays D on shortest..longest as published (Basu et al. 2019).

    There an arm can be pulled every D rounds, so it is blocked for D - 1 of them. In
    `blocking_small` and its siblings it is blocked for D.

    Examples
    --------
    >>> int(published_blocking().delays.max()) <= 9
    True
    """
    least = checks.whole_number("shortest", shortest, minimum=1, maximum=checks.MAX_VALUES)
    most = checks.whole_number("longest", longest, minimum=least, maximum=checks.MAX_VALUES)
    checks.table_size(20, most)
    draws = generator(seed)
    baselines = _blocking_baselines(draws)
    pays = np.arange(1, most + 1) >= draws.integers(least, most + 1, (20, 1))
    return Instance(baselines[:, np.newaxis] * pays)


def published_recovering(seed: int = 0) -> Instance:
    """Ten arms that recover along logistic curves, as published (Pike-Burke et al. 2019).

    There z counts the rounds without a pull, so it is 0 right after one, up to 30. In `recovering`
    it is the delay, from 1 to 30.

    Examples
    --------
    >>> published_recovering().means.shape
    (10, 31)
    """
    return _logistic(generator(seed), first=0)


def trick_og() -> Instance:
    """Two arms on which greedy fails, "trickOG" (Laforgue et al. 2022).

    The first arm always pays .05; the second .06 right after a pull and .95 otherwise, so greedy
    pulls it all the time.

    Examples
    --------
    >>> from fallow import optimal
    >>> from fallow.planners import greedy
    >>> greedy(trick_og()).gain, optimal(trick_og()).gain
    (0.06, 0.5)
    """
    return Instance([[0.05, 0.05], [0.06, 0.95]])


def trick_csbog() -> Instance:
    """Five arms of which one pays only at delay 3, "trickCSBOG" (Laforgue et al. 2022).

    The second arm pays .95 after exactly three rounds and nothing otherwise; the third .96 from
    delay 9 on, .16 at delay 6 and .14 at all others; the other three always .15.

    Examples
    --------
    >>> from fallow import optimal
    >>> from fallow.planners import greedy
    >>> round(greedy(trick_csbog()).gain, 3), round(optimal(trick_csbog()).gain, 3)
    (0.152, 0.507)
    """
    means = np.full((5, 10), 0.15)
    means[1] = 0.0
    means[1, 2] = 0.95
    means[2] = 0.14
    means[2, 5] = 0.16
    means[2, 8:] = 0.96
    return Instance(means)


def _blocking(seed: int, shortest: int, longest: int) -> Instance:
    draws = generator(seed)
    baselines = _blocking_baselines(draws)
    return Instance.blocking(baselines, draws.integers(shortest, longest + 1, 20))


def _blocking_baselines(draws: np.random.Generator) -> FloatArray:
    baselines: FloatArray = 1 - np.cumsum(draws.uniform(0.01, 0.05, 20))
    return baselines


def _logistic(draws: np.random.Generator, first: int) -> Instance:
    """Return ten arms whose means at delay 1 are those of z = first."""
    height, slope = draws.uniform(0.1, 1, size=(2, 10, 1))
    middle = draws.uniform(0.1, 30, size=(10, 1))
    return Instance(height / (1 + np.exp(-slope * (np.arange(first, 31) - middle))))
