"""Algorithm 2: the order of the arms by baseline (paper, section 7)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import cycle, islice

from fallow import checks
from fallow.errors import InputError
from fallow.learners import restored
from fallow.learners.checked_learner import CheckedLearner
from fallow.protocol import Block, Outcome

MAX_DELAY = 10**6
"""Longest bound on delays: a block of pulls is longer than it."""


class BanditRanker(CheckedLearner):
    """The paper's BanditRanker: sample all active arms, and place an arm once it is set apart.

    After r sampling rounds an arm leaves when its average differs by more than 2 eps_r from that of
    every other active arm, eps_r = sqrt(ln(2 k r (r + 1) / delta) / (2 r)). The order is right with
    probability at least 1 - delta (Theorem 4). Equal baselines never separate: give a budget.
    When done, the learner pulls the arm that it ranked first, in one block without end.

    Parameters
    ----------
    arms
        Number of arms, k.
    delta
        Allowed probability of a wrong order.
    max_delay
        A bound on all delays, d_i <= max_delay. Arms are then sampled at rest: groups are filled up
        to d_0 = max_delay + 1 pulls with arms that need no sample and played twice, and only the
        second play counts. Without it every pull counts, which is right if delays do not matter.
    budget
        Pulls after which it stops with the order found so far.
    frugal
        While at least d_0 arms are active, cycle over them once a round and count every pull: each
        arm has then rested anyhow.

    Attributes
    ----------
    groups
        The partial order so far: groups of arms from larger to smaller baselines, open within.
        It is the walk through the paper's tree, whose nodes are groups of one.
    active
        Arms that are still sampled.
    rounds, pulls
        Sampling rounds and pulls so far.
    samples, sums
        How often each arm was sampled, and the rewards of these samples.
    done
        Whether all arms have their place, or the next block exceeds the budget. A single arm has
        its place from the start.

    Examples
    --------
    >>> BanditRanker(arms=3, delta=0.1, max_delay=3).ask()
    Block(arms=(0, 1, 2, 2), plays=2)
    """

    def __init__(
        self,
        arms: int,
        delta: float = 0.1,
        max_delay: int | None = None,
        budget: int | None = None,
        frugal: bool = False,
    ) -> None:
        self.arms = checks.arms(arms)
        self.delta = checks.chance("delta", delta)
        if max_delay is not None:
            max_delay = checks.whole_number("max_delay", max_delay, 1, maximum=MAX_DELAY)
        if budget is not None:
            budget = checks.whole_number("budget", budget, minimum=0)
        if not isinstance(frugal, bool):
            raise InputError("frugal", "must be true or false", checks.short(frugal))
        self.max_delay, self.budget, self.frugal = max_delay, budget, frugal
        self.groups = [list(range(self.arms))]
        self.active = list(range(self.arms))
        self.rounds = 0
        self.pulls = 0
        self.sums = [0.0] * self.arms
        self.samples = [0] * self.arms
        self._left = self.arms  # active arms that still lack their sample of this round
        self.done = self._is_done()

    def _check_progress(self) -> None:
        super()._check_progress()
        restored.whole_number("progress.rounds", self.rounds, least=0)
        restored.whole_number("progress.pulls", self.pulls, least=0)
        restored.rewards("progress.", self.samples, self.sums, (self.arms,), "samples")
        if not all(type(group) is list and group for group in self.groups):
            raise InputError("progress.groups", "must be lists of arms", f"{self.groups}")
        ordered = [arm for group in self.groups for arm in group]
        restored.whole_numbers("progress.groups", ordered, self.arms, 0, self.arms - 1)
        if len(set(ordered)) < self.arms:
            raise InputError("progress.groups", "must hold each arm once", "one twice")
        if self.active:
            restored.distinct("progress.active", self.active, least=0, most=self.arms - 1)
        if not set(self.unresolved) <= set(self.active):
            raise InputError(
                "progress.active",
                f"must hold the arms without a place, {self.unresolved}",
                checks.short(self.active),
            )
        least = min(len(self.active), 1)
        restored.whole_number("progress._left", self._left, least, most=len(self.active))
        restored.equal("progress.done", self.done, self._is_done())
        if self._pending is not None:
            restored.equal("progress._pending", self._pending, self._choose())

    @property
    def width(self) -> float:
        """The confidence width eps_r after the sampling rounds so far."""
        r = self.rounds
        if r == 0:
            return math.inf
        return math.sqrt(math.log(2 * self.arms * r * (r + 1) / self.delta) / (2 * r))

    @property
    def order(self) -> tuple[int, ...]:
        """The arms from larger to smaller baseline; unresolved ones by their averages."""
        return tuple(arm for group in self.groups for arm in sorted(group, key=self._rank))

    @property
    def unresolved(self) -> tuple[int, ...]:
        """The arms whose place is still open."""
        return tuple(sorted(arm for group in self.groups if len(group) > 1 for arm in group))

    def _is_done(self) -> bool:
        """Tell whether all arms have their place, or the next block exceeds the budget."""
        if self._left == len(self.active) and not self.unresolved:
            return True
        return self.budget is not None and self.pulls + self._next().pulls > self.budget

    def _group(self) -> list[int]:
        """Return the arms that the next block samples."""
        left = self.active[len(self.active) - self._left :]
        if self._counts_every_pull:
            return left
        # With fewer arms than pulls in a group, one arm is left over to fill it with.
        return left[: min(self._rest, self.arms - (self.arms < self._rest))]

    def _next(self) -> Block:
        group = self._group()
        if self._counts_every_pull:
            return Block(tuple(group))
        others = [arm for arm in range(self.arms) if arm not in group]
        return Block((*group, *islice(cycle(others), self._rest - len(group))), 2)

    @property
    def _rest(self) -> int:
        """The paper's d_0: a pull after so many rounds finds any arm rested."""
        return 0 if self.max_delay is None else self.max_delay + 1

    @property
    def _counts_every_pull(self) -> bool:
        return self.max_delay is None or (self.frugal and len(self.active) >= self._rest)

    def _choose(self) -> Block:
        return Block((self.order[0],), 2**52) if self.done else self._next()

    def _learn(self, block: Block, outcome: Outcome) -> None:
        if self.done:
            return
        self.pulls += block.pulls
        group = self._group()
        # The first of two plays only calibrates the delays.
        rewards = outcome.first if block.plays == 1 else outcome.rest
        for arm, reward in zip(group, rewards, strict=False):
            self.sums[arm] += float(reward)
            self.samples[arm] += 1
        self._left -= len(group)
        if self._left == 0:
            self._end_round()
        self.done = self._is_done()

    def _end_round(self) -> None:
        self.rounds += 1
        ranked = sorted(self.active, key=self._rank)
        averages = [math.inf, *(self.sums[arm] / self.rounds for arm in ranked), -math.inf]
        apart = 2 * self.width
        for place, arm in enumerate(ranked):
            larger, own, smaller = averages[place : place + 3]
            if own + apart < larger and own - apart > smaller:
                self._split(arm, ranked[:place], ranked[place + 1 :])
                self.active.remove(arm)
        self._left = len(self.active)

    def _split(self, arm: int, larger: Sequence[int], smaller: Sequence[int]) -> None:
        """Set an arm apart, between those of its group with larger baselines and with smaller."""
        place = next(place for place, group in enumerate(self.groups) if arm in group)
        group = set(self.groups[place])
        before = [other for other in larger if other in group]
        after = [other for other in smaller if other in group]
        self.groups[place : place + 1] = [part for part in (before, [arm], after) if part]

    def _rank(self, arm: int) -> float:
        return -self.sums[arm] / max(self.samples[arm], 1)
