"""Whether rules can be kept at all, and which of them are in conflict if not."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from fallow.arrays import IntArray
from fallow.errors import InputError
from fallow.instance import Instance, check_instance
from fallow.kernels.cycles import obeys
from fallow.kernels.paths import follow
from fallow.limits import NEVER, Limits, rested_past
from fallow.planners.graph import graph_of
from fallow.planners.problem import Problem, limits_of, problem_of, read_only
from fallow.rules import Rule, Rules

MAX_STATES = 500_000
"""States up to which the graph decides whether rules can be kept."""
MAX_MOVES = 2**25
"""States times arms up to which it does, in half a gigabyte."""
CHUNKS, MAX_TRIES = 8, 100
"""Parts of the rules that are dropped in turn, and how often, to see if a conflict stays."""
TURNS = 8
"""Rounds after which taking turns should repeat itself, as a multiple of arms + longest wait."""
MAX_NAMED_RULES = 12
"""Rules that an error lists one by one."""
SUFFICIENT_LOAD = 1.264
"""Cool-downs whose sum of 1 / rounds is as large can always be kept (arXiv 2510.22060)."""


class RulesConflict(InputError):  # noqa: N818, it is about the rules
    """Rules that cannot all be kept."""


class StuckError(InputError):
    """A planner found no cycle that obeys the rules; there may be one."""

    def __init__(self, method: str) -> None:
        super().__init__(
            method,
            "finds no cycle that obeys the rules; "
            "use plan(instance), which tries more and says what is impossible",
        )


def broken_rules(instance: Instance, cycle: Sequence[int] | IntArray) -> list[Rule]:
    """Return the rules of an instance that a repeated cycle breaks.

    Examples
    --------
    >>> two = Instance([[1.0], [0.5]], rules=Rules(cooldowns={0: 3}))
    >>> [str(rule) for rule in broken_rules(two, [0, 1])]
    ['0: 3 rounds from pull to pull']
    """
    arms = np.asarray(cycle)
    pulled = {instance.names[arm] for arm in arms}
    return [
        rule
        for rule in instance.rules
        if (rule.kind == "exclude" and rule.arms[0] in pulled)
        or not obeys(limits_of(Rules.of([rule]), instance.names), arms)
    ]


def any_cycle(problem: Problem) -> IntArray | None:
    """Return some cycle that obeys the rules, without arms if there is none.

    None where there are too many states to decide.
    """
    if problem.is_overloaded:
        return np.zeros(0, np.int64)
    limits = problem.limits
    unruled = np.flatnonzero((limits.shortest == 1) & (limits.longest == NEVER))
    unruled = unruled[~limits.members[:, unruled].any(axis=0)]
    # One arm without rules is as good as all of them.
    chosen = problem.of(np.setdiff1d(np.arange(len(problem.arms)), unruled[1:]))
    by_rules_alone = replace(chosen, means=chosen.means[:, :1])
    states = by_rules_alone.states
    if states > MAX_STATES or states * len(chosen.arms) > MAX_MOVES:
        return None
    graph = graph_of(by_rules_alone.means, by_rules_alone.delays, by_rules_alone.limits)
    return chosen.arms[_some_cycle(graph.successors[graph.aged])]


def check_possible(instance: Instance) -> bool:
    """Raise a conflict if rules cannot be kept; return whether it is proved that they can.

    Examples
    --------
    >>> check_possible(Instance([[1.0], [0.5]], rules=Rules(cooldowns=2)))
    True
    """
    return check_rules(problem_of(instance))


def check_rules(problem: Problem) -> bool:
    """Do as `check_possible` does with an instance."""
    can_be_kept = _can_be_kept(problem)
    if can_be_kept is False:
        raise conflict(problem.instance)
    return can_be_kept is True


def _can_be_kept(problem: Problem) -> bool | None:
    """Tell whether the rules can be kept, by the cheapest proof; None if there is no proof."""
    limits = problem.limits
    if not limits.bind:
        return True
    if problem.is_overloaded:
        return False
    if is_never_stuck(limits) or _takes_turns(limits, problem.means.shape[1]):
        return True
    cycle = any_cycle(problem)
    return None if cycle is None else cycle.size > 0


def is_never_stuck(limits: Limits) -> bool:
    """Tell whether counts alone show that some arm may be pulled in every round after any past.

    Take one arm of each group, and all others. If for some m, m of them wait for at most m rounds,
    the last m - 1 pulls keep at most m - 1 of them waiting.
    """
    shared = limits.members.sum(axis=0)
    if (limits.longest < NEVER).any() or (limits.pulls > 1).any() or (shared > 1).any():
        return False
    waits = [*limits.shortest[shared == 0].tolist()]
    for members, _, rounds in limits.caps():
        waits.append(max(rounds, int(limits.shortest[members].min())))
    return any(wait <= count for count, wait in enumerate(sorted(waits), 1))


def _takes_turns(limits: Limits, rested: int) -> bool:
    """Tell whether the rules are kept by always pulling the arm that has rested most."""
    arms = len(limits.shortest)
    by_delay = np.broadcast_to(np.arange(rested, dtype=np.float64), (arms, rested)).copy()
    past, rounds = rested_past(limits, rested), TURNS * (arms + rested)
    _, repeats = follow(read_only(by_delay), limits, past, rounds)
    return repeats


def possible_problem(instance: Instance) -> Problem:
    """Return the problem of an instance, or raise the conflict that rates of pulls alone show.

    Every public planner begins with it and hands the problem on.
    """
    check_instance(instance)
    problem = problem_of(instance)
    if problem.limits.bind and problem.is_overloaded:
        raise conflict(instance)
    return problem


def conflict(instance: Instance) -> RulesConflict:
    """Return an error that names rules which cannot all be kept.

    Each of them is needed for that, unless there are hundreds.
    """
    left = _needed(instance)
    named = [str(rule) for rule in left][:MAX_NAMED_RULES]
    if len(left) > MAX_NAMED_RULES:
        named.append(f"and {len(left) - MAX_NAMED_RULES:,} more")
    reason = ""
    if {rule.kind for rule in left} == {"cooldowns"}:
        load = float(sum(Fraction(1, rule.rounds) for rule in left))
        reason = (
            f"; the sum of 1 / cool-down is {load:.3f}, where below 1 there is never a plan, from "
            f"{SUFFICIENT_LOAD} on there always is one, and in between it was solved"
        )
    return RulesConflict(
        "rules",
        f"must leave a plan possible, but these cannot all be kept: {'; '.join(named)}{reason}; "
        "relax one of them, or add an arm that stands for doing nothing",
    )


def _needed(instance: Instance) -> list[Rule]:
    """Return rules that cannot all be kept, without those that the conflict does not need.

    Rules are dropped many at a time, then one at a time, for a limited number of tries.
    """
    left = list(instance.rules)
    size = max(1, len(left) // CHUNKS)
    tries = 0
    while size:
        start = 0
        while start < len(left) and tries < MAX_TRIES:
            tries += 1
            fewer = left[:start] + left[start + size :]
            if _can_be_kept(problem_of(instance.with_rules(Rules.of(fewer)))) is False:
                left = fewer
            else:
                start += size
        size //= CHUNKS
    return left


def _some_cycle(successors: npt.NDArray[np.int32]) -> IntArray:
    """Return the arms of a cycle that always pulls the first possible arm; none without states."""
    if not successors.size:
        return np.zeros(0, np.int64)
    arms: IntArray = (successors >= 0).argmax(axis=1)
    rounds: dict[int, int] = {}
    state = 0
    while state not in rounds:
        rounds[state] = len(rounds)
        state = int(successors[state, arms[state]])
    return arms[list(rounds)[rounds[state] :]]
