"""What every planner returns, and the evaluator they share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fallow import checks
from fallow.arrays import IntArray
from fallow.errors import InputError
from fallow.instance import Instance, check_instance
from fallow.kernels.cycles import cycle_rewards, shortest_period
from fallow.planners.feasible import broken_rules
from fallow.planners.problem import Problem, problem_of
from fallow.text import first_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_NAMES = 6
"""Pulls that a plan or a schedule names in a line."""


@dataclass(frozen=True, repr=False)
class Plan:
    """A cycle of arms to repeat without end, with its certificate.

    Every policy that decides by the delays alone ends in a cycle (paper, section 3), so a cycle
    carries every plan.

    Attributes
    ----------
    cycle
        Arms in the order in which they are pulled, counted from 0.
    names
        Their names, in the same order.
    gain
        Average expected reward per round of the repeated cycle.
    upper_bound
        What no policy's average can exceed.
    method
        The planner that found the cycle.

    Examples
    --------
    >>> from fallow import plan
    >>> plan(Instance.blocking([1, 0.5], delays=[1, 1], names=["hymn", "waltz"]))
    Plan(gain=0.750, certificate=100.0%, cycle of 2: waltz, hymn)
    """

    cycle: tuple[int, ...]
    names: tuple[str, ...]
    gain: float
    upper_bound: float
    method: str

    @property
    def certificate(self) -> float:
        """Proved share of the optimum: gain / upper_bound, at most 1."""
        return self.gain / self.upper_bound if self.upper_bound > 0 else 1.0

    @property
    def residual(self) -> float:
        """Reward per round that the optimum may have beyond this plan: upper_bound - gain."""
        return self.upper_bound - self.gain

    @classmethod
    def of(
        cls,
        instance: Instance,
        cycle: Sequence[int] | IntArray,
        method: str,
        bound: float | None = None,
    ) -> Plan:
        """Return the plan that repeats a cycle, certified by a bound or by the relaxed problem's.

        Examples
        --------
        >>> Plan.of(Instance.blocking([1, 1], delays=[1, 1]), [0, 1, 0, 1], "by hand").cycle
        (0, 1)
        """
        arms = _checked_cycle(instance, cycle)
        broken = broken_rules(instance, arms)
        if broken:
            raise InputError("cycle", "must obey the rules", f"one that breaks {broken[0]}")
        return certify(problem_of(instance), arms, method, bound)

    def plot(self) -> Figure:
        """Draw the cycle, a row an arm; of more than 60 pulls the first (extra `plot`).

        Examples
        --------
        >>> from fallow import plan
        >>> songs = Instance.blocking([1, 0.5], delays=[1, 1], names=["hymn", "waltz"])
        >>> [row.get_text() for row in plan(songs).plot().axes[0].get_yticklabels()]
        ['hymn', 'waltz']
        """
        from fallow.drawing.arms import pulls_figure

        names = dict(zip(self.cycle, self.names, strict=True))
        return pulls_figure(names, self.cycle, self._in_words(), "round of the cycle")

    def __repr__(self) -> str:
        return (
            f"Plan(gain={self.gain:.3f}, certificate={self.certificate:.1%}, "
            f"cycle of {len(self.cycle):,}: {first_names(self.names, MOST_NAMES)})"
        )

    def _repr_html_(self) -> str:
        from fallow.drawing.html import snippet, strip

        names = dict(zip(self.cycle, self.names, strict=True))
        return snippet("Plan", self._in_words(), strip(names, self.cycle))

    def _in_words(self) -> str:
        return f"{self.gain:.3f} a round, {self.certificate:.1%} of the best possible"


def certify(problem: Problem, cycle: IntArray, method: str, bound: float | None = None) -> Plan:
    """Return the plan that repeats a cycle that a planner has chosen.

    The cycle holds arms of the instance. Without a bound, the relaxed problem's is the certificate.
    """
    instance = problem.instance
    period = cycle[: shortest_period(cycle)]
    arms = tuple(period.tolist())
    names = tuple(instance.names[arm] for arm in arms)
    proved = problem.bound if bound is None else bound
    return Plan(arms, names, _gain(instance, period), proved, method)


def gain(instance: Instance, cycle: Sequence[int] | IntArray) -> float:
    """Return the average expected reward per round of repeating a cycle of arms.

    The sum is correctly rounded, so the gain does not depend on where the cycle starts. For the
    cycle over the best m arms it is the paper's g(m).

    Examples
    --------
    >>> gain(Instance.b2dep([1, 0.5], delays=[1, 1], decay=[0.5]), [0, 1])
    0.75
    """
    return _gain(instance, _checked_cycle(instance, cycle))


def gain_of(argument: str, reference: Plan | float) -> float:
    """Return the gain of a plan, or a number that is given instead, checked."""
    return reference.gain if isinstance(reference, Plan) else checks.number(argument, reference)


def _checked_cycle(instance: Instance, cycle: Sequence[int] | IntArray) -> IntArray:
    check_instance(instance)
    arms = np.array(checks.whole_numbers("cycle", cycle, minimum=0))
    if arms.max() >= instance.arms:
        raise InputError(
            "cycle",
            f"must hold arms from 0 to {instance.arms - 1}",
            f"{arms.max()} at position {arms.argmax()}",
        )
    return arms


def _gain(instance: Instance, cycle: IntArray) -> float:
    return math.fsum(cycle_rewards(instance.means, cycle)) / len(cycle)
