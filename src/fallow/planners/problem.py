"""The problem that planners solve: arms that may be pulled, means on one scale, and limits."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import compress

import numpy as np
import numpy.typing as npt

from fallow import checks
from fallow.arrays import FloatArray, IntArray
from fallow.instance import Instance
from fallow.kernels.bounds import best_delays, clearing_price
from fallow.kernels.cycles import FREE, obeys
from fallow.limits import NEVER, Limits, no_limits
from fallow.planners.graph import count_states
from fallow.rules import Arm, Rules


@dataclass(frozen=True, eq=False)
class Problem:
    """An instance as planners see it, made once for a plan; what follows from it is computed once.

    Attributes
    ----------
    instance
        The instance itself, with the names, means and rules that its owner knows.
    arms
        The arms that are not excluded. Planners number arms by their position here.
    means
        Their means, times the power of two that brings the largest of the instance to 1/2 or more,
        so that no tolerance depends on their scale. There are at least as many columns as the
        longest wait of a rule has rounds.
    limits
        The rules about these arms.

    Examples
    --------
    >>> problem = problem_of(Instance([[5e-324, 1e-323]]))
    >>> problem.means, problem.bound
    (array([[0.25, 0.5 ]]), 1e-323)
    """

    instance: Instance
    arms: IntArray
    means: FloatArray
    limits: Limits

    @cached_property
    def delays(self) -> IntArray:
        """The last delay of each arm that matters, to its mean or to a rule."""
        differs = self.means != self.means[:, -1:]
        last_different = (differs * np.arange(1, self.means.shape[1] + 1)).max(axis=1)
        waits = np.where(self.limits.longest < NEVER, self.limits.longest, 1)
        last: IntArray = np.maximum(last_different, np.maximum(self.limits.shortest, waits) - 1)
        for members, pulls, rounds in self.limits.caps():
            if pulls == 1:  # the member that was pulled last decides whether the cap is free
                last[members] = np.maximum(last[members], rounds - 1)
        return last

    @cached_property
    def states(self) -> int:
        """The number of states of the exact problem, before the limits take some away."""
        return count_states(self.delays, self.limits)

    @cached_property
    def ranked(self) -> Problem:
        """The same problem with its arms by decreasing baseline, ties in the instance's order."""
        return self.of(np.argsort(-self.means[:, -1], kind="stable"))

    @cached_property
    def price(self) -> float:
        """The price of a pull at which all arms together ask for one pull a round.

        It belongs to the relaxed problem, in which arms may be pulled at the same time.
        """
        return clearing_price(self.means, self.limits)

    @cached_property
    def bound(self) -> float:
        """The relaxed problem's bound on the gain of every policy, in reward per round.

        `fallow.upper_bound` explains it.
        """
        surplus, _ = best_delays(self.means, self.price, self.limits)
        size = abs(self.price) + float(np.abs(surplus).sum())
        return self.own_bound(self.price + math.fsum(surplus), size)

    @cached_property
    def is_overloaded(self) -> bool:
        """Whether rates of pulls alone show that the rules cannot all be kept."""
        rules, limits = self.instance.rules, self.limits
        excluded = {rule.arms for rule in rules if rule.kind == "exclude"}
        needed = {rule.arms for rule in rules if rule.kind == "at_least_once"}
        fewest = [
            Fraction(1, int(rounds)) if rounds < NEVER else Fraction() for rounds in limits.longest
        ]
        most = [Fraction(1, int(rounds)) for rounds in limits.shortest]
        if excluded & needed or any(map(operator.gt, fewest, most)) or sum(fewest) > 1:
            return True
        total, counted = Fraction(), np.zeros(len(most), np.bool_)
        for members, pulls, rounds in limits.caps():
            share = Fraction(pulls, rounds)
            if sum(compress(fewest, members)) > share:
                return True
            total += min(share, sum(compress(most, members & ~counted)))
            counted |= members
        return total + sum(compress(most, ~counted)) < 1

    def of(self, arms: IntArray) -> Problem:
        """Return the problem of some of the arms, in this order."""
        means = read_only(self.means[arms])
        return Problem(self.instance, self.arms[arms], means, self.limits.of(arms))

    def permits(self, cycle: IntArray) -> bool:
        """Tell whether the limits permit a cycle to be repeated; a free round breaks any limits."""
        return not self.limits.bind or (FREE not in cycle and bool(obeys(self.limits, cycle)))

    def forbids(self, periods: IntArray) -> npt.NDArray[np.bool_]:
        """Tell for each arm and period whether the limits want longer or shorter gaps."""
        too_often = periods < self.limits.shortest[:, np.newaxis]
        too_seldom = periods > self.limits.longest[:, np.newaxis]
        return np.logical_or(too_often, too_seldom)

    def own_bound(self, value: float, size: float) -> float:
        """Return an upper bound that was computed from scaled means as one for the instance.

        It is rounded up by more than the rounding error in sums of terms that add up to `size`.

        Examples
        --------
        >>> problem_of(Instance([[5e-324, 1e-323]])).own_bound(value=0.3, size=0.3)
        1e-323
        """
        exponent = _exponent(self.instance)
        above = value + 16 * np.finfo(float).eps * size
        bound = np.ldexp(above, exponent)
        if np.ldexp(bound, -exponent) < above:  # ldexp has rounded a subnormal number down
            bound = np.nextafter(bound, np.inf)
        return float(bound)


