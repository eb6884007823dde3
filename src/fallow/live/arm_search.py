"""Which arm comes next: a beam search on a table, remembered by what the user was shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from fallow.arrays import IntArray
from fallow.instance import Instance
from fallow.kernels.paths import allows, permitted
from fallow.limits import NEVER, Limits, Past
from fallow.planners.beam import SORTING, beam_search
from fallow.planners.feasible import is_never_stuck, possible_problem
from fallow.planners.past_pulls import past_of, waits
from fallow.planners.problem import Problem

WIDTH = 16
"""Delay vectors that a search keeps of each round."""
WIDER = 256
"""The same, where that leads into a dead end."""
LENGTHS = 3
"""Times the longest delay or rule, rounds to search."""
FURTHEST = 128
"""Rounds up to which a rule that is longer than all delays makes the search longer."""
LOOKS, MOST_LOOKS = 2**15, 2**20
"""Looks at an arm in one search, a tenth of a millisecond, and where the usual search gets stuck.
Where arms and delays are many, the beam is narrower: on 100 arms with delays up to 30, that costs
.0001 to .0006 of the reward."""
REMEMBERED = 16
"""Choices on the way of a search that are remembered."""
MOST_KEPT = 2**17
"""Choices that are remembered."""


class Ages(NamedTuple):
    """What a search must know of a user; see `ArmSearch.ages`.

    `codes` are the past pulls that matter, latest first, each as arm x (reach + 1) + rounds ago.
    `rounds` are those since the first decision, at most reach + 1; 0 where no arm has a deadline.
    """

    codes: tuple[int, ...]
    rounds: int = 0


class ArmSearch:
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
    has_deadlines
        Whether some arm must be pulled at least once in a number of rounds.
    """

    def __init__(self, table: Instance, arms: IntArray) -> None:
        self._arms = arms
        self._index = {arm: index for index, arm in enumerate(arms.tolist())}
        self._is_ruled = bool(table.rules)
        self._search = search = beam_search(possible_problem(table))
        self._problem = Problem(table, search.arms, search.means, search.limits)
        self._useful = search.useful()
        self._narrow = search.of(self._useful)
        self._classes = _classes(search.limits)
        self._is_never_stuck = is_never_stuck(search.limits)
        limits = search.limits
        deadlines = np.where(limits.longest < NEVER, limits.longest, 0)
        longest = search.means.shape[1] - 1
        self.reach = int(max(longest, deadlines.max(), limits.rounds.max(initial=0)))
        self.counts_all_pulls = bool((limits.pulls > 1).any())
        self.has_deadlines = bool(deadlines.any())
        ahead = min(self.reach + 1, max(longest + 1, FURTHEST))
        self._rounds = LENGTHS * ahead
        # Of a path, what is far enough from its end to be sure that the rules can be kept.
        can_get_stuck = self._is_ruled and not self._is_never_stuck
        self._sure = self._rounds - (ahead if can_get_stuck else ahead // 2)
        self._choices: dict[Ages, int] = {}
        self._dead_ends: dict[tuple[bytes, int], bool] = {}

    def ages(self, pulls: Iterable[tuple[int, int]], rounds: int) -> Ages:
        """Return what a search must know of a user.

        Parameters
        ----------
        pulls
            The arms that the user was shown and how many rounds ago, latest first: those within
            `reach`, and of each arm only the latest unless all pulls count.
        rounds
            Rounds since the first decision of the user, at most reach + 1.
        """
        span = self.reach + 1
        codes = tuple(arm * span + age for arm, age in pulls)
        return Ages(codes, rounds if self.has_deadlines else 0)

    def pulls(self, ages: Ages) -> Iterator[tuple[int, int]]:
        """Yield the arms that a user was shown and how many rounds ago, latest first."""
        span = self.reach + 1
        return (divmod(code, span) for code in ages.codes)

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

    def permitted(self, ages: Ages) -> list[int]:
        """Return the arms that the rules permit now, some of which may lead into a dead end."""
        if not self._is_ruled:
            return list(self._index)
        may_pull = permitted(self._search.limits, self._past(ages))
        arms: list[int] = self._arms[np.sort(self._search.arms[may_pull])].tolist()
        return arms

    def is_dead_end(self, ages: Ages, arm: int) -> bool:
        """Tell whether a search finds no way to keep the rules after an arm that they permit."""
        if not self._is_ruled or self._is_never_stuck:
            return False
        past, limits = self._past(ages), self._search.limits
        (index,) = np.flatnonzero(self._arms[self._search.arms] == arm)
        # The rules see no more of a past than this, and no difference between arms of a class.
        resting = np.minimum(past.delays, limits.shortest)
        state = (resting, past.waited, past.recent)
        key = b"".join(part.tobytes() for part in state), int(self._classes[index])
        if key not in self._dead_ends:
            if len(self._dead_ends) > MOST_KEPT:
                self._dead_ends.clear()
            self._dead_ends[key] = not self._can_go_on(past, int(index))
        return self._dead_ends[key]

    def leads_on(self, ages: Ages, chosen: int, arm: int) -> bool:
        """Tell whether an arm is not a dead end, which the chosen one never counts as."""
        return arm == chosen or not self.is_dead_end(ages, arm)

    def _can_go_on(self, past: Past, index: int) -> bool:
        search = self._search
        allows(search.limits, past, search.means.shape[1], np.array([index]))  # the past goes on
        paths = (path for width in (1, WIDTH) for path in self._paths(past, width, MOST_LOOKS))
        return any(len(path) == self._rounds for path in paths)

    def _look_ahead(self, ages: Ages) -> int:
        """Search from a past on, and remember the choices on the way."""
        path = self._path(ages)
        if len(self._choices) > MOST_KEPT:
            self._choices.clear()
        if len(path) == 0:
            self._choices[ages] = -1
            return -1
        arms = self._arms[self._search.arms[path]].tolist()
        now = ages
        for arm in arms[: min(REMEMBERED, self._sure) if len(arms) == self._rounds else 1]:
            if now in self._choices:
                break
            self._choices[now] = arm
            now = self._after(now, arm)
        return int(arms[0])

    def _path(self, ages: Ages) -> IntArray:
        """Return the path that a search finds, the longest if all of them get stuck.

        Rules can be broken already, such as by a cancel. Deadlines that cannot be kept are put off.
        """
        longest = np.zeros(0, np.int64)
        for past, width, looks in self._tries(ages):
            for path in self._paths(past, width, looks):
                if len(path) > len(longest):
                    longest = path
                if len(path) == self._rounds:
                    return longest
        return longest

    def _paths(self, past: Past, width: int, looks: int) -> Iterator[IntArray]:
        """Yield the best path among the arms that are useful, and then among all."""
        useful = self._useful
        few = past._replace(delays=past.delays[useful], waited=past.waited[useful])
        for search, arms, start in ((self._narrow, useful, few), (self._search, None, past)):
            affordable = looks // (self._rounds * (len(search.arms) + SORTING))
            path = search.path(start, self._rounds, max(1, min(width, affordable)))
            yield path if arms is None else arms[path]
            if len(useful) == len(past.delays):
                return

    def _tries(self, ages: Ages) -> Iterator[tuple[Past, int, int]]:
        """Yield pasts to search from, later ones with more time for deadlines; and how widely."""
        past = self._past(ages)
        yield past, WIDTH, LOOKS
        yield past, WIDER, MOST_LOOKS
        if self.has_deadlines:
            yield past_of(self._problem, self._pulled(ages), ages.rounds), WIDTH, MOST_LOOKS
            yield past._replace(waited=np.ones_like(past.waited)), WIDTH, MOST_LOOKS

    def _after(self, ages: Ages, arm: int) -> Ages:
        """Return the past one round later."""
        span = self.reach + 1
        older = (
            code + 1
            for code in ages.codes
            if code % span < self.reach and (self.counts_all_pulls or code // span != arm)
        )
        rounds = min(ages.rounds + 1, span) if self.has_deadlines else 0
        return Ages((arm * span + 1, *older), rounds)

    def _past(self, ages: Ages) -> Past:
        """Return the past with missed deadlines due as soon as the others leave a free round."""
        pulled = self._pulled(ages)
        past = past_of(self._problem, pulled, ages.rounds)
        if not self.has_deadlines:
            return past
        waited = waits(self._problem, pulled, ages.rounds)
        return past._replace(waited=_catching_up(self._search.limits.longest, waited))

    def _pulled(self, ages: Ages) -> list[list[int]]:
        """Return for each arm of the table how many rounds ago it was pulled, latest first."""
        pulled: list[list[int]] = [[] for _ in self._arms]
        for arm, age in self.pulls(ages):
            index = self._index.get(arm)
            if index is not None:
                pulled[index].append(age)
        return pulled


def _classes(limits: Limits) -> IntArray:
    """Return the class of each arm; rules do not tell arms of a class apart that they permit."""
    own = np.where(limits.longest < NEVER, np.arange(len(limits.longest)), -1)  # alone in its class
    rows = np.column_stack((limits.shortest, own, limits.members.T))
    classes: IntArray = np.unique(rows, axis=0, return_inverse=True)[1]
    return classes


def _catching_up(longest: IntArray, waited: IntArray) -> IntArray:
    """Return waits by which all deadlines together can be kept; the missed ones come soon.

    Deadlines can be kept if of those in order the first is now or later, the second one round from
    now or later, and so on. A missed one gets the first round that leaves all others theirs.
    """
    spare = longest - waited
    in_order = np.argsort(spare, kind="stable")
    in_order = in_order[longest[in_order] < NEVER]
    missed = int((spare < 0).sum())
    kept = in_order[missed:]
    spare[kept] = np.maximum(spare[kept], np.arange(len(kept)))
    rounds = spare[kept].tolist()
    for arm in in_order[:missed]:
        tight = (index for index in reversed(range(len(rounds))) if rounds[index] == index)
        spare[arm] = first = next(tight, -1) + 1
        rounds.insert(first, first)
    return longest - spare
