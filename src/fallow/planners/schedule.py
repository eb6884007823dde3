"""The best next rounds from where you are: exact where that fits, otherwise searched."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from fallow import checks
from fallow.arrays import IntArray
from fallow.errors import InputError
from fallow.instance import Instance, check_instance
from fallow.kernels import states
from fallow.kernels.paths import allows, beam_path
from fallow.kernels.policies import best_path
from fallow.kernels.schedule import path_reward, values_to_go
from fallow.limits import Past
from fallow.planners.beam import BRANCHES, SORTING, enough_arms
from fallow.planners.bounds import refined_bound
from fallow.planners.cycle import MOST_NAMES
from fallow.planners.feasible import possible_problem
from fallow.planners.graph import graph_of
from fallow.planners.optimal import can_solve
from fallow.planners.past_pulls import Delays, Pulls, past_of, past_pulls
from fallow.planners.plan import MAX_STATES, best_plan
from fallow.planners.problem import Problem, problem_of
from fallow.planners.schedule_search import MAX_VALUES_TO_GO, Candidate, RoundsAhead, Search
from fallow.text import first_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_ROUNDS = 10**6
"""Most rounds of a schedule."""
MAX_STEPS = 2**27
"""Most looks of the exact program at an arm, about half a second; so arms fit in 16 bits."""
MAX_RULED_WORK = 2**25
"""Looks at an arm of one beam search within rules, about a second."""
MAX_RULED_BRANCHES = 16
"""Arms up to which each is tried in every state, as a proof needs; beyond, only the best."""
MAX_RULED_WIDTH, MIN_RULED_WIDTH = 2**16, 64
"""States that a beam within rules keeps in each round."""

_earned = attrgetter("earned")


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
        several: the plan's cycle entered at its best position, the same with its last rounds
        searched, and beam searches over all rounds if these are at most some thousands, all
        improved.

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
    problem = possible_problem(instance)
    if instance.rules:
        path, bound, method = _ruled(problem, rounds, past_of(problem, pulled, known))
        return _schedule(instance, path, start, bound, method)
    rested = instance.max_delay + 1
    capped = np.array([rested if delay is None else min(delay, rested) for delay in start])
    # Each arm is looked at in each state and round, and all arms for each way to begin.
    steps = instance.arms * (rounds * problem.states + instance.arms)
    if can_solve(problem, max_states) and steps <= MAX_STEPS:
        path, bound = _exact(problem, rounds, capped)
        return _schedule(instance, path, start, bound, "exact")
    path, bound, method = _searched(problem, rounds, capped, max_states)
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


def _exact(problem: Problem, rounds: int, delays: IntArray) -> tuple[IntArray, float]:
    """Return the best path without rules, and what it earns, rounded up."""
    means, longest = problem.means, problem.delays
    space = states.number_vectors(longest)
    older = np.where(delays < longest, delays + 1, states.RESTED)
    entered = []
    for arm in range(len(means)):
        ages = older.copy()
        ages[arm] = 1 if longest[arm] > 0 else states.RESTED
        entered.append(states.number_of(ages, space))
    rewards = means[np.arange(len(means)), delays - 1]
    graph = graph_of(means, longest, problem.limits)
    path, earned = best_path(graph, rewards, np.array(entered), rounds)
    return path, _rounded_up(problem, earned, rounds)


def _rounded_up(problem: Problem, earned: float, rounds: int) -> float:
    """Return a bound on what a best path earns, whose sum has one rounding for each round."""
    return problem.own_bound(earned, earned * (1 + rounds / 16))


def _searched(
    problem: Problem, rounds: int, delays: IntArray, max_states: int
) -> tuple[IntArray, float, str]:
    """Return the best path found without rules, a bound on all paths, and how it was found."""
    forever = best_plan(problem, max_states)
    ahead = RoundsAhead(problem, delays, rounds)
    price, worth = ahead.one_price()
    useful = np.argsort(-worth, kind="stable")[: enough_arms(worth)]
    useful = np.union1d(useful, forever.cycle)
    search = Search(problem.of(useful).means, delays[useful])
    cycle = np.searchsorted(useful, forever.cycle)
    one_price = np.full(rounds, price)
    best = max(chain(search.cycles(cycle, one_price), search.beams(one_price)), key=_earned)
    prices = ahead.round_prices(price, best.earned)
    if prices is not None:
        best = max(chain([best], search.beams(prices)), key=_earned)
    return useful[best.path], ahead.bound(price, prices, forever.upper_bound), best.method


def _ruled(problem: Problem, rounds: int, past: Past) -> tuple[IntArray, float, str]:
    """Return a path that obeys the rules, a bound on all such paths, and how it was found.

    A beam that can keep all states proves its path the best.
    """
    means = problem.means
    paths: list[tuple[IntArray, str]] = []
    width = min(MAX_RULED_WIDTH, MAX_RULED_WORK // (rounds * (len(means) + SORTING)))
    if width >= MIN_RULED_WIDTH:
        path, is_proved = _ruled_beam(problem, past, rounds, width)
        if is_proved and len(path) == rounds:
            earned = path_reward(means, path, past.delays)
            return problem.arms[path], _rounded_up(problem, earned, rounds), "exact"
        if is_proved:
            raise _no_schedule(rounds, f"got none longer than {len(path):,}")
        paths += [(path, "beam")] if len(path) == rounds else []
    cycles = ((path, "cycle") for path in _ruled_cycles(problem, past, rounds))
    best = max(  # one path at a time: a cycle can be entered at a hundred positions
        (
            Candidate(path, path_reward(means, path, past.delays), method)
            for path, method in chain(paths, cycles)
        ),
        key=_earned,
        default=None,
    )
    if best is None:
        raise _no_schedule(rounds, "found none, though there may be one")
    bound = _ruled_bound(problem, past.delays, rounds, best.earned)
    return problem.arms[best.path], bound, best.method


def _ruled_beam(problem: Problem, past: Past, rounds: int, width: int) -> tuple[IntArray, bool]:
    """Return the path of a beam, and whether it kept all states, so that no path is better."""
    means, price = problem.means, problem.price
    known = min(rounds, max(1, MAX_VALUES_TO_GO // means.size))
    values = values_to_go(means, np.full(known, price))
    branches = len(means) if len(means) <= MAX_RULED_BRANCHES else BRANCHES
    return beam_path(means, values, price, problem.limits, past, rounds, width, branches)


def _ruled_cycles(problem: Problem, past: Past, rounds: int) -> Iterator[IntArray]:
    """Yield the plan's cycle entered wherever the rules allow, at once or behind a beam."""
    numbers = {arm: number for number, arm in enumerate(problem.arms.tolist())}
    cycle = np.array([numbers[arm] for arm in best_plan(problem).cycle])
    rested = problem.means.shape[1]
    for first in (0, min(rounds, 4 * rested)):
        beginning, _ = _ruled_beam(problem, past, first, MIN_RULED_WIDTH)
        for start in range(len(cycle)):
            path = np.concatenate((beginning, np.resize(np.roll(cycle, -start), rounds - first)))
            if allows(problem.limits, Past(*map(np.copy, past)), rested, path):
                yield path


def _ruled_bound(problem: Problem, delays: IntArray, rounds: int, earned: float) -> float:
    """Return what no schedule earns more than, even if pulls that come too soon only pay 0."""
    instance, rested = problem.instance, problem.means.shape[1]
    means = instance.means[problem.arms][:, np.minimum(np.arange(rested), instance.max_delay)]
    means[np.arange(1, rested + 1) < problem.limits.shortest[:, np.newaxis]] = 0
    lenient = problem_of(Instance(means))
    ahead = RoundsAhead(lenient, delays, rounds)
    price, _ = ahead.one_price()
    return ahead.bound(price, ahead.round_prices(price, earned), refined_bound(lenient))


def _no_schedule(rounds: int, outcome: str) -> InputError:
    return InputError(
        "rules",
        f"must leave a schedule of {rounds:,} rounds possible from these delays, {outcome}; relax "
        "a rule, or plan fewer rounds",
    )
