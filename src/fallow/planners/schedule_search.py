"""Good schedules where the best one is out of reach: cycles and beams, improved."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import schedule
from fallow.kernels.bounds import best_delays
from fallow.kernels.cycles import own_delays
from fallow.kernels.paths import beam_path, relaxed_values
from fallow.kernels.playing import best_start
from fallow.limits import no_limits, rested_past
from fallow.planners.beam import BRANCHES, SORTING

MAX_BEAM_WORK = 2**24
"""Looks at an arm of one beam search, about half a second."""
WIDEST, NARROWEST = 4096, 64
"""Delay vectors that a beam keeps in each round."""
MAX_VALUES = 2**23
"""Most values to go that a beam is given."""
MAX_LOOKS = 2**26
"""Looks at an arm or a round after which local search ends, a tenth of a second."""


@dataclass(frozen=True)
class Found:
    """A path of arms, what it earns, and how it was found."""

    path: IntArray
    earned: float
    method: str


@dataclass(frozen=True)
class Search:
    """Where schedules start: means, scaled, and the delay of each arm, capped at rested."""

    means: FloatArray
    delays: IntArray

    def found(self, path: IntArray, method: str) -> Iterator[Found]:
        """Return a path as it is and, if local search changes it, improved."""
        yield Found(path, self._earned(path), method)
        better = schedule.improve_path(self.means, path, self.delays, MAX_LOOKS)
        if not np.array_equal(path, better):
            yield Found(better, self._earned(better), f"{method}, improved")

    def cycles(self, cycle: IntArray, prices: FloatArray) -> Iterator[Found]:
        """Return a cycle entered at its best position, and the same with the last rounds anew."""
        rounds = len(prices)
        yield from self.found(self._enter(cycle, rounds), "cycle")
        last = min(4 * self.means.shape[1], self._longest_beam())
        if last < rounds:
            first = self._enter(cycle, rounds - last)
            end = self._after(first)._beam_path(prices[-last:])
            yield from self.found(np.concatenate((first, end)), "cycle and beam")

    def beams(self, prices: FloatArray) -> Iterator[Found]:
        """Return what a beam search over all rounds finds, if these are not too many."""
        if len(prices) <= self._longest_beam():
            yield from self.found(self._beam_path(prices), "beam")

    def _earned(self, path: IntArray) -> float:
        delays = schedule.path_delays(path, self.delays)
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
        return max(1, MAX_BEAM_WORK // (NARROWEST * (len(self.means) + SORTING)))

    def _beam_path(self, prices: FloatArray) -> IntArray:
        rounds = len(prices)
        affordable = MAX_BEAM_WORK // (rounds * (len(self.means) + SORTING))
        width = min(WIDEST, max(1, affordable))
        price = float(prices.mean())
        limits = no_limits(len(self.means))
        known = min(rounds, max(1, MAX_VALUES // self.means.size))
        values = schedule.values_to_go(self.means, prices[rounds - known :])
        if known < rounds:  # before, arms are worth what they are to those who play for ever
            surplus, _ = best_delays(self.means, price, limits)
            values[-1] = relaxed_values(self.means, price, surplus, limits)
        past = rested_past(limits, 1)._replace(delays=self.delays)
        path, _ = beam_path(self.means, values, price, limits, past, rounds, width, BRANCHES)
        return path
