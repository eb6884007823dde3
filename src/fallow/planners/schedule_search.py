"""Schedules where the best one is out of reach: good ones, and what no schedule exceeds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import schedule as kernels
from fallow.kernels.bounds import best_delays
from fallow.kernels.cycles import own_delays
from fallow.kernels.paths import beam_path, relaxed_values
from fallow.kernels.playing import best_start
from fallow.limits import no_limits, rested_past
from fallow.planners.beam import BRANCHES, SORTING
from fallow.planners.problem import Problem, worth_at

BISECTIONS = 40
"""Steps to the one price of all rounds."""
DESCENTS = 100
"""Steps from there to a price for each round."""
MAX_PRICING_WORK = 2**28
"""Looks at a delay of an arm in a round up to which these steps are made, about half a second."""
MAX_BEAM_WORK = 2**24
"""Looks at an arm of one beam search, about half a second."""
MAX_WIDTH, MIN_WIDTH = 4096, 64
"""Delay vectors that a beam keeps in each round."""
MAX_VALUES_TO_GO = 2**23
"""Values of arms by delay and rounds left that a beam is given."""
MAX_IMPROVING_WORK = 2**26
"""Looks at an arm or a round after which local search ends, a tenth of a second."""
EPSILON = float(np.finfo(float).eps)
"""The distance from 1 to the next larger number."""


@dataclass(frozen=True)
class RoundsAhead:
    """Some rounds from given delays on, and what no schedule of them earns more than.

    For any prices of the rounds, a schedule earns at most these prices and, beyond them, what each
    arm earns when it is scheduled alone. The problem has no rules. Delays are capped where the arm
    is rested.
    """

    problem: Problem
    delays: IntArray
    rounds: int

    @property
    def _widths(self) -> IntArray:
        """The delay from which on each arm is rested."""
        return self.problem.delays + 1

    @property
    def _can_be_priced(self) -> bool:
        """Whether arms, delays and rounds are few enough to find prices for these rounds."""
        looks = self.rounds * int(np.minimum(self._widths, self.rounds).sum())
        return looks * (BISECTIONS + DESCENTS) <= MAX_PRICING_WORK

    def one_price(self) -> tuple[float, FloatArray]:
        """Return a good price for all rounds, and the worth of each arm at it, above 0 if it pays.

        Where the rounds are too many, it is the price of the infinite-horizon problem.
        """
        means = self.problem.means
        if not self._can_be_priced:
            return self.problem.price, worth_at(means, self.problem.price)
        widths, delays, rounds = self._widths, self.delays, self.rounds
        price = kernels.constant_price(means, widths, delays, rounds, BISECTIONS)
        worth, _ = kernels.relaxed_schedule(means, widths, delays, np.full(rounds, price))
        return price, worth

    def round_prices(self, price: float, earned: float) -> FloatArray | None:
        """Return prices of the rounds with a lower bound than one price; None if that is much work.

        `earned` is what some schedule is known to earn, on the problem's scale.
        """
        if not self._can_be_priced:
            return None
        means, widths, delays = self.problem.means, self._widths, self.delays
        return kernels.round_prices(means, widths, delays, price, self.rounds, earned, DESCENTS)

    def bound(self, price: float, prices: FloatArray | None, gain: float) -> float:
        """Return the least bound that follows from prices, or one price, and a bound on gains."""
        by_price = self.bound_by_price(price) if prices is None else self.bound_by_prices(prices)
        return min(by_price, self.bound_by_gain(gain))

    def bound_by_prices(self, prices: FloatArray) -> float:
        """Return the bound that follows from prices of the rounds."""
        problem = self.problem
        values, _ = kernels.relaxed_schedule(problem.means, self._widths, self.delays, prices)
        # In absolute terms an arm earns at most `most`, in a sum of one term a round at most.
        most = self.rounds * (1 + float(np.abs(prices).max()))
        size = (len(problem.arms) + 1) * most * (1 + self.rounds / 16)
        total = math.fsum(prices) + math.fsum(np.maximum(values, 0))
        return problem.own_bound(total, size)

    def bound_by_price(self, price: float) -> float:
        """Return a bound from one price at a cost that does not grow with the rounds.

        An arm with surplus g per round earns at most g n in n rounds after a pull.
        """
        means, limits, rounds = self.problem.means, self.problem.limits, self.rounds
        surplus, _ = best_delays(means, price, limits)
        values = relaxed_values(means, price, surplus, limits)
        now = values[np.arange(len(means)), self.delays - 1]
        total = price * rounds + math.fsum(np.maximum(surplus * (rounds - 1) + now, 0))
        size = rounds * (abs(price) + math.fsum(surplus)) + 2 * means.size
        return self.problem.own_bound(total, size)

    def bound_by_gain(self, gain: float) -> float:
        """Return the bound that follows from one on the gain of all cycles.

        A schedule, repeated, is a cycle, which earns as much except for what the start gives.
        """
        means = self.problem.instance.means
        total = self.rounds * gain + kernels.carried_over(means, self.delays)
        return float(np.nextafter(total * (1 + (len(means) + 2) * EPSILON), np.inf))


@dataclass(frozen=True)
class Candidate:
    """A path of arms, what it earns, and how it was found."""

    path: IntArray
    earned: float
    method: str


@dataclass(frozen=True)
class Search:
    """A search for schedules without rules, from scaled means and the delay of each arm.

    Delays are capped where the arm is rested.
    """

    means: FloatArray
    delays: IntArray

    def candidates(self, path: IntArray, method: str) -> Iterator[Candidate]:
        """Yield a path as it is and, if local search changes it, improved."""
        yield Candidate(path, self._earned(path), method)
        better = kernels.improve_path(self.means, path, self.delays, MAX_IMPROVING_WORK)
        if not np.array_equal(path, better):
            yield Candidate(better, self._earned(better), f"{method}, improved")

    def cycles(self, cycle: IntArray, prices: FloatArray) -> Iterator[Candidate]:
        """Yield a cycle entered at its best position, then with its last rounds searched."""
        rounds = len(prices)
        yield from self.candidates(self._enter(cycle, rounds), "cycle")
        last = min(4 * self.means.shape[1], self._longest_beam())
        if last < rounds:
            first = self._enter(cycle, rounds - last)
            end = self._after(first)._beam_path(prices[-last:])
            yield from self.candidates(np.concatenate((first, end)), "cycle and beam")

    def beams(self, prices: FloatArray) -> Iterator[Candidate]:
        """Yield what a beam search over all rounds finds, if these are not too many."""
        if len(prices) <= self._longest_beam():
            yield from self.candidates(self._beam_path(prices), "beam")

    def _earned(self, path: IntArray) -> float:
        delays = kernels.path_delays(path, self.delays)
        return math.fsum(self.means[path, np.minimum(delays, self.means.shape[1]) - 1])

    def _enter(self, cycle: IntArray, rounds: int) -> IntArray:
        own = own_delays(cycle, len(self.means))
        start = best_start(self.means, self.delays, cycle, own, rounds)
        return np.resize(np.roll(cycle, -start), rounds)

    def _after(self, path: IntArray) -> Search:
        delays = self.delays + len(path)
        for now, arm in enumerate(path):
            delays[arm] = len(path) - now
        return Search(self.means, np.minimum(delays, self.means.shape[1]))

    def _longest_beam(self) -> int:
        return max(1, MAX_BEAM_WORK // (MIN_WIDTH * (len(self.means) + SORTING)))

    def _beam_path(self, prices: FloatArray) -> IntArray:
        rounds = len(prices)
        affordable = MAX_BEAM_WORK // (rounds * (len(self.means) + SORTING))
        width = min(MAX_WIDTH, max(1, affordable))
        price = float(prices.mean())
        limits = no_limits(len(self.means))
        known = min(rounds, max(1, MAX_VALUES_TO_GO // self.means.size))
        values = kernels.values_to_go(self.means, prices[rounds - known :])
        if known < rounds:  # before that, use the values of the infinite-horizon problem
            surplus, _ = best_delays(self.means, price, limits)
            values[-1] = relaxed_values(self.means, price, surplus, limits)
        past = rested_past(limits, 1)._replace(delays=self.delays)
        path, _ = beam_path(self.means, values, price, limits, past, rounds, width, BRANCHES)
        return path
