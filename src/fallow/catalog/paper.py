"""The paper's figures and examples, and counterexamples to its claims."""

from fallow import checks, decay
from fallow.catalog.families import generator
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
    delays = generator(seed).integers(1, 7, len(baselines))
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
