"""Named instances: the paper's figures and examples, counterexamples, and random families.

Arms stand in the order of decreasing baseline where the paper numbers them so. Whatever is random
is drawn from a seed.
"""

from collections.abc import Callable, Mapping
from inspect import signature
from types import MappingProxyType

import numpy as np

from fallow import checks, decay, user_code
from fallow.instance import Instance
from fallow.planners import maintenance as periodic_maintenance


def figure2(seed: int = 0) -> Instance:
    """Seven arms, f(tau) = 0.999^tau, delays drawn from 1..6 (paper, Figure 2).

    Examples
    --------
    >>> figure2(seed=3).arms
    7
    """
    baselines = [1, 14 / 15, 13 / 15, 4 / 5, 2 / 3, 1 / 3, 0]
    delays = _generator(seed).integers(1, 7, len(baselines))
    return Instance.b2dep(baselines, delays, decay.geometric(0.999))


def figure3(epsilon: float = 0.0) -> Instance:
    """Two arms, mu_2 = 13/15 + epsilon; at 0 both ranking policies earn 0.7 (paper, Figure 3).

    Examples
    --------
    >>> from fallow.planners import ranking_gains
    >>> ranking_gains(figure3())
    array([0.7, 0.7])
    """
    second = 13 / 15 + checks.number("epsilon", epsilon)
    return Instance.b2dep([1, second], delays=[2, 2], decay=[0.3, 0.25])


def greedy_trap(epsilon: float = 0.1) -> Instance:
    """Greedy earns only 1/(3/2 - epsilon) of the optimum (paper, section 3).

    Examples
    --------
    >>> from fallow import optimal
    >>> from fallow.planners import greedy
    >>> greedy(greedy_trap()).gain, round(optimal(greedy_trap()).gain, 12)
    (0.5, 0.7)
    """
    second = 0.5 - checks.number("epsilon", epsilon)
    return Instance.b2dep([1, second], delays=[1, 1], decay=decay.constant(0.5))


def non_monotone() -> Instance:
    """The example after Theorem 2 as printed, f = 2^-tau; its gains in fact rise with m.

    Examples
    --------
    >>> from fallow.planners import ranking_gains
    >>> ranking_gains(non_monotone()).round(4)
    array([0.5   , 0.625 , 0.7222])
    """
    return Instance.b2dep([1, 2 / 3, 1 / 2], delays=[2, 2, 2], decay=decay.geometric(0.5))


def non_monotone_constant() -> Instance:
    """The same with constant f = 1/2, where g(2) < g(1) < g(3) as the paper says.

    Examples
    --------
    >>> from fallow.planners import ranking_gains
    >>> ranking_gains(non_monotone_constant()).round(4)
    array([0.5   , 0.4167, 0.7222])
    """
    return Instance.b2dep([1, 2 / 3, 1 / 2], delays=[2, 2, 2], decay=decay.constant(0.5))


def theorem2_counterexample() -> Instance:
    """Delays differ, and ghost earns less than 1 - f(r_0) = 1 of the optimum (Theorem 2).

    Examples
    --------
    >>> from fallow import optimal
    >>> from fallow.planners import ghost
    >>> round(ghost(theorem2_counterexample()).gain, 4), optimal(theorem2_counterexample()).cycle
    (0.6667, (2, 1, 0, 1))
    """
    return Instance.b2dep([1, 0.99, 0.01], delays=[2, 1, 1], decay=[1, 1])


def theorem2_mild_counterexample() -> Instance:
    """A milder counterexample to Theorem 2: ghost 0.8, another cycle 0.825.

    Examples
    --------
    >>> from fallow.planners import ghost
    >>> round(ghost(theorem2_mild_counterexample()).gain, 12)
    0.8
    """
    return Instance.b2dep([1, 0.9, 0.5], delays=[5, 1, 5], decay=[0.9, 0.9, 0, 0, 0])


def maintenance(intervals: tuple[int, ...] = (2, 4, 4)) -> Instance:
    """Machines with fixed service intervals, and an idle arm (paper, Theorem 1).

    Examples
    --------
    >>> maintenance((2, 3)).names
    ('machine 1', 'machine 2', 'idle')
    """
    return periodic_maintenance.instance(intervals)


def random_geometric(arms: int = 7, max_delay: int = 6, seed: int = 0) -> Instance:
    """Baselines uniform on [0, 1], delays on 1..max_delay, f = rate^tau, rate on [0.5, 1].

    Examples
    --------
    >>> random_geometric(arms=100, max_delay=20)
    Instance(100 arms, delays up to 20)
    """
    generator = _generator(seed)
    return _random_b2dep(generator, arms, max_delay, decay.geometric(generator.uniform(0.5, 1)))


