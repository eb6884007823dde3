"""Which arm next: a beam search on an optimistic table, remembered by what the user was shown."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import NamedTuple

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.beliefs import Beliefs
from fallow.instance import Instance
from fallow.kernels.paths import allows
from fallow.learners.cell_learner import tilted
from fallow.limits import NEVER, Past
from fallow.live.settings import Settings
from fallow.live.state import UNIT, State, View
from fallow.planners.beam import BeamSearch, beam_search
from fallow.planners.problem import Problem
from fallow.planners.ruled_schedule import past_of
from fallow.rules import Rules

GROWTH = 0.25
"""Share of its samples by which some cell grows before the table is made anew."""
WIDTH = 16
"""Delay vectors that a search keeps of each round."""
LENGTHS = 3
"""Times the longest delay, rounds to search."""
MOST_ROUNDS = 64
"""Rounds up to which elapsed time matters, however often users come."""
MOST_KEPT = 2**17
"""Choices that are remembered."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(5)

Ages = tuple[int, ...]
"""Past pulls of a user that matter, latest first, each as arm x (reach + 1) + rounds ago."""


class Belief(NamedTuple):
    """What is believed of each cell, arms by delays: mean, 95 % interval, and optimistic index."""

    means: FloatArray
    low: FloatArray
    high: FloatArray
    indices: FloatArray

    @classmethod
    def of(cls, view: View) -> Belief:
        """Return what a campaign's rewards say; decisions without one count at the mean so far."""
        counts, sums = view.counts.astype(float), view.sums / UNIT
        beliefs = Beliefs(*counts.shape)

        def quantile(above: float) -> FloatArray:
            return beliefs.upper_quantiles(counts, sums, np.full(counts.shape, above))

        means = sum(
            weight / 2 * quantile((1 - node) / 2)
            for node, weight in zip(NODES, WEIGHTS, strict=True)
        )
        low, high = quantile(0.975), quantile(0.025)
        if view.waiting.any():
            own = np.divide(sums, counts, out=np.array(means), where=counts > 0)
            counts, sums = counts + view.waiting, sums + view.waiting * own
            beliefs.forget(range(len(counts)))
        return cls(np.array(means), low, high, beliefs.indices(counts, sums, counts.sum()))


class Clockwork(NamedTuple):
    """How the delays of a campaign become rounds of a plan.

    `round_length` is 0 where delays are rounds already, else in seconds: what was shown less than
    that ago was shown one round ago. `columns` are the delays that rounds 1, 2, ... fall on,
    counted from 0.
    """

    round_length: float
    columns: IntArray

    @classmethod
    def of(cls, settings: Settings, pace: float) -> Clockwork:
        """Return it for users who come at a pace, in seconds."""
        if settings.clock == "rounds":
            return cls(0.0, np.arange(settings.columns))
        edges = settings.edges
        length = max(pace, float(edges[-1]) / MOST_ROUNDS)
        rounds = np.arange(1, int(edges[-1] // length) + 2)
        columns = np.searchsorted(edges, (rounds - 0.5) * length)
        return cls(length, np.append(columns, len(edges)))

    def rules(self, view: View) -> Rules:
        """Return the rules of the arms that are not retired, in rounds."""
        active = {name for name, gone in zip(view.arms, view.retired, strict=True) if not gone}
        kept = []
        for rule in view.settings.rules.bound_to(view.arms):
            rounds = rule.rounds
            if self.round_length and rule.kind == "cooldowns":
                rounds = ceil(rounds / self.round_length) + 1
            arms = tuple(arm for arm in rule.arms if arm in active)
            if arms:
                kept.append(replace(rule, arms=arms, rounds=rounds))
        return Rules.of(kept)


class Policy:
    """Chooses from one table; it never changes but for what it remembers.

    Attributes
    ----------
    view
        What it was made from.
    belief
        What that says of each cell.
    clockwork
        How delays are counted.
    active
        The arms that are not retired; those of `table` are counted among them.
    table
        What it plans for.
    reach
        How many rounds back a pull matters.
    """

    def __init__(self, view: View, belief: Belief | None = None) -> None:
        self.view = view
        self.belief = Belief.of(view) if belief is None else belief
        self.clockwork = Clockwork.of(view.settings, view.pace)
        self.active = np.flatnonzero(~np.array(view.retired))
        shown = view.counts + view.waiting
        self._due = np.ceil(shown * (1 + GROWTH) + 0.5).astype(np.int64)
        means = tilted(self.belief.indices, float(shown.sum())).means
        self.table = self._planned(view, means)
        self._search: BeamSearch = beam_search(self.table)
        self._place = {int(arm): place for place, arm in enumerate(self.active)}
        limits = self._search.limits
        waits = np.where(limits.longest < NEVER, limits.longest, 0)
        longest = self._search.means.shape[1] - 1
        self.reach = int(max(longest, waits.max(), limits.rounds.max(initial=0)))
        self.counts_all_pulls = bool((limits.pulls > 1).any())
        self._choices: dict[Ages, int] = {}

    def expected(self) -> Instance:
        """Return the means that are believed, in rounds, with the rules."""
        return self._planned(self.view, self.belief.means)

    def _planned(self, view: View, means: FloatArray) -> Instance:
        names = [view.arms[arm] for arm in self.active]
        columns = means[self.active][:, self.clockwork.columns]
        return Instance(columns, names, self.clockwork.rules(view))

    def choose(self, ages: Ages) -> int:
        """Return the arm to show after such a past, -1 if the rules leave none."""
        arm = self._choices.get(ages)
        return self._look_ahead(ages) if arm is None else arm

    def allowed(self, ages: Ages) -> list[int]:
        """Return the arms that the rules allow after such a past."""
        past, rested = self._past(ages), self._search.means.shape[1]
        allowed = []
        for place, active in enumerate(self._search.arms):
            copied = Past(*(each.copy() for each in past))
            if allows(self._search.limits, copied, rested, np.array([place])):
                allowed.append(int(self.active[active]))
        return sorted(allowed)

    def is_due(self, state: State, arm: int, column: int) -> bool:
        """Tell whether a cell has grown so much that the table is to be made anew."""
        grown = state.counts[arm, column] + state.waiting[arm, column]
        return bool(grown >= self._due[arm, column])

    def _look_ahead(self, ages: Ages) -> int:
        """Search from a past on, and remember the choices on the way."""
        width = self._search.means.shape[1]
        path = self._search.path(self._past(ages), LENGTHS * width, WIDTH)
        if len(path) == 0:
            return -1
        if len(self._choices) > MOST_KEPT:
            self._choices.clear()
        arms = self.active[self._search.arms[path]].tolist()
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
        pulled: list[list[int]] = [[] for _ in self.active]
        for code in ages:
            place = self._place.get(code // span)
            if place is not None:
                pulled[place].append(code % span)
        search = self._search
        return past_of(Problem(search.arms, search.means, search.limits), pulled)
