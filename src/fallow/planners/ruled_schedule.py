"""Schedules within rules: a beam that keeps to them, exact where it can keep all states."""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from fallow.arrays import IntArray
from fallow.errors import InputError
from fallow.instance import Instance
from fallow.kernels.bounds import clearing_price
from fallow.kernels.paths import allows, beam_path
from fallow.kernels.schedule import path_reward, values_to_go
from fallow.limits import NEVER, Past
from fallow.planners.beam import BRANCHES, SORTING
from fallow.planners.bounds import upper_bound
from fallow.planners.feasible import possible_problem
from fallow.planners.plan import plan
from fallow.planners.problem import Problem, bound_at_own_scale
from fallow.planners.schedule_bound import (
    bound_by_gain,
    bound_by_price,
    bound_by_prices,
    can_be_priced,
    one_price,
    price_rounds,
)
from fallow.planners.schedule_search import MAX_VALUES, Found

MAX_WORK = 2**25
"""Looks at an arm of one beam search, about a second."""
MOST_BRANCHES = 16
"""Arms up to which each is tried in every state, as a proof needs; beyond, only the best."""
WIDEST, NARROWEST = 2**16, 64
"""States that a beam keeps in each round."""


def ruled_schedule(
    instance: Instance, rounds: int, pulled: Sequence[Sequence[int]], known: int
) -> tuple[IntArray, float, str]:
    """Return a schedule that obeys the rules, what none earns more than, and how it was found.

    `pulled` holds, for each arm, how many rounds ago it was pulled, the latest first; `known` is
    the number of past rounds of which all pulls are in it.
    """
    problem = possible_problem(instance)
    past = past_of(problem, pulled, known)
    beams = []
    width = min(WIDEST, MAX_WORK // (rounds * (len(problem.arms) + SORTING)))
    if width >= NARROWEST:
        path, whole = _beam(problem, past, rounds, width)
        if whole and len(path) == rounds:
            earned = path_reward(problem.means, path, past.delays)
            proved = bound_at_own_scale(instance, earned, earned * (1 + rounds / 16))
            return problem.arms[path], proved, "exact"
        if whole:
            raise _no_schedule(rounds, f"got none longer than {len(path):,}")
        beams += [path] if len(path) == rounds else []
    paths = chain(
        ((path, "beam") for path in beams),
        ((path, "cycle") for path in _cycles(instance, problem, past, rounds)),
    )
    best = max(  # one path at a time: a cycle can be entered at a hundred places
        (Found(path, path_reward(problem.means, path, past.delays), how) for path, how in paths),
        key=lambda each: each.earned,
        default=None,
    )
    if best is None:
        raise _no_schedule(rounds, "found none, though there may be one")
    bound = _bound(instance, problem, past.delays, rounds, best.earned)
    return problem.arms[best.path], bound, best.method


def past_of(problem: Problem, pulled: Sequence[Sequence[int]], known: int = 0) -> Past:
    """Return what the limits must know of past pulls, given all of those of `known` rounds.

    An arm that has missed its deadline has its whole wait from now on.
    """
    limits, rested = problem.limits, problem.means.shape[1]
    ages = [pulled[arm] for arm in problem.arms]
    delays = np.array([min(each[0], rested) if each else rested for each in ages])
    waited = waits(problem, pulled, known)
    waited = np.where(waited <= limits.longest, waited, 1)
    recent = np.full((len(limits.pulls), int(limits.pulls.max(initial=1))), NEVER)
    for cap, (members, pulls) in enumerate(zip(limits.members, limits.pulls, strict=True)):
        counted = sorted(age for arm in np.flatnonzero(members) for age in ages[arm])[:pulls]
        recent[cap, : len(counted)] = np.minimum(counted, limits.rounds[cap])
    return Past(delays, waited, recent)


def waits(problem: Problem, pulled: Sequence[Sequence[int]], known: int) -> IntArray:
    """Return how long each arm with a deadline has waited; 1 for all others.

    The wait of an arm without a pull begins with the rounds that are known.
    """
    waited = [pulled[arm][0] if pulled[arm] else known + 1 for arm in problem.arms]
    return np.where(problem.limits.longest < NEVER, waited, 1)


def _beam(problem: Problem, past: Past, rounds: int, width: int) -> tuple[IntArray, bool]:
    """Return the path of a beam, and whether it kept all states, so that no path is better."""
    _, means, limits = problem
    price = clearing_price(means, limits)
    known = min(rounds, max(1, MAX_VALUES // means.size))
    values = values_to_go(means, np.full(known, price))
    branches = len(means) if len(means) <= MOST_BRANCHES else BRANCHES
    return beam_path(means, values, price, limits, past, rounds, width, branches)


def _cycles(instance: Instance, problem: Problem, past: Past, rounds: int) -> Iterator[IntArray]:
    """Return the plan's cycle entered wherever the rules allow, at once or behind a beam."""
    place = {arm: at for at, arm in enumerate(problem.arms.tolist())}
    cycle = np.array([place[arm] for arm in plan(instance).cycle])
    rested = problem.means.shape[1]
    for first in (0, min(rounds, 4 * rested)):
        beginning, _ = _beam(problem, past, first, NARROWEST)
        for start in range(len(cycle)):
            path = np.concatenate((beginning, np.resize(np.roll(cycle, -start), rounds - first)))
            if allows(problem.limits, Past(*map(np.copy, past)), rested, path):
                yield path


def _bound(
    instance: Instance, problem: Problem, delays: IntArray, rounds: int, earned: float
) -> float:
    """Return what no schedule earns more than, if pulls that come too soon pay nothing."""
    rested = problem.means.shape[1]
    means = instance.means[problem.arms][:, np.minimum(np.arange(rested), instance.max_delay)]
    means[np.arange(1, rested + 1) < problem.limits.shortest[:, np.newaxis]] = 0
    lenient = Instance(means)
    price, _ = one_price(lenient, delays, rounds)
    if can_be_priced(lenient, rounds):
        prices = price_rounds(lenient, delays, rounds, price, earned)
        bound = bound_by_prices(lenient, delays, prices)
    else:
        bound = bound_by_price(lenient, delays, rounds, price)
    return min(bound, bound_by_gain(lenient, delays, rounds, upper_bound(lenient)))


def _no_schedule(rounds: int, found: str) -> InputError:
    return InputError(
        "rules",
        f"must leave a schedule of {rounds:,} rounds possible from these delays, {found}; relax a "
        "rule, or plan fewer rounds",
    )
