"""Other libraries of bandits, each played the way its documentation shows.

They know nothing of delays, so the instance is played for them in plain Python, round by round.
"""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import fallow


class Environment:
    """An instance with Bernoulli rewards in plain Python, and the arms that were pulled."""

    def __init__(self, instance: fallow.Instance, seed: int) -> None:
        self.means = instance.means.tolist()
        self.rested = len(self.means[0])
        self.last = [-self.rested] * len(self.means)
        self.played: list[int] = []
        self.random = random.Random(seed).random

    def pull(self, arm: int) -> float:
        """Pull an arm and return its reward."""
        now = len(self.played)
        delay = now - self.last[arm]
        self.last[arm] = now
        self.played.append(arm)
        mean = self.means[arm][delay - 1 if delay < self.rested else -1]
        return 1.0 if self.random() < mean else 0.0

    def expected_reward(self) -> float:
        """Return what the pulls so far were worth."""
        last = [-self.rested] * len(self.means)
        total = 0.0
        for now, arm in enumerate(self.played):
            total += self.means[arm][min(now - last[arm], self.rested) - 1]
            last[arm] = now
        return total


@dataclass(frozen=True)
class Peer:
    """A library: its policies by name, made for some arms and a seed, and how one is played."""

    name: str
    policies: Mapping[str, Callable[[int, int], Any]]
    play: Callable[[Any, Environment, int], None]
    rounds: int
    """Such that a run takes about 0.3 s."""


def peers() -> list[Peer]:
    """Return the libraries, which are imported here only."""
    return [_pymab(), _river(), _mabwiser(), _coba()]


def plain_ucb1(environment: Environment, rounds: int) -> None:
    """Play UCB1 in plain Python."""
    arms = len(environment.means)
    counts, sums = [0] * arms, [0.0] * arms
    pull, log, sqrt = environment.pull, math.log, math.sqrt
    for now in range(rounds):
        arm = now
        if now >= arms:
            width = 2 * log(now)
            best = -1.0
            for option in range(arms):
                count = counts[option]
                index = sums[option] / count + sqrt(width / count)
                if index > best:
                    arm, best = option, index
        sums[arm] += pull(arm)
        counts[arm] += 1


def _pymab() -> Peer:
    from pymab import policies

    def play(policy: Any, environment: Environment, rounds: int) -> None:
        generator = np.random.default_rng(0)
        for _ in range(rounds):
            arm = policy.select_action(rng=generator)
            policy.update(action=arm, reward=environment.pull(arm))

    kinds = {
        "UCB1": policies.UCBPolicy,
        "KL-UCB": policies.KLUCBPolicy,
        "epsilon-greedy": policies.EpsilonGreedyPolicy,
        "Thompson sampling": policies.BernoulliThompsonSamplingPolicy,
        "softmax": policies.SoftmaxPolicy,
        "gradient": policies.GradientBanditPolicy,
        "Exp3": policies.EXP3Policy,
        "sliding-window UCB": policies.SlidingWindowUCBPolicy,
        "discounted UCB": policies.DiscountedUCBPolicy,
        "random": policies.RandomPolicy,
    }
    made = {name: lambda arms, _, kind=kind: kind(n_arms=arms) for name, kind in kinds.items()}
    return Peer("PyMAB", made, play, rounds=25_000)


def _river() -> Peer:
    from river import bandit, proba

    def play(policy: Any, environment: Environment, rounds: int) -> None:
        arms = list(range(len(environment.means)))
        for _ in range(rounds):
            arm = policy.pull(arms)
            policy.update(arm, environment.pull(arm))

    made = {
        "UCB1": lambda _, seed: bandit.UCB(delta=1, seed=seed),
        "Bayes-UCB": lambda _, seed: bandit.BayesUCB(seed=seed),
        "epsilon-greedy": lambda _, seed: bandit.EpsilonGreedy(epsilon=0.1, seed=seed),
        "Thompson sampling": lambda _, seed: bandit.ThompsonSampling(proba.Beta(), seed=seed),
        "Exp3": lambda _, seed: bandit.Exp3(gamma=0.1, seed=seed),
        "random": lambda _, seed: bandit.RandomPolicy(seed=seed),
    }
    return Peer("River", made, play, rounds=20_000)


def _mabwiser() -> Peer:
    from mabwiser.mab import MAB, LearningPolicy

    def play(policy: Any, environment: Environment, rounds: int) -> None:
        arms = list(range(len(environment.means)))
        policy.fit(arms, [environment.pull(arm) for arm in arms])
        for _ in range(rounds - len(arms)):
            arm = policy.predict()
            policy.partial_fit([arm], [environment.pull(arm)])

    kinds = {
        "UCB1": LearningPolicy.UCB1(alpha=1),
        "epsilon-greedy": LearningPolicy.EpsilonGreedy(),
        "Thompson sampling": LearningPolicy.ThompsonSampling(),
        "softmax": LearningPolicy.Softmax(),
        "popularity": LearningPolicy.Popularity(),
        "random": LearningPolicy.Random(),
    }
    made = {
        name: lambda arms, seed, kind=kind: MAB(list(range(arms)), kind, seed=seed)
        for name, kind in kinds.items()
    }
    return Peer("MABWiser", made, play, rounds=1_500)


def _coba() -> Peer:
    import coba

    def play(policy: Any, environment: Environment, rounds: int) -> None:
        arms = list(range(len(environment.means)))
        for _ in range(rounds):
            arm, probability = policy.predict(None, arms)
            policy.learn(None, arm, environment.pull(arm), probability)

    made = {
        "UCB1": lambda _, seed: coba.BanditUCBLearner(seed=seed),
        "epsilon-greedy": lambda _, seed: coba.BanditEpsilonLearner(seed=seed),
        "random": lambda _, seed: coba.RandomLearner(seed=seed),
    }
    return Peer("coba", made, play, rounds=10_000)