def random_power(arms: int = 7, max_delay: int = 6, seed: int = 0) -> Instance:
    """Baselines and delays as in random_geometric, f = tau^-exponent, exponent on [0.1, 2].

    Examples
    --------
    >>> random_power(seed=1).arms
    7
    """
    generator = _generator(seed)
    return _random_b2dep(generator, arms, max_delay, decay.power(generator.uniform(0.1, 2)))


def random_table(arms: int = 7, max_delay: int = 6, seed: int = 0) -> Instance:
    """Baselines and delays as in random_geometric, f sorted uniform values.

    Examples
    --------
    >>> random_table(seed=1).arms
    7
    """
    generator = _generator(seed)
    return _random_b2dep(
        generator, arms, max_delay, lambda delays: np.sort(generator.random(len(delays)))[::-1]
    )


def falling(seed: int = 0) -> Instance:
    """Seven arms whose payoff falls with rest, against the paper's model.

    The means of random_geometric at delays 1 to 7, in reverse.

    Examples
    --------
    >>> bool((np.diff(falling().means, axis=1) <= 0).all())
    True
    """
    return Instance(random_geometric(seed=seed).means[:, ::-1])


def drifting(progress: float = 0.0, seed: int = 0) -> Instance:
    """Arms of random_geometric whose baselines move, by progress in [0, 1], to another draw.

    Examples
    --------
    >>> drifting(0) == drifting(1)
    False
    """
    generator = _generator(seed)
    share = checks.share("progress", progress)
    start, end = generator.random((2, 7))
    delays = generator.integers(1, 7, 7)
    baselines = (1 - share) * start + share * end
    return Instance.b2dep(baselines, delays, decay.geometric(generator.uniform(0.5, 1)))


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
    generator = _generator(seed)
    height, slope = generator.uniform(0.1, 1, size=(2, 10, 1))
    middle = generator.uniform(0.1, 30, size=(10, 1))
    return Instance(height / (1 + np.exp(-slope * (np.arange(1, 31) - middle))))


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


ENTRIES: Mapping[str, Callable[..., Instance]] = MappingProxyType(
    {
        entry.__name__: entry
        for entry in (
            figure2,
            figure3,
            greedy_trap,
            non_monotone,
            non_monotone_constant,
            theorem2_counterexample,
            theorem2_mild_counterexample,
            maintenance,
            random_geometric,
            random_power,
            random_table,
            falling,
            drifting,
            blocking_small,
            blocking_large,
            blocking_fixed,
            recovering,
            trick_og,
            trick_csbog,
        )
    }
)
"""Every instance of this module by name."""


def build(name: str, parameters: Mapping[str, object] = MappingProxyType({})) -> Instance:
    """Return a catalog instance by its name and parameters.

    Examples
    --------
    >>> build("figure2", {"seed": 3}) == figure2(seed=3)
    True
    """
    entry = find_entry(name)
    checks.arguments(name, entry, parameters)
    return _made(entry, parameters)


def source(name: str, parameters: Mapping[str, object]) -> Instance | Callable[[int], Instance]:
    """Return an instance, or a family, a function of a seed, if it is random and has no seed.

    Examples
    --------
    >>> source("figure3", {}) == figure3()
    True
    >>> family = source("figure2", {})
    >>> callable(family) and family(3) == figure2(seed=3)
    True
    """
    entry = find_entry(name)
    checks.mapping("parameters", parameters)
    if "seed" not in signature(entry).parameters or "seed" in parameters:
        return build(name, parameters)
    checks.arguments(name, entry, {**parameters, "seed": 0})
    return lambda seed: _made(entry, {**parameters, "seed": seed})


def find_entry(name: str) -> Callable[..., Instance]:
    """Return the function behind a name: one of `ENTRIES`, or a user's own that was loaded."""
    if user_code.is_user_code(name):
        entry: Callable[..., Instance] = user_code.find(name)
        return entry
    checks.one_of("name", name, ENTRIES)
    return ENTRIES[name]


def _made(entry: Callable[..., Instance], parameters: Mapping[str, object]) -> Instance:
    made: object = entry(**parameters)
    if not isinstance(made, Instance):
        raise ValueError(f"{entry.__name__} must return an Instance, got {checks.short(made)}")
    return made


def _generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(checks.seed("seed", seed))


def _random_b2dep(
    generator: np.random.Generator, arms: int, max_delay: int, shape: decay.Decay
) -> Instance:
    count = checks.whole_number("arms", arms, minimum=1, maximum=checks.MAX_ARMS)
    longest = checks.whole_number("max_delay", max_delay, minimum=1, maximum=checks.MAX_VALUES)
    checks.table_size(count, longest + 1)
    baselines = generator.random(count)
    return Instance.b2dep(baselines, generator.integers(1, longest + 1, count), shape)


def _blocking(seed: int, shortest: int, longest: int) -> Instance:
    generator = _generator(seed)
    baselines = 1 - np.cumsum(generator.uniform(0.01, 0.05, 20))
    return Instance.blocking(baselines, generator.integers(shortest, longest + 1, 20))
