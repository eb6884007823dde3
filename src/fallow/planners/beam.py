"""Beam search: many schedules side by side, the promising ones continued."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray, IntArray
from fallow.instance import Instance
from fallow.kernels.bounds import best_delays
from fallow.kernels.cycles import best_part
from fallow.kernels.paths import beam_path, best_repeat, relaxed_values
from fallow.limits import NEVER, Limits, Past, rested_past
from fallow.planners.cycle import Plan, certify
from fallow.planners.feasible import StuckError, possible_problem
from fallow.planners.problem import Problem, read_only, worth_at

WIDTH = 64
"""Delay vectors that are kept of each round, unless asked otherwise."""
BRANCHES = 8
"""Arms tried next after each delay vector that is kept."""
MAX_WORK = 2**26
"""Looks at an arm after which the search is cut short, about a second."""
SORTING = 32
"""What keeping one delay vector more in a round costs beside its arms, in looks at an arm."""


def beam(instance: Instance, width: int = WIDTH) -> Plan:
    """Return the best cycle on the best path that a beam search finds.

    The search starts rested, keeps the `width` best delay vectors of each round, and judges them by
    their reward so far plus what each arm at its delay is worth in the relaxed problem behind
    `upper_bound`. Its cost grows with arms x delays x width; for very many arms and delays the beam
    is narrower.

    Examples
    --------
    >>> round(beam(Instance.b2dep([1, 0.99, 0.01], delays=[2, 1, 1], decay=[1, 1])).gain, 12)
    0.7475
    """
    width = checks.whole_number("width", width, minimum=1)
    return beam_plan(possible_problem(instance), width)


def beam_plan(problem: Problem, width: int = WIDTH) -> Plan:
    """Return the plan of `beam`."""
    search = beam_search(problem)
    # Long enough to settle in a cycle, but limited where arms and delays are many; where even 4
    # times the longest delay would be too much, the beam is narrower.
    longest = search.means.shape[1]
    affordable = MAX_WORK // (longest * (len(search.arms) + SORTING))
    width = min(width, max(1, affordable // 4))
    rounds = longest * min(32, max(4, affordable // width))
    limits, past = search.limits, rested_past(search.limits, longest)
    path = search.path(past, rounds, width)
    start, end = best_repeat(search.means, limits, past, path)
    if start == end:  # nothing repeats
        start, end = best_part(search.means, limits, path) if limits.bind else 0, len(path)
    if start == -1:
        raise StuckError("beam")
    return certify(problem, search.arms[path[start:end]], "beam")


def beam_from(problem: Problem, delays: IntArray, rounds: int, width: int) -> Continuation:
    """Return the best path of some rounds that a beam search finds from the delays as they are.

    The problem has no rules, and the delays are at most those at which all arms are rested. For
    very many rounds the beam is narrower.

    Examples
    --------
    >>> problem = possible_problem(Instance.blocking([1, 1, 1], delays=[1, 2, 2]))
    >>> beam_from(problem, np.array([1, 3, 3]), rounds=9, width=4).path[:2].tolist()
    [1, 0]
    """
    search = beam_search(problem)
    width = min(width, max(1, MAX_WORK // (rounds * (len(search.arms) + SORTING))))
    past = rested_past(search.limits, 1)._replace(delays=delays[search.arms])
    path = search.path(past, rounds, width)
    start, end = best_repeat(search.means, search.limits, past, path)
    return Continuation(search.arms[path], start, end)


class Continuation(NamedTuple):
    """Arms to pull from now on, and its best part that can be repeated, empty if there is none."""

    path: IntArray
    start: int
    end: int


class BeamSearch(NamedTuple):
    """The arms that a beam search looks at, best first, and what it judges them by."""

    arms: IntArray
    means: FloatArray
    limits: Limits
    price: float
    values: FloatArray

    def path(self, past: Past, rounds: int, width: int) -> IntArray:
        """Return the best path from a past on, which stays as it is."""
        path, _ = beam_path(
            self.means, self.values, self.price, self.limits, past, rounds, width, BRANCHES
        )
        return path

    def useful(self) -> IntArray:
        """Return the arms, by their position here, that good paths use where rules leave them.

        They are worth their price, or the next best for the rounds in which all of those must rest,
        or have a deadline.
        """
        order = np.arange(len(self.arms))
        has_deadline = self.limits.longest < NEVER
        return order[has_deadline | (order < enough_arms(worth_at(self.means, self.price)))]

    def of(self, arms: IntArray) -> BeamSearch:
        """Return the search among some of the arms, given by their position here."""
        means, limits, values = read_only(self.means[arms]), self.limits.of(arms), self.values
        return BeamSearch(self.arms[arms], means, limits, self.price, values[:, arms])


def enough_arms(worth: FloatArray) -> int:
    """Return how many arms are worth their price, and a few more for when those must rest."""
    return int((worth > 0).sum()) + BRANCHES


def beam_search(problem: Problem) -> BeamSearch:
    """Return what a beam search needs to know of a problem, whatever past it starts from."""
    price = problem.price
    worth = worth_at(problem.means, price)
    enough = len(worth) if problem.limits.bind else enough_arms(worth)
    useful = problem.of(np.argsort(-worth, kind="stable")[:enough])
    surplus, _ = best_delays(useful.means, price, useful.limits)
    values = relaxed_values(useful.means, price, surplus, useful.limits)
    any_rounds_left = values[np.newaxis]
    return BeamSearch(useful.arms, useful.means, useful.limits, price, any_rounds_left)
