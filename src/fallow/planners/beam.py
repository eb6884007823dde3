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
from fallow.planners.relaxed import relaxed

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
    search = beam_search(instance)
    # Long enough to settle in a cycle, but not for ever where arms and delays are many; where
    # even 4 times the longest delay would be too much, the beam is narrower.
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
    return certify(instance, search.arms[path[start:end]], "beam")


def beam_from(instance: Instance, delays: IntArray, rounds: int, width: int) -> Continuation:
    """Return the best path of so many rounds that a beam search finds from the delays as they are.

    The instance has no rules, and the delays are at most those at which all arms are rested. For
    very many rounds the beam is narrower.

    Examples
    --------
    >>> instance = Instance.blocking([1, 1, 1], delays=[1, 2, 2])
    >>> beam_from(instance, np.array([1, 3, 3]), rounds=9, width=4).path[:2].tolist()
    [1, 0]
    """
    search = beam_search(instance)
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
        """Return the arms, counted as here, that a good path is made of where rules leave them.

        They are worth their price, or the next best for the rounds in which all of those must rest,
        or have a deadline.
        """
        order = np.arange(len(self.arms))
        has_deadline = self.limits.longest < NEVER
        return order[has_deadline | (order < _enough(_worth(self.means, self.price)))]

    def of(self, arms: IntArray) -> BeamSearch:
        """Return the search among some of the arms, counted as here."""
        limits, values = self.limits.of(arms), self.values[:, arms]
        return BeamSearch(self.arms[arms], self.means[arms], limits, self.price, values)


def _worth(means: FloatArray, price: float) -> FloatArray:
    """Return what each arm earns a round above the price of its pulls, at its best delay."""
    worth: FloatArray = ((means - price) / np.arange(1, means.shape[1] + 1)).max(axis=1)
    return worth


def _enough(worth: FloatArray) -> int:
    """Return how many arms are worth their price, and a few more for when those must rest."""
    return int((worth > 0).sum()) + BRANCHES


def beam_search(instance: Instance) -> BeamSearch:
    """Return what a beam search needs to know of an instance, from whatever past it starts."""
    arms, means, limits = possible_problem(instance)
    price = relaxed(instance).price
    worth = _worth(means, price)
    enough = len(arms) if limits.bind else _enough(worth)
    useful = np.argsort(-worth, kind="stable")[:enough]
    means, limits = means[useful], limits.of(useful)
    surplus, _ = best_delays(means, price, limits)
    values = relaxed_values(means, price, surplus, limits)[np.newaxis]  # for any rounds left
    return BeamSearch(arms[useful], means, limits, price, values)
