"""What a cycle, a plan or a learner would have earned, told from a log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray, IntArray
from fallow.errors import InputError
from fallow.kernels.cycles import own_delays
from fallow.logs.cell_replay import EmptyQueue, Played, RewardQueues, play
from fallow.logs.evidence import Evidence, Interval, interval_of, sums_by
from fallow.logs.fit import fit, length_of_round
from fallow.logs.log import Log
from fallow.logs.support import (
    CannotSay,
    Support,
    check_chance,
    check_mostly_supported,
    check_support,
    support_of,
)
from fallow.planners.cycle import Plan
from fallow.planners.plan import plan
from fallow.protocol import Learner
from fallow.rules import Rules
from fallow.text import span_in_words

RUNS = 20
"""Runs of a learner on the log."""
PARTS, FEWEST_PARTS = 4, 2
"""Parts of the users, each of which values a plan that was made from the others."""
ROUNDING = 1e-6
"""So that a cell of plays that count alike has them all."""


@dataclass(frozen=True)
class Value:
    """What would have been earned per round, with its 95 % interval.

    Attributes
    ----------
    mean, low, high
        Reward per round.
    logged
        What the log itself earned per play, of the plays that count here: those with all that came
        before them in the log.
    gain
        How much more or less than the log that is, with its 95 % interval.
    support
        The cells that were used.
    plan
        The plan, if the log was to make one.
    """

    mean: float
    low: float
    high: float
    logged: float
    gain: Interval
    support: tuple[Support, ...]
    plan: Plan | None = None

    def __str__(self) -> str:
        return (
            f"{self.mean:.4f} ({self.low:.4f} to {self.high:.4f}) per round; against the log "
            f"{self.gain.value:+.4f} ({self.gain.low:+.4f} to {self.gain.high:+.4f})"
        )


def value(
    log: Log,
    policy: Plan | Sequence[int | str] | Learner,
    horizon: int | None = None,
    round_length: float | None = None,
) -> Value:
    """Return what a cycle, a plan or a learner would have earned per round.

    A cycle is worth the average of the cells that it uses. Each play counts by one over the chance
    that its arm came up just then, so that the answer holds for all users, not for those for whom
    the arm was chosen. A learner draws logged rewards of the cell that it enters, each once, as if
    a new user came each round; one with a seed has the same seed in every run.

    Parameters
    ----------
    log
        Plays of at least 10 users, with propensities.
    policy
        A plan, a cycle (arms by number or name), or a learner, which is copied.
    horizon
        Rounds that the learner plays.
    round_length
        For a log by elapsed time: how long a round lasts. The median time between two plays of a
        user, unless given.

    Raises
    ------
    CannotSay
        If a cell that is needed has an effective sample size below 10, or users or propensities
        are missing.

    Examples
    --------
    >>> from fallow import Instance
    >>> from fallow.logs import simulate_log
    >>> log = simulate_log(Instance.blocking([0.8, 0.6], [1, 1]), users=50, rounds=100)
    >>> print(value(log, [0, 1]))
    0.7168 (0.6880 to 0.7457) per round; against the log +0.3198 (+0.3052 to +0.3345)
    """
    check_chance(log)
    evidence = log.evidence(weighted=True)
    if _is_learner(policy):
        if horizon is None:
            raise InputError("horizon", "must be given with a learner", "none")
        rounds = checks.whole_number("horizon", horizon, minimum=1)
        return _value_of_learner(evidence, policy, rounds, round_length)
    if horizon is not None:
        raise InputError("horizon", "must come with a learner", f"{horizon} with a cycle")
    shares = _shares(log, _cycle_of(log, policy), round_length)
    support = check_support(evidence, shares)
    return _value(log, *evidence.average(shares), support)


def plan_and_value(
    log: Log, rules: Rules | None = None, round_length: float | None = None
) -> Value:
    """Return a plan for the log, and what planning so is worth.

    A plan looks better on the plays it was made from than it is. So users are parted at random, in
    four where the log has enough of everything, and else in three or two. For each part a plan is
    made from all others, and valued on it. The plan that is returned is made from all users.

    Parameters
    ----------
    log
        Plays of at least 20 users, with propensities.
    rules
        What plans must obey.
    round_length
        As in `value`.

    Raises
    ------
    CannotSay
        As in `value`.

    Examples
    --------
    >>> from fallow import Instance
    >>> from fallow.logs import simulate_log
    >>> log = simulate_log(Instance.blocking([0.8, 0.6, 0.5], [1, 1, 1]), users=50, rounds=100)
    >>> found = plan_and_value(log)
    >>> found.plan.cycle
    (0, 1)
    >>> found.gain.low > 0
    True
    """
    check_chance(log)
    order = np.random.default_rng(0).permutation(log.users)
    mean, influences = _across(log, order, rules, round_length)
    best = _plan(log, rules, round_length)
    shares = _shares(log, np.array(best.cycle), round_length)
    support = check_support(log.evidence(weighted=True), shares)
    return _value(log, mean, influences, support, best)


def _across(
    log: Log, order: IntArray, rules: Rules | None, round_length: float | None, parts: int = PARTS
) -> tuple[float, FloatArray]:
    """Return what plans earn on users they were not made from, and how far each user moves it."""
    mean, influences = 0.0, np.zeros(log.users)
    try:
        for part in range(parts):
            users = np.sort(order[part::parts])
            others = np.setdiff1d(order, users)
            heard = log.part(users).evidence(weighted=True)
            check_chance(heard.log)
            planned = _plan(log.part(others), rules, round_length)
            shares = _shares(log, np.array(planned.cycle), round_length)
            check_support(heard, shares)
            earned, influence = heard.average(shares)
            mean += earned / parts
            influences[users] = influence / parts
    except CannotSay:
        if parts == FEWEST_PARTS:
            raise
        return _across(log, order, rules, round_length, parts - 1)
    return mean, influences


def _plan(log: Log, rules: Rules | None, round_length: float | None) -> Plan:
    instance = fit(log, round_length).instance
    return plan(instance if rules is None else instance.with_rules(rules))


def _is_learner(policy: object) -> TypeGuard[Learner]:
    return hasattr(policy, "ask") and hasattr(policy, "tell")


def _value_of_learner(
    evidence: Evidence, learner: Learner, horizon: int, round_length: float | None
) -> Value:
    """Let copies of the learner play the log, each with the rewards in an order of its own."""
    log, cells = evidence.log, evidence.means()
    lengths = np.floor(cells.effective + ROUNDING).astype(np.int64)
    columns = _columns(log, round_length)
    generator = np.random.default_rng(0)

    def earned() -> Played:
        queues = RewardQueues(evidence, lengths, generator)
        try:
            return play(queues, deepcopy(learner), horizon, columns, len(log.names))
        except EmptyQueue as empty:
            rest = span_in_words(log.spans[empty.column], log.unit)
            cell = f"{log.names[empty.arm]} after {rest}"
            raise CannotSay(
                f"a value over {horizon:,} rounds needs more plays of {cell}: the learner has used "
                f"up all {lengths[empty.arm, empty.column]:,} after {empty.rounds:,} rounds; give "
                "a shorter horizon"
            ) from None

    runs = [earned() for _ in range(RUNS)]
    means = np.array([run.total for run in runs]) / horizon
    shares = np.mean([run.entered for run in runs], axis=0) / horizon
    # A user moves the value by the rewards of the cells that were entered, as with a cycle.
    _, influences = evidence.average(shares)
    support = support_of(log, cells, shares)
    check_mostly_supported(support)
    return _value(log, float(means.mean()), influences, support, luck=means.var(ddof=1) / RUNS)


def _cycle_of(log: Log, policy: object) -> IntArray:
    arms = policy.cycle if isinstance(policy, Plan) else policy
    listed = checks.listed("cycle", arms, "a plan, a list of arms or a learner")
    if not listed:
        raise InputError("cycle", "must hold at least one arm", "none")
    places = {name: arm for arm, name in enumerate(log.names)}
    for arm in listed:
        if isinstance(arm, str):
            checks.one_of("an arm of the cycle", arm, places)
    numbers = [places[arm] if isinstance(arm, str) else arm for arm in listed]
    return np.array(checks.whole_numbers("cycle", numbers, 0, len(log.names) - 1))


def _columns(log: Log, round_length: float | None) -> IntArray:
    """Return the columns of delays of 1, 2, ... rounds, up to the first that is rested."""
    length = length_of_round(log, round_length)
    longest = max(math.ceil(log.spans[-1] / length), 1)
    delays = length * np.arange(1, longest + 1)
    off = np.abs(np.log(delays)[:, np.newaxis] - np.log(log.spans))
    off[:, np.bincount(log.delays, minlength=log.max_delay + 2)[1:] == 0] = np.inf
    return np.append(off.argmin(axis=1), log.max_delay)


def _shares(log: Log, cycle: IntArray, round_length: float | None) -> FloatArray:
    """Return how often the repeated cycle uses each cell, of shape (arms, delays)."""
    columns = _columns(log, round_length)
    delays = np.minimum(own_delays(cycle, len(log.names)), len(columns))
    shares = np.zeros((len(log.names), log.max_delay + 1))
    np.add.at(shares, (cycle, columns[delays - 1]), 1 / len(cycle))
    return shares


def _value(
    log: Log,
    mean: float,
    influences: FloatArray,
    support: tuple[Support, ...],
    made: Plan | None = None,
    luck: float = 0.0,
) -> Value:
    plays = log.evidence(weighted=False)
    logged = float(plays.rewards.mean())
    of_log = sums_by(plays.users, plays.rewards - logged, log.users) / plays.rewards.size
    whole = interval_of(mean, influences, luck)
    gain = interval_of(mean - logged, influences - of_log, luck)
    return Value(mean, whole.low, whole.high, logged, gain, support, made)
