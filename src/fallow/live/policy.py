"""What is believed of each cell, and the tables that decisions are planned with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.beliefs import Beliefs
from fallow.instance import Instance
from fallow.learners.cell_learner import tilted
from fallow.live.arm_search import ArmSearch
from fallow.live.settings import CampaignSettings
from fallow.live.state import UNIT, PlanningView, State
from fallow.live.time_rules import TimeRules
from fallow.planners.feasible import check_possible
from fallow.rules import Rules

GROWTH = 0.5
"""Share of its samples by which some cell grows before a new table is due."""
MOST_ROUNDS = 64
"""Rounds up to which elapsed time matters, however often users come."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(5)


class Belief(NamedTuple):
    """What is believed of each cell, arms by delays: mean, 95 % interval, and optimistic index."""

    means: FloatArray
    low: FloatArray
    high: FloatArray
    indices: FloatArray

    @classmethod
    def of(cls, view: PlanningView) -> Belief:
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


class RoundScale(NamedTuple):
    """How the delays of a campaign become rounds of a plan.

    `round_length` is 0 where delays are rounds already, else in seconds: what was shown less than
    that ago was shown one round ago. `columns` are the delays that rounds 1, 2, ... fall on,
    counted from 0.
    """

    round_length: float
    columns: IntArray

    @classmethod
    def of(cls, settings: CampaignSettings, pace: float) -> RoundScale:
        """Return it for users who come at a pace, in seconds."""
        if settings.clock == "rounds":
            return cls(0.0, np.arange(settings.columns))
        edges = settings.edges
        length = max(pace, float(edges[-1]) / MOST_ROUNDS)
        rounds = np.arange(1, int(edges[-1] // length) + 2)
        columns = np.searchsorted(edges, (rounds - 0.5) * length)
        return cls(length, np.append(columns, len(edges)))

    def rules(self, view: PlanningView) -> Rules:
        """Return the rules in rounds, of the arms that are not retired.

        Rules in seconds are left to the decider, which knows how long ago an arm was shown.
        """
        active = {name for name, gone in zip(view.arms, view.retired, strict=True) if not gone}
        kept = []
        for rule in view.settings.rules.bound_to(view.arms):
            arms = tuple(arm for arm in rule.arms if arm in active)
            if arms and (rule.kind == "exclude" or not self.round_length):
                kept.append(replace(rule, arms=arms))
        return Rules.of(kept)


def check_rules(view: PlanningView) -> bool:
    """Check that the rules can be kept with the arms that are not retired.

    Returns whether that is proved; there may be too many states to say. Rules by elapsed time can
    always be kept, since users can be refused for a while.
    """
    round_scale = RoundScale.of(view.settings, view.pace)
    names = [name for name, gone in zip(view.arms, view.retired, strict=True) if not gone]
    table = np.ones((len(names), 1))
    return check_possible(Instance(table, names, round_scale.rules(view)))


def check_arms(settings: CampaignSettings, names: Sequence[str], retired: Sequence[bool]) -> None:
    """Check that the rules of a campaign can be obeyed with other arms."""
    rules = settings.rules.bound_to(settings.arms)
    changed = State(replace(settings, arms=names, rules=rules))
    changed.retired = list(retired)
    check_rules(changed.view())


class CampaignPolicy:
    """Two plans to decide by; they never change but for the choices they remember.

    Attributes
    ----------
    view
        What it was made from.
    belief
        What that says of each cell.
    round_scale
        How delays are counted.
    expected
        The means that are believed, in rounds of the plan, with the rules.
    exploring
        Chooses as if each cell paid what it may well pay, and so finds out.
    exploiting
        Chooses by what each cell is believed to pay.
    time_rules
        What decides beside them which arms are permitted now.
    """

    def __init__(self, view: PlanningView, belief: Belief | None = None) -> None:
        self.view = view
        self.belief = Belief.of(view) if belief is None else belief
        self.round_scale = RoundScale.of(view.settings, view.pace)
        shown = view.counts + view.waiting
        self._shown_until, self._known_until = _grown(shown), _grown(view.counts)
        active = np.flatnonzero(~np.array(view.retired))
        names = [view.arms[arm] for arm in active]
        rules = self.round_scale.rules(view)

        def table(means: FloatArray) -> Instance:
            return Instance(means[active][:, self.round_scale.columns], names, rules)

        def search(means: FloatArray) -> ArmSearch:
            return ArmSearch(table(tilted(means, float(shown.sum())).means), active)

        self.expected = table(self.belief.means)
        self.exploring = search(self.belief.indices)
        self.exploiting = search(self.belief.means)
        self.time_rules = TimeRules(view)

    def is_due(self, state: State, arm: int, column: int) -> bool:
        """Tell whether decisions or rewards of a cell have grown so much that a new one is due."""
        if arm >= len(self._known_until):  # the arm is new, and a policy with it is under way
            return False
        known = state.counts[arm][column]
        return (
            known >= self._known_until[arm][column]
            or known + state.waiting[arm][column] >= self._shown_until[arm][column]
        )


def _grown(counts: IntArray) -> list[list[int]]:
    """Return how far cells grow until a new table is due; as lists, for one cell at a time."""
    grown: list[list[int]] = np.ceil(counts * (1 + GROWTH) + 0.5).astype(np.int64).tolist()
    return grown
