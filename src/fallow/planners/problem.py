"""What planners work on: the arms that may be pulled, their means on one scale, and the limits."""

from typing import NamedTuple

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray, IntArray
from fallow.instance import Instance
from fallow.limits import NEVER, Limits, no_limits
from fallow.rules import Arm, Rules


class Problem(NamedTuple):
    """An instance as planners see it.

    Attributes
    ----------
    arms
        The arms that are not excluded; all others are counted by their place in it.
    means
        Their means, times the power of two that brings the largest of the instance to 1/2 or more,
        so that no tolerance depends on their scale. At least as many columns as the longest wait of
        a rule has rounds.
    limits
        What the rules say about them.
    """

    arms: IntArray
    means: FloatArray
    limits: Limits

    @property
    def delays(self) -> IntArray:
        """The last delay that matters for each arm, to its mean or to a rule."""
        differs = self.means != self.means[:, -1:]
        last_different = (differs * np.arange(1, self.means.shape[1] + 1)).max(axis=1)
        waits = np.where(self.limits.longest < NEVER, self.limits.longest, 1)
        last: IntArray = np.maximum(last_different, np.maximum(self.limits.shortest, waits) - 1)
        for members, pulls, rounds in self.limits.caps():
            if pulls == 1:  # the youngest of them says whether the cap is free
                last[members] = np.maximum(last[members], rounds - 1)
        return last


def problem_of(instance: Instance) -> Problem:
    """Return what planners work on for an instance.

    Examples
    --------
    >>> problem_of(Instance([[5e-324, 1e-323]])).means
    array([[0.25, 0.5 ]])
    """
    means = scaled_means(instance)
    if not instance.rules:
        return Problem(np.arange(instance.arms), means, no_limits(instance.arms))
    excluded = {rule.arms[0] for rule in instance.rules if rule.kind == "exclude"}
    arms = np.array([arm for arm, name in enumerate(instance.names) if name not in excluded])
    limits = limits_of(instance.rules, instance.names).of(arms)
    waits = np.where(limits.longest < NEVER, limits.longest, limits.shortest)
    stretches = [rounds for _, pulls, rounds in limits.caps() if pulls == 1]
    width = max(means.shape[1], int(waits.max()), int(limits.shortest.max()), *stretches)
    checks.table_size(len(arms), width)
    widened = np.pad(means[arms], ((0, 0), (0, width - means.shape[1])), mode="edge")
    widened.setflags(write=False)
    return Problem(arms, widened, limits)


def limits_of(rules: Rules, names: tuple[str, ...]) -> Limits:
    """Return what rules say about all arms, exclusions left aside."""
    place: dict[Arm, int] = {name: arm for arm, name in enumerate(names)}
    shortest, longest, *_ = no_limits(len(names))
    caps = []
    for rule in rules:
        arms = [place[arm] for arm in rule.arms]
        if rule.kind == "at_least_once":
            longest[arms] = rule.rounds
        elif rule.kind != "exclude" and rule.pulls == len(arms) == 1:
            shortest[arms] = np.maximum(shortest[arms], rule.rounds)
        elif rule.kind != "exclude":
            caps.append((np.isin(np.arange(len(names)), arms), rule.pulls, rule.rounds))
    members = np.array([cap[0] for cap in caps], np.bool_).reshape(len(caps), len(names))
    pulls, rounds = (np.array([cap[place] for cap in caps], np.int64) for place in (1, 2))
    return Limits(shortest, longest, members, pulls, rounds)


def scaled_means(instance: Instance) -> FloatArray:
    """Return the means of all arms on the scale of `Problem`.

    Only ever up, which is exact down to the smallest numbers there are. All means may be 0.

    Examples
    --------
    >>> scaled_means(Instance([[5e-324, 1e-323]]))
    array([[0.25, 0.5 ]])
    """
    exponent = _exponent(instance)
    if exponent == 0:
        return instance.means
    scaled = np.ldexp(instance.means, -exponent)
    scaled.setflags(write=False)  # kernels are compiled for such tables
    return scaled


def bound_at_own_scale(instance: Instance, value: float, size: float) -> float:
    """Return an upper bound that was computed from scaled means as one for the instance.

    It is rounded up by more than the rounding error in sums of terms that add up to `size`.

    Examples
    --------
    >>> bound_at_own_scale(Instance([[5e-324, 1e-323]]), value=0.3, size=0.3)
    1e-323
    """
    exponent = _exponent(instance)
    above = value + 16 * np.finfo(float).eps * size
    bound = np.ldexp(above, exponent)
    if np.ldexp(bound, -exponent) < above:  # among the smallest numbers, half of what is meant
        bound = np.nextafter(bound, np.inf)
    return float(bound)


def _exponent(instance: Instance) -> int:
    _, exponent = np.frexp(instance.means.max())
    return min(int(exponent), 0)
