"""Algorithms 1 and 2 pull by pull, written from the paper's text, with luck fixed in advance."""

import math
from collections.abc import Callable

import numpy as np

from fallow import Instance, Outcome
from fallow.learners import CheckedLearner


class Game:
    """Pulls of an instance from rest, in which the luck of each round is fixed in advance."""

    def __init__(self, instance: Instance, horizon: int, seed: int) -> None:
        self.means = instance.means.tolist()
        self.luck = np.random.default_rng(seed).random(horizon).tolist()
        self.last = [-(10**9)] * instance.arms
        self.pulls: list[int] = []

    @property
    def over(self) -> bool:
        return len(self.pulls) == len(self.luck)

    def pull(self, arm: int) -> float:
        now = len(self.pulls)
        tau = now - self.last[arm]
        self.last[arm] = now
        self.pulls.append(arm)
        return float(self.luck[now] < self.means[arm][min(tau, len(self.means[arm])) - 1])


def follow(learner: CheckedLearner, game: Game) -> list[int]:
    """Let a learner play by `ask` and `tell` until the game is over; return all pulls."""
    while not game.over:
        block = learner.ask()
        earned = []
        for place in range(block.pulls):
            if game.over:
                return game.pulls
            earned.append(game.pull(block.arms[place % len(block.arms)]))
        rewards = np.array(earned).reshape(block.plays, len(block.arms))
        learner.tell(block, Outcome(rewards[0].tolist(), rewards[1:].sum(axis=0).tolist()))
    return game.pulls


def low_switch(
    game: Game,
    arms: int,
    delta: float,
    confidence_scale: float = 1.0,
    whole: Callable[[float], int] = math.ceil,
    commits: bool = False,
    active_widths: bool = False,
) -> list[int]:
    """Algorithm 1 for arms that are numbered by decreasing baseline; return all pulls."""
    horizon = len(game.luck)
    lengths: list[float] = []  # T_1, T_2, ...
    while sum(lengths) + len(lengths) < horizon:
        lengths.append(horizon ** (1 - 2 ** -(len(lengths) + 1)))
    log = math.log(2 * arms * len(lengths) / delta)
    active = list(range(1, arms + 1))
    best = stage = 0
    while not game.over:
        stage += 1
        length = horizon ** (1 - 2**-stage)
        plays = {m: max(whole(length / (m * len(active))), 1) + 1 for m in active}
        needed = sum(m * plays[m] for m in active)
        too_long = commits and stage > 1 and len(game.pulls) + needed > horizon
        if len(active) == 1 or too_long:
            left = active[0] if len(active) == 1 else best
            while not game.over:
                for arm in range(left):
                    if not game.over:
                        game.pull(arm)
            return game.pulls
        averages = {}
        for m in active:
            rewards = []
            for play in range(plays[m]):
                for arm in range(m):
                    if game.over:
                        return game.pulls
                    reward = game.pull(arm)
                    if play > 0:
                        rewards.append(reward)
            averages[m] = sum(rewards) / len(rewards)
        best = max(active, key=lambda m: averages[m])
        policies = len(active) if active_widths else arms
        width = confidence_scale * math.sqrt(policies / (2 * length) * log)
        active = [m for m in active if averages[m] >= averages[best] - 2 * width]
    return game.pulls


def bandit_ranker(game: Game, arms: int, delta: float) -> list[int]:
    """Algorithm 2 without calibration; return the order, best arm first."""
    active = list(range(arms))
    sums, before = [0.0] * arms, [set[int]() for _ in range(arms)]
    rounds = 0
    while len(active) > 1 and not game.over:
        rounds += 1
        for arm in active:
            sums[arm] += game.pull(arm)
        average = [total / rounds for total in sums]
        width = math.sqrt(math.log(2 * arms * rounds * (rounds + 1) / delta) / (2 * rounds))
        leaving = []
        for arm in active:
            others = [other for other in active if other != arm]
            if all(abs(average[other] - average[arm]) > 2 * width for other in others):
                leaving.append(arm)
                for other in others:
                    first, second = sorted((arm, other), key=lambda each: -average[each])
                    before[second].add(first)
        active = [arm for arm in active if arm not in leaving]
    # An arm that left was compared with all that were active then, and so with every arm once.
    return sorted(range(arms), key=lambda arm: len(before[arm]))
