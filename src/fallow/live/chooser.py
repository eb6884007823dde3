"""Which arm next: a beam search on a table, remembered by what the user was shown."""

from __future__ import annotations

import numpy as np

from fallow.arrays import IntArray
from fallow.instance import Instance
from fallow.kernels.paths import allows
from fallow.limits import NEVER, Past
from fallow.planners.beam import beam_search
from fallow.planners.problem import Problem
from fallow.planners.ruled_schedule import past_of

WIDTH = 16
"""Delay vectors that a search keeps of each round."""
LENGTHS = 3
"""Times the longest delay, rounds to search."""
MOST_KEPT = 2**17
"""Choices that are remembered."""

Ages = tuple[int, ...]
"""Past pulls of a user that matter, latest first, each as arm x (reach + 1) + rounds ago."""


class Chooser:
    """Chooses arms on one table.

    Parameters
    ----------
    table
        What to plan for, with its rules.
    arms
        What the arms of the table are called outside, by number.

    Attributes
    ----------
    reach
        How many rounds back a pull matters.
    counts_all_pulls
        Whether all of these pulls matter, or only the latest of each arm.
    """

    def __init__(self, table: Instance, arms: IntArray) -> None:
        self._arms = arms
        self._place = {arm: place for place, arm in enumerate(arms.tolist())}
        self._is_ruled = bool(table.rules)
        self._search = beam_search(table)
        limits = self._search.limits
        waits = np.where(limits.longest < NEVER, limits.longest, 0)
        longest = self._search.means.shape[1] - 1
        self.reach = int(max(longest, waits.max(), limits.rounds.max(initial=0)))
        self.counts_all_pulls = bool((limits.pulls > 1).any())
        self._choices: dict[Ages, int] = {}
        self._allowed: dict[Ages, list[int]] = {}

    def choose(self, ages: Ages) -> int:
        """Return the arm to show after such a past, -1 if the rules leave none."""
        arm = self._choices.get(ages)
        return self._look_ahead(ages) if arm is None else arm

    def best_of(self, arms: list[int], ages: Ages) -> int:
        """Return which of some arms pays most after such a past, whatever comes later."""
        delays = self._past(ages).delays
        values = dict(zip(self._arms[self._search.arms].tolist(), self._search.means, strict=True))
        rows = dict(zip(values, delays.tolist(), strict=True))
        return max(arms, key=lambda arm: values[arm][rows[arm] - 1] if arm in values else 0.0)

    def allowed(self, ages: Ages) -> list[int]:
        """Return the arms after which the rules can be kept, at such a past."""
        if not self._is_ruled:
            return list(self._place)
        if ages not in self._allowed:
            self._allowed[ages] = [arm for arm in self._place if self._leads_on(ages, arm)]
        return self._allowed[ages]

    def _leads_on(self, ages: Ages, arm: int) -> bool:
        """Tell whether an arm may be pulled, and is not the way into a dead end."""
        past, search = self._past(ages), self._search
        pulls = np.flatnonzero(self._arms[search.arms] == arm)
        if not pulls.size or not allows(search.limits, past, search.means.shape[1], pulls):
            return False
        rounds = LENGTHS * len(search.means[0])
        return len(search.path(past, rounds, WIDTH)) == rounds  # the past has gone on

    def _look_ahead(self, ages: Ages) -> int:
        """Search from a past on, and remember the choices on the way."""
        width = self._search.means.shape[1]
        path = self._search.path(self._past(ages), LENGTHS * width, WIDTH)
        if len(path) == 0:
            return -1
        if len(self._choices) > MOST_KEPT:
            self._choices.clear()
            self._allowed.clear()
        arms = self._arms[self._search.arms[path]].tolist()
        now = ages
        for arm in arms[: max(1, len(arms) - width // 2)]:
            if now in self._choices:
                break
            self._choices[now] = arm
            now = self._after(now, arm)
        return int(arms[0])

    def _after(self, ages: Ages, arm: int) -> Ages:
        """Return the past one round later."""
        span = self.reach + 1
        older = (
            code + 1
            for code in ages
            if code % span < self.reach and (self.counts_all_pulls or code // span != arm)
        )
        return (arm * span + 1, *older)

    def _past(self, ages: Ages) -> Past:
        span = self.reach + 1
        pulled: list[list[int]] = [[] for _ in self._arms]
        for code in ages:
            place = self._place.get(code // span)
            if place is not None:
                pulled[place].append(code % span)
        search = self._search
        return past_of(Problem(search.arms, search.means, search.limits), pulled)