def problem_of(instance: Instance) -> Problem:
    """Return the problem of an instance, whether or not its rules can be kept.

    Examples
    --------
    >>> problem_of(Instance([[1.0], [0.5]], rules=Rules(exclude=[0]))).arms
    array([1])
    """
    means = _scaled_means(instance)
    if not instance.rules:
        return Problem(instance, np.arange(instance.arms), means, no_limits(instance.arms))
    excluded = {rule.arms[0] for rule in instance.rules if rule.kind == "exclude"}
    arms = np.array([arm for arm, name in enumerate(instance.names) if name not in excluded])
    limits = limits_of(instance.rules, instance.names).of(arms)
    waits = np.where(limits.longest < NEVER, limits.longest, limits.shortest)
    stretches = [rounds for _, pulls, rounds in limits.caps() if pulls == 1]
    width = max(means.shape[1], int(waits.max()), int(limits.shortest.max()), *stretches)
    checks.table_size(len(arms), width)
    widened = np.pad(means[arms], ((0, 0), (0, width - means.shape[1])), mode="edge")
    return Problem(instance, arms, read_only(widened), limits)


def limits_of(rules: Rules, names: tuple[str, ...]) -> Limits:
    """Return what rules demand of all arms, exclusions left aside."""
    numbers: dict[Arm, int] = {name: arm for arm, name in enumerate(names)}
    shortest, longest, *_ = no_limits(len(names))
    members: list[npt.NDArray[np.bool_]] = []
    pulls: list[int] = []
    rounds: list[int] = []
    for rule in rules:
        arms = [numbers[arm] for arm in rule.arms]
        if rule.kind == "at_least_once":
            longest[arms] = rule.rounds
        elif rule.kind != "exclude" and rule.pulls == len(arms) == 1:
            shortest[arms] = np.maximum(shortest[arms], rule.rounds)
        elif rule.kind != "exclude":
            members.append(np.isin(np.arange(len(names)), arms))
            pulls.append(rule.pulls)
            rounds.append(rule.rounds)
    return Limits(
        shortest,
        longest,
        np.array(members, np.bool_).reshape(len(members), len(names)),
        np.array(pulls, np.int64),
        np.array(rounds, np.int64),
    )


def worth_at(means: FloatArray, price: float) -> FloatArray:
    """Return what each arm earns a round beyond the price of its pulls, at its best delay.

    Examples
    --------
    >>> worth_at(np.array([[0.0, 1.0], [0.2, 0.2]]), price=0.5)
    array([ 0.25, -0.15])
    """
    worth: FloatArray = ((means - price) / np.arange(1, means.shape[1] + 1)).max(axis=1)
    return worth


def read_only(table: FloatArray) -> FloatArray:
    """Return a new table made read-only: kernels are compiled for such tables."""
    table.setflags(write=False)
    return table


def _scaled_means(instance: Instance) -> FloatArray:
    """Return the means of all arms on the scale of `Problem`.

    The scale only goes up, which is exact even for the smallest numbers. All means may be 0.
    """
    exponent = _exponent(instance)
    if exponent == 0:
        return instance.means
    return read_only(np.ldexp(instance.means, -exponent))


def _exponent(instance: Instance) -> int:
    _, exponent = np.frexp(instance.means.max())
    return min(int(exponent), 0)
