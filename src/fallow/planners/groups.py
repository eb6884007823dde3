"""Ever tighter upper bounds: arms that collide are planned together, all others are priced."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fallow.arrays import IntArray
from fallow.kernels import policies
from fallow.kernels.bounds import best_delays
from fallow.kernels.cycles import FREE, fill
from fallow.kernels.indices import whittle_indices
from fallow.limits import NEVER, Limits
from fallow.planners.feasible import conflict
from fallow.planners.graph import count_states, graph_of
from fallow.planners.problem import Problem, read_only, worth_at

EFFORT = 100_000
"""Delay vectors of all groups together, by default: some tenths of a second."""
FIRST_VECTORS = 512
"""Delay vectors that the first groups have together."""
GROWTH = 4
"""How many times as many the next ones have."""
MAX_VECTORS = 2**24
"""Delay vectors that can be held, in some 2 GB."""
FURTHER_ARMS = 8
"""Arms not worth their price that may still join a group, for rounds in which others must rest."""
FIRST_STEP = 0.01
"""Distance from the first price to the second one that is tried."""
MAX_PRICES = 20
"""Prices that are tried for one set of groups."""
MAX_SWEEPS = 400
"""Sweeps of policy iteration at one price; what is left to improve makes the bound looser."""
PRECISION = 1e-10
"""Precision of the best price's bound, where the largest mean is 1/2 or more."""


class Refinement(NamedTuple):
    """A bound, and the best cycle of the first group with its idle rounds filled by all arms.

    The cycle is None where it cannot be filled without breaking a rule.
    """

    bound: float
    cycle: IntArray | None


class Tangent(NamedTuple):
    """The bound at a price, on the scale of `scaled_means`, and how fast it rises there."""

    price: float
    bound: float
    slope: float
    size: float
    """What the absolute values of all terms add up to; it decides how far to round up."""


def refinements(problem: Problem, effort: int) -> Iterator[Refinement]:
    """Yield bounds from larger and larger groups of arms, none below any policy's long-run average.

    Let g be a group of arms, p a price, and G_g(p) the optimal gain of these arms together with an
    idle arm that always pays p. To a group, the rounds of any schedule that pull other arms are
    idle ones: its own pulls a round, n_g, earn at most G_g(p) - (1 - n_g) p. A single arm earns at
    most n_i p and its surplus, max(0, max_t (mu_i(t) - p) / t), since its gaps t add up to no more
    than the rounds. All pulls together are one a round. So for every p, and groups without common
    arms,

        optimum <= p + sum_g (G_g(p) - p) + sum over all other arms of their surplus.

    For G_g(p) the code uses max_s (TV - V)(s), which is not below it, whatever values V policy
    iteration has come to. The right side is convex in p. Its slope is one less the pulls a round of
    the groups' best cycles and of the other arms, so that a few tangents lead to the best price.

    Groups are dealt again at the best price so far: of the arms by decreasing surplus, a group
    takes all that it has delay vectors for, the next one those of the rest, and so on. There are
    `FIRST_VECTORS` for all groups, then `GROWTH` times as many, while `effort` is enough for all
    that were ever dealt, and there is memory. So more effort only adds bounds.

    With rules, a group obeys those among its own arms, and a single arm its waits; the surplus of
    one that must be pulled may be below 0.
    """
    if effort < FIRST_VECTORS:
        return
    price = problem.price
    dealt: list[list[int]] = []
    room = FIRST_VECTORS
    while room <= min(effort, MAX_VECTORS):
        before, dealt = dealt, _dealt(problem, price, room)
        if dealt and dealt != before:
            groups = [Group(problem, arms, price) for arms in dealt]
            if any(group.is_stuck for group in groups):
                raise conflict(problem.instance)
            least = _least_bound(problem, groups, price)
            price = least.price
            bound = problem.own_bound(least.bound, least.size)
            yield Refinement(bound, _filled(problem, groups[0].cycle))
        effort -= room
        room *= GROWTH


def _filled(problem: Problem, cycle: IntArray) -> IntArray | None:
    """Return a cycle with its free rounds filled, arms as those of the instance."""
    filled = fill(problem.means, problem.limits, cycle)
    return problem.arms[filled] if problem.permits(filled) else None


