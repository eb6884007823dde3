"""Whether rules can be kept at all, and which of them are in conflict if not."""

import operator
from collections.abc import Sequence
from fractions import Fraction
from itertools import compress

import numpy as np
import numpy.typing as npt

from fallow.arrays import IntArray
from fallow.errors import InputError
from fallow.instance import Instance, check_instance
from fallow.kernels.cycles import obeys
from fallow.kernels.paths import follow
from fallow.limits import NEVER, Limits, rested_past
from fallow.planners.graph import count_states, graph_of
from fallow.planners.problem import Problem, limits_of, problem_of
from fallow.rules import Rule, Rules

MAX_STATES = 500_000
"""Size up to which a question about rules is answered for certain."""
MAX_MOVES = 2**25
"""States times arms up to which it is, in half a gigabyte."""
CHUNKS, MAX_LOOKS = 8, 100
"""Parts of the rules that are dropped one at a time, and how often, to see if a conflict stays."""
TURNS = 8
"""Times the arms and the longest wait, rounds after which taking turns should repeat itself."""
MOST_NAMED = 12
"""Rules that an error lists one by one."""
ALWAYS = 1.264
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


def any_cycle(instance: Instance) -> IntArray | None:
    """Return some cycle that obeys the rules, without arms if there is none.

    None where there are too many states to say.
    """
    if _impossible_at_once(instance):
        return np.zeros(0, np.int64)
    arms, means, limits = problem_of(instance)
    free = np.flatnonzero((limits.shortest == 1) & (limits.longest == NEVER))
    free = free[~limits.members[:, free].any(axis=0)]
    rest = np.setdiff1d(np.arange(len(arms)), free[1:])  # one arm without rules is as good as all
    problem = Problem(arms[rest], means[rest, :1], limits.of(rest))
    delays = problem.delays
    states = count_states(delays, problem.limits)
    if states > MAX_STATES or states * len(rest) > MAX_MOVES:
        return None
    graph = graph_of(problem.means, delays, problem.limits)
    return problem.arms[_some_cycle(graph.successors[graph.aged])]


def check_possible(instance: Instance) -> bool:
    """Raise a conflict if rules cannot be kept; return whether it is proved that they can.

    Examples
    --------
    >>> check_possible(Instance([[1.0], [0.5]], rules=Rules(cooldowns=2)))
    True
    """
    can_be_kept = _can_be_kept(instance)
    if can_be_kept is False:
        raise conflict(instance)
    return can_be_kept is True


def _can_be_kept(instance: Instance) -> bool | None:
    """Tell whether the rules can be kept, by the cheapest proof; None if there is no proof."""
    if not instance.rules:
        return True
    if _impossible_at_once(instance):
        return False
    _, means, limits = problem_of(instance)
    if is_never_stuck(limits) or _takes_turns(limits, means.shape[1]):
        return True
    cycle = any_cycle(instance)
    return None if cycle is None else cycle.size > 0


def is_never_stuck(limits: Limits) -> bool:
    """Tell whether counts alone show that some arm may be pulled in every round, whatever came.

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
    by_delay.setflags(write=False)
    _, repeats = follow(by_delay, limits, rested_past(limits, rested), TURNS * (arms + rested))
    return repeats


def possible_problem(instance: Instance) -> Problem:
    """Return what planners work on, or raise a conflict that a look at the numbers shows."""
    check_instance(instance)
    if instance.rules and _impossible_at_once(instance):
        raise conflict(instance)
    return problem_of(instance)


def conflict(instance: Instance) -> RulesConflict:
    """Return an error that names rules which cannot all be kept.

    Each of them is needed for that, unless there are hundreds.
    """
    left = _needed(instance)
    named = [str(rule) for rule in left][:MOST_NAMED]
    if len(left) > MOST_NAMED:
        named.append(f"and {len(left) - MOST_NAMED:,} more")
    reason = ""
    if {rule.kind for rule in left} == {"cooldowns"}:
        load = float(sum(Fraction(1, rule.rounds) for rule in left))
        reason = (
            f"; the sum of 1 / cool-down is {load:.3f}, where below 1 there is never a plan, from "
            f"{ALWAYS} on there always is one, and in between it was solved"
        )
    return RulesConflict(
        "rules",
        f"must leave a plan possible, but these cannot all be kept: {'; '.join(named)}{reason}; "
        "relax one of them, or add an arm that stands for doing nothing",
    )


def _needed(instance: Instance) -> list[Rule]:
    """Return rules that cannot all be kept, after dropping what they do not need: many, then one.

    The looks at fewer rules are limited.
    """
    left = list(instance.rules)
    size = max(1, len(left) // CHUNKS)
    looks = 0
    while size:
        start = 0
        while start < len(left) and looks < MAX_LOOKS:
            looks += 1
            fewer = left[:start] + left[start + size :]
            if _can_be_kept(instance.with_rules(Rules.of(fewer))) is False:
                left = fewer
            else:
                start += size
        size //= CHUNKS
    return left


def _some_cycle(successors: npt.NDArray[np.int32]) -> IntArray:
    """Return the arms of a cycle, each state left by its first arm; no arms if no state."""
    if not successors.size:
        return np.zeros(0, np.int64)
    arms: IntArray = (successors >= 0).argmax(axis=1)
    rounds: dict[int, int] = {}
    state = 0
    while state not in rounds:
        rounds[state] = len(rounds)
        state = int(successors[state, arms[state]])
    return arms[list(rounds)[rounds[state] :]]


def _impossible_at_once(instance: Instance) -> bool:
    """Tell whether rates of pulls alone show that the rules cannot all be kept."""
    excluded = {rule.arms for rule in instance.rules if rule.kind == "exclude"}
    needed = {rule.arms for rule in instance.rules if rule.kind == "at_least_once"}
    _, _, limits = problem_of(instance)
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
