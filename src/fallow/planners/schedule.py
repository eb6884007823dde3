"""The best next rounds from where you are: exact where that fits, else searched and bounded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from fallow import checks
from fallow.arrays import IntArray
from fallow.instance import Instance, check_instance
from fallow.kernels import states
from fallow.kernels.policies import best_path
from fallow.limits import no_limits
from fallow.planners.beam import BRANCHES
from fallow.planners.cycle import MOST_NAMES
from fallow.planners.graph import graph_of
from fallow.planners.optimal import reachable_states, within_reach
from fallow.planners.past_pulls import Delays, Pulls, past_pulls
from fallow.planners.plan import MAX_STATES, plan
from fallow.planners.problem import bound_at_own_scale, scaled_means
from fallow.planners.ruled_schedule import ruled_schedule
from fallow.planners.schedule_bound import (
    bound_by_gain,
    bound_by_price,
    bound_by_prices,
    can_be_priced,
    one_price,
    price_rounds,
)
from fallow.planners.schedule_search import Search
from fallow.text import first_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_ROUNDS = 10**6
"""Most rounds of a schedule."""
MAX_STEPS = 2**27
"""Most looks of the exact program at an arm, about half a second; so arms fit in 16 bits."""


@dataclass(frozen=True, repr=False)
class Schedule:
    """What to pull in the next rounds, with its certificate.

    Attributes
    ----------
    arms
        The arm to pull in each round, counted from 0.
    names
        Their names.
    delays
        The rounds since each of these pulls' arm was last pulled before it; None if it never was.
    rewards
        Expected reward of each round.
    total
        Expected reward of all rounds.
    upper_bound
        What no schedule of as many rounds from the same delays can exceed.
    method
        "exact", or how the schedule was found.
    """

    arms: tuple[int, ...]
    names: tuple[str, ...]
    delays: tuple[int | None, ...]
    rewards: tuple[float, ...]
    total: float
    upper_bound: float
    method: str

    @property
    def certificate(self) -> float:
        """Proved share of the best schedule: total / upper_bound, at most 1."""
        return self.total / self.upper_bound if self.upper_bound > 0 else 1.0

    def plot(self) -> Figure:
        """Draw the rounds, a row an arm; of more than 60 the first (extra `plot`).

        Examples
        --------
        >>> songs = Instance.blocking([1, 0.5], delays=[1, 1], names=["hymn", "waltz"])
        >>> schedule(songs, rounds=4).plot().axes[0].get_xlabel()
        'round'
        """
        from fallow.drawing.arms import pulls_figure

        names = dict(zip(self.arms, self.names, strict=True))
        return pulls_figure(names, self.arms, self._in_words(), "round")

    def __repr__(self) -> str:
        return (
            f"Schedule(total={self.total:.3f}, certificate={self.certificate:.1%}, "
            f"{len(self.arms):,} rounds: {first_names(self.names, MOST_NAMES)})"
        )

    def _repr_html_(self) -> str:
        from fallow.drawing.html import snippet, strip

        names = dict(zip(self.arms, self.names, strict=True))
        return snippet("Schedule", self._in_words(), strip(names, self.arms))

    def _in_words(self) -> str:
        return f"earns {self.total:.3f}, {self.certificate:.1%} of the best possible"


def schedule(
    instance: Instance,
    rounds: int,
    delays: Delays | None = None,
    *,
    since: Pulls | None = None,
    max_states: int = MAX_STATES,
) -> Schedule:
    """Return the best next rounds from the current delays, or a good schedule with its certificate.

    What comes after these rounds does not count, so towards the end no arm is spared. A schedule is
    never worse than the cycle of `plan` entered at its best position, and for many rounds its total
    per round comes close to the plan's gain. With rules, it obeys them, also those that reach back
    into the past, and leaves time for arms that must be pulled soon after. The deadline of an arm
    that is not among the past pulls counts from the first of them; one that has passed, or of which
    nothing is known because delays are given, is a whole wait from now.

    Parameters
    ----------
    instance
        What to plan for.
    rounds
        How many rounds to plan, at most 10^6.
    delays
        Rounds since each arm was last pulled, 1 for the arm of the last round: a list with one for
        each arm, None for an arm that never was; or numbers by name, all other arms rested. Or the
        names of past pulls, as `since` has them. Without them all arms are rested.
    since
        Instead of the delays, the past pulls: arms by name or index, the last one pulled one round
        ago, None for a round without a pull.
    max_states
        Find the exact optimum if at most this many delay vectors can be reached, and delay vectors
        x rounds x arms are at most 2^27; 0 never tries. Otherwise the schedule is the best of
        several: the plan's cycle entered at its best position, with its last rounds planned anew,
        and beam searches over all rounds if these are at most some thousands, all improved.

    Examples
    --------
    >>> songs = Instance.b2dep([0.9, 0.8], [2, 1], [0.5, 0.25], names=["hymn", "waltz"])
    >>> best = schedule(songs, rounds=3, since=["hymn"])
    >>> best.names, best.delays, best.rewards, best.method
    (('waltz', 'hymn', 'waltz'), (None, 2, 2), (0.8, 0.675, 0.8), 'exact')
    """
    check_instance(instance)
    rounds = checks.whole_number("rounds", rounds, minimum=1, maximum=MAX_ROUNDS)
    max_states = checks.whole_number("max_states", max_states, minimum=0)
    pulled, known = past_pulls(instance, delays, since)
    start = [ages[0] if ages else None for ages in pulled]
    if instance.rules:
        path, bound, method = ruled_schedule(instance, rounds, pulled, known)
        return _schedule(instance, path, start, bound, method)
    rested = instance.max_delay + 1
    capped = np.array([rested if delay is None else min(delay, rested) for delay in start])
    # Each arm is looked at in each state and round, and all arms for each way to begin.
    steps = instance.arms * (rounds * reachable_states(instance) + instance.arms)
    if within_reach(instance, max_states) and steps <= MAX_STEPS:
        path, bound = _exact(instance, rounds, capped)
        return _schedule(instance, path, start, bound, "exact")
    path, bound, method = _searched(instance, rounds, capped, max_states)
    return _schedule(instance, path, start, bound, method)


def _schedule(
    instance: Instance, path: IntArray, start: list[int | None], bound: float, method: str
) -> Schedule:
    arms = tuple(path.tolist())
    last = {arm: -delay for arm, delay in enumerate(start) if delay is not None}
    delays: list[int | None] = []
    for now, arm in enumerate(arms):
        delays.append(now - last[arm] if arm in last else None)
        last[arm] = now
    rested = instance.max_delay + 1
    columns = [rested if delay is None else min(delay, rested) for delay in delays]
    rewards = tuple(instance.means[path, np.array(columns) - 1].tolist())
    names = tuple(instance.names[arm] for arm in arms)
    return Schedule(arms, names, tuple(delays), rewards, math.fsum(rewards), bound, method)


def _exact(instance: Instance, rounds: int, delays: IntArray) -> tuple[IntArray, float]:
    """Return the best path and what it earns, rounded up."""
    longest = instance.delays
    space = states.number_vectors(longest)
    older = np.where(delays < longest, delays + 1, states.RESTED)
    entered = []
    for arm in range(instance.arms):
        ages = older.copy()
        ages[arm] = 1 if longest[arm] > 0 else states.RESTED
        entered.append(states.number_of(ages, space))
    means = scaled_means(instance)
    rewards = means[np.arange(instance.arms), delays - 1]
    graph = graph_of(means, longest, no_limits(instance.arms))
    path, earned = best_path(graph, rewards, np.array(entered), rounds)
    # A sum of so many rewards, one after the other, has as many roundings.
    return path, bound_at_own_scale(instance, earned, earned * (1 + rounds / 16))


def _searched(
    instance: Instance, rounds: int, delays: IntArray, max_states: int
) -> tuple[IntArray, float, str]:
    """Return the best path found, what no path earns more than, and how it was found."""
    forever = plan(instance, max_states)
    price, worth = one_price(instance, delays, rounds)
    # Arms worth their price, and a few more for the rounds in which all of those must rest.
    useful = np.argsort(-worth, kind="stable")[: (worth > 0).sum() + BRANCHES]
    useful = np.union1d(useful, forever.cycle)
    search = Search(scaled_means(instance)[useful], delays[useful])
    cycle = np.searchsorted(useful, forever.cycle)
    prices = np.full(rounds, price)
    earned = attrgetter("earned")
    best = max(chain(search.cycles(cycle, prices), search.beams(prices)), key=earned)
    if can_be_priced(instance, rounds):
        prices = price_rounds(instance, delays, rounds, price, best.earned)
        best = max(chain([best], search.beams(prices)), key=earned)
        bound = bound_by_prices(instance, delays, prices)
    else:
        bound = bound_by_price(instance, delays, rounds, price)
    bound = min(bound, bound_by_gain(instance, delays, rounds, forever.upper_bound))
    return useful[best.path], bound, best.method