class Group:
    """Some arms and an idle one, planned together at one price of a pull after the other."""

    def __init__(self, problem: Problem, arms: list[int], price: float) -> None:
        self.arms = arms
        delays = np.append(problem.delays[arms], 0)
        width = delays.max() + 1
        idle = np.full((1, width), price)
        rewards = read_only(np.concatenate((problem.means[arms, :width], idle)))
        self._graph = graph_of(rewards, delays, _with_idle(problem.limits, arms))
        self._policy = policies.index_policy(self._graph, whittle_indices(rewards))
        self._scores = np.zeros((len(self._graph.delays), 2))

    @property
    def is_stuck(self) -> bool:
        """Whether the rules cannot be kept, even if these arms have all rounds that they want."""
        return len(self._graph.delays) == 0

    def solve(self, price: float) -> tuple[float, float]:
        """Return a bound on the gain when idling pays the price, and the size of its terms."""
        rewards = self._graph.means.copy()
        rewards[-1] = price
        self._graph = self._graph._replace(means=read_only(rewards))
        policies.reprice(self._graph, self._policy)
        for _ in range(MAX_SWEEPS):
            policies.evaluate(self._policy, self._scores)
            if policies.improve(self._graph, self._policy, self._scores) == 0:
                break
        rise = policies.largest_rise(self._graph, self._scores)
        return rise, abs(rise) + 2 * float(np.abs(self._scores[:, 1]).max())

    @property
    def cycle(self) -> IntArray:
        """The best cycle at the last price, FREE where the group idles."""
        labels = np.array([*self.arms, FREE])
        cycle: IntArray = labels[policies.best_cycle(self._policy, self._scores)]
        return cycle


def _with_idle(limits: Limits, arms: list[int]) -> Limits:
    """Return the limits of some arms and, last, of an idle one, which has none."""
    some = limits.of(np.array(arms))
    return some._replace(
        shortest=np.append(some.shortest, 1),
        longest=np.append(some.longest, NEVER),
        members=np.pad(some.members, ((0, 0), (0, 1))),
    )


def _dealt(problem: Problem, price: float, room: int) -> list[list[int]]:
    """Return groups of two arms or more that together have at most `room` delay vectors."""
    worth = worth_at(problem.means, price)
    by_worth = np.argsort(-worth, kind="stable")
    left = by_worth[: (worth > 0).sum() + FURTHER_ARMS].tolist()
    groups: list[list[int]] = []
    while left and worth[left[0]] > 0:
        group: list[int] = []
        for arm in left:
            if _vectors(problem, [*group, arm]) <= room:
                group.append(arm)
        if len(group) < 2:
            break
        groups.append(group)
        room -= _vectors(problem, group)
        left = [arm for arm in left if arm not in group]
    return groups


def _vectors(problem: Problem, arms: list[int]) -> int:
    """Return the number of delay vectors of some arms and an idle one."""
    return count_states(np.append(problem.delays[arms], 0), _with_idle(problem.limits, arms))


def _least_bound(problem: Problem, groups: list[Group], price: float) -> Tangent:
    """Return the bound at about the best price.

    Look left and right of the price to start with until the slope changes its sign; then go to
    where the tangents of both sides meet, again and again.
    """
    below: Tangent | None = None
    above: Tangent | None = None
    least = tangent = _tangent(problem, groups, price)
    step = FIRST_STEP
    for _ in range(MAX_PRICES):
        if abs(tangent.slope) < PRECISION:
            break
        if tangent.slope < 0:
            below = tangent
        else:
            above = tangent
        if below is None or above is None:
            price += math.copysign(step, -tangent.slope)
            step *= 2
        else:
            price = _crossing(below, above)
            if below.bound + below.slope * (price - below.price) > least.bound - PRECISION:
                break
        tangent = _tangent(problem, groups, price)
        least = min(least, tangent, key=lambda candidate: candidate.bound)
    return least


def _crossing(below: Tangent, above: Tangent) -> float:
    """Return the price at which two tangents meet."""
    at_zero = [tangent.bound - tangent.slope * tangent.price for tangent in (below, above)]
    return (at_zero[0] - at_zero[1]) / (above.slope - below.slope)


def _tangent(problem: Problem, groups: list[Group], price: float) -> Tangent:
    """Return the bound at a price; all groups end solved there."""
    surplus, rates = best_delays(problem.means, price, problem.limits)
    terms, size, pulls = [price], abs(price), 0.0
    for group in groups:
        surplus[group.arms] = rates[group.arms] = 0
        rise, magnitude = group.solve(price)
        terms += [rise, -price]
        size += magnitude + abs(price)
        pulls += float((group.cycle != FREE).mean())
    size += float(np.abs(surplus).sum())
    return Tangent(price, math.fsum([*terms, *surplus]), 1 - pulls - float(rates.sum()), size)
