"""What rules cost, and the cool-downs that the model itself would set."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fallow.instance import Instance
from fallow.kernels.cycles import own_delays
from fallow.planners.cycle import Plan
from fallow.planners.plan import plan
from fallow.rules import Rule, Rules

HAND_SET_KINDS = ("cooldowns", "at_most")
"""Kinds of rules that people set where they have no model of what wears out."""


@dataclass(frozen=True)
class Cost:
    """What one rule costs beside all others, in reward per round."""

    rule: Rule
    cost: float


@dataclass(frozen=True)
class Advice:
    """What rules cost, and better ones.

    Attributes
    ----------
    ruled
        The plan that obeys the rules.
    free
        The plan without any rule.
    costs
        What each rule costs, that is what the others allow beyond `ruled`; the largest first.
    recommended
        The plan without cool-downs and caps, which obeys all other rules.
    cooldowns
        For each arm the fewest rounds from pull to pull in `recommended`, None if it is not pulled:
        the cool-downs that the model itself would set.
    """

    ruled: Plan
    free: Plan
    costs: tuple[Cost, ...]
    recommended: Plan
    cooldowns: tuple[int | None, ...]


def advise(instance: Instance, tell: Callable[[], object] = lambda: None) -> Advice:
    """Return what the rules of an instance cost, and the cool-downs that its means speak for.

    Each plan is the one that `plan` finds, so costs are exact where those are optimal. A plan that
    obeys more rules is one that obeys fewer, so no cost is below 0.

    Parameters
    ----------
    instance
        With its rules.
    tell
        Called after each rule whose cost is known, to show how far the work is.

    Examples
    --------
    >>> songs = Instance([[0.5, 0.9], [0.4, 0.8], [0.1, 0.1]], names=["hymn", "waltz", "news"])
    >>> advice = advise(songs.with_rules(Rules(cooldowns={"hymn": 4})))
    >>> round(advice.free.gain, 3), round(advice.ruled.gain, 3), advice.cooldowns
    (0.85, 0.65, (2, 2, None))
    """
    ruled = plan(instance)
    others = Rules.of(rule for rule in instance.rules if rule.kind not in HAND_SET_KINDS)
    recommended = _better(instance.with_rules(others), ruled)
    free = _better(instance.with_rules(Rules()), recommended)
    costs = []
    for rule in instance.rules:
        fewer = _better(instance.with_rules(instance.rules.without(rule)), ruled)
        costs.append(Cost(rule, fewer.gain - ruled.gain))
        tell()
    cycle = np.array(recommended.cycle)
    gaps = own_delays(cycle, instance.arms)
    longest = len(cycle) + 1  # than any gap
    shortest = [int(gaps[cycle == arm].min(initial=longest)) for arm in range(instance.arms)]
    return Advice(
        ruled=ruled,
        free=free,
        costs=tuple(sorted(costs, key=lambda cost: -cost.cost)),
        recommended=recommended,
        cooldowns=tuple(None if gap == longest else gap for gap in shortest),
    )


def _better(instance: Instance, known: Plan) -> Plan:
    """Plan with fewer rules; a plan that obeyed more of them is a plan too, with another bound."""
    planned = plan(instance)
    best = max(planned, known, key=lambda candidate: candidate.gain)
    return replace(best, upper_bound=planned.upper_bound)
