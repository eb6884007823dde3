"""Where a schedule starts: past pulls of each arm, as far as the caller knows them."""

from collections.abc import Mapping, Sequence

import numpy as np

from fallow import checks
from fallow.arrays import IntArray
from fallow.errors import InputError
from fallow.instance import Instance
from fallow.limits import NEVER, Past
from fallow.planners.problem import Problem

Delays = Sequence[int | None] | IntArray | Mapping[str, int | None] | Sequence[str | None]
"""Rounds since each arm was pulled, in the instance's order or by name; None if it never was.

Or names of arms alone: the past pulls.
"""
Pulls = Sequence[str | int | None] | IntArray
"""Arms by name or index, oldest first; None for a round without a pull."""


def past_pulls(
    instance: Instance, delays: Delays | None, since: Pulls | None
) -> tuple[list[list[int]], int]:
    """Return how many rounds ago each arm was pulled, the latest pull first, checked.

    The second number is of how many rounds all pulls are known: 0 where delays are given.

    Examples
    --------
    >>> songs = Instance.blocking([1, 0.5, 0.2], [3, 3, 3], names=["hymn", "waltz", "march"])
    >>> past_pulls(songs, {"waltz": 2}, None)
    ([[], [2], []], 0)
    >>> past_pulls(songs, ["hymn", "waltz", "hymn", None], None)
    ([[2, 4], [3], []], 4)
    """
    listed = delays if isinstance(delays, list | tuple) else ()
    if since is None and any(isinstance(entry, str) for entry in listed):
        delays, since = None, listed
    if since is None:
        known = {} if delays is None else delays
        return [[] if delay is None else [delay] for delay in _checked(instance, known)], 0
    if delays is not None:
        raise InputError("delays", "must be left out where since is given", "both")
    pulls = checks.listed("since", since, "a list of arms by name or index, oldest first")
    arms = arms_by_name(instance)
    ages: list[list[int]] = [[] for _ in range(instance.arms)]
    for age, pull in enumerate(reversed(pulls), start=1):
        where = f"since[{len(pulls) - age}]"
        if isinstance(pull, str):
            ages[arm_named(where, pull, arms)].append(age)
        elif pull is not None:
            arm = checks.whole_number(where, pull, minimum=0, maximum=instance.arms - 1)
            ages[arm].append(age)
    return ages, len(pulls)


def past_of(problem: Problem, pulled: Sequence[Sequence[int]], known: int = 0) -> Past:
    """Return what the limits must know of past pulls, if all pulls of `known` rounds are given.

    An arm that has missed its deadline gets a whole wait from now on.
    """
    limits, rested = problem.limits, problem.means.shape[1]
    ages = [pulled[arm] for arm in problem.arms]
    delays = np.array([min(pulls[0], rested) if pulls else rested for pulls in ages])
    waited = waits(problem, pulled, known)
    waited = np.where(waited <= limits.longest, waited, 1)
    recent = np.full((len(limits.pulls), int(limits.pulls.max(initial=1))), NEVER)
    for cap, (members, most) in enumerate(zip(limits.members, limits.pulls, strict=True)):
        counted = sorted(age for arm in np.flatnonzero(members) for age in ages[arm])[:most]
        recent[cap, : len(counted)] = np.minimum(counted, limits.rounds[cap])
    return Past(delays, waited, recent)


def waits(problem: Problem, pulled: Sequence[Sequence[int]], known: int) -> IntArray:
    """Return how long each arm with a deadline has waited; 1 for all others.

    The wait of an arm without a pull begins with the rounds that are known.
    """
    waited = [pulled[arm][0] if pulled[arm] else known + 1 for arm in problem.arms]
    return np.where(problem.limits.longest < NEVER, waited, 1)


def arms_by_name(instance: Instance) -> dict[str, int]:
    """Return the index of each arm by its name."""
    return {name: arm for arm, name in enumerate(instance.names)}


def arm_named(where: str, name: str, arms: Mapping[str, int]) -> int:
    """Return the index of the arm with a name; an error says that the name stands at `where`."""
    if name not in arms:
        hint = checks.suggestion(name, arms)
        raise InputError(where, "must be the name of an arm", f"{checks.short(name)}{hint}")
    return arms[name]


def _checked(instance: Instance, delays: Delays) -> list[int | None]:
    if isinstance(delays, Mapping):
        arms = arms_by_name(instance)
        for name in delays:
            arm_named("a key of delays", name, arms)
        given = [delays.get(name) for name in instance.names]
    else:
        given = checks.listed("delays", delays, "a list with one for each arm, or delays by name")
        if len(given) != instance.arms:
            raise InputError(
                "delays",
                "must be one for each arm",
                f"{len(given)} for {instance.arms} arms; past pulls are passed as since",
            )
    owners: dict[int, str] = {}
    checked: list[int | None] = []
    for name, value in zip(instance.names, given, strict=True):
        if value is None:
            checked.append(None)
            continue
        delay = checks.whole_number(f"the delay of {name!r}", value, minimum=1)
        if delay <= instance.max_delay and delay in owners:
            raise InputError(
                "delays",
                "must differ, since one arm is pulled a round",
                f"{delay} for both {owners[delay]!r} and {name!r}",
            )
        owners[delay] = name
        checked.append(delay)
    return checked
