"""Choices by their definitions, and compiled loops against the learners that they play."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from learner_contract import HORIZON, INSTANCE, MAKERS, Spy

from fallow import Outcome, RankingUCB, simulate
from fallow.arrays import FloatArray
from fallow.kernels import bandits
from fallow.learners import UCB1
from fallow.learners.baselines import empty_statistics
from fallow.protocol import has_compiled_loop
from fallow.rewards import Rewards

COMPILED = [name for name, make in MAKERS.items() if has_compiled_loop(make())]


def drawn_statistics(generator: np.random.Generator) -> bandits.Statistics:
    """Successes of a few options, some of them untried."""
    statistics = empty_statistics(int(generator.integers(1, 6)))
    statistics.counts[:] = generator.integers(generator.integers(0, 2), 8, len(statistics.counts))
    statistics.sums[:] = generator.binomial(statistics.counts.astype(int), 0.5)
    return statistics


def first_untried_or_best(counts: FloatArray, indices: Any) -> int:
    """The option that UCB and epsilon-greedy take; ties go to the first."""
    untried = np.flatnonzero(counts == 0)
    return int(untried[0] if len(untried) else np.argmax(indices))


def test_choices_take_the_largest_index() -> None:
    generator = np.random.default_rng(0)
    for seed in range(200):
        statistics = drawn_statistics(generator)
        counts, sums = statistics.counts, statistics.sums
        averages = sums / np.maximum(counts, 1)
        bonus = np.sqrt(0.6 * math.log(50) / np.maximum(counts, 1))
        best = first_untried_or_best(counts, averages + bonus)
        assert bandits.ucb_choice(statistics, 50.0, 0.6) == best
        best = first_untried_or_best(counts, averages)
        assert bandits.epsilon_choice(statistics, 0.0, np.random.default_rng(seed)) == best
        draws = np.random.default_rng(seed).beta(1 + sums, 1 + counts - sums)
        best = int(np.argmax(draws))
        assert bandits.thompson_choice(statistics, np.random.default_rng(seed)) == best


def test_epsilon_is_how_often_any_option_is_taken() -> None:
    """Each of 3 options, the first of them best; 6 standard errors, a chance below 1e-8."""
    statistics = empty_statistics(3)
    statistics.counts[:], statistics.sums[:] = 10, [9, 5, 1]
    generator = np.random.default_rng(0)
    choices = [bandits.epsilon_choice(statistics, 0.6, generator) for _ in range(4000)]
    shares = np.bincount(choices, minlength=3) / 4000
    assert np.abs(shares - [0.6, 0.2, 0.2]).max() < 6 * math.sqrt(0.24 / 4000)


@pytest.mark.parametrize("window", [0, 1, 7])
def test_statistics_are_of_the_rewards_within_the_window(window: int) -> None:
    generator = np.random.default_rng(0)
    statistics = empty_statistics(3, window)
    options, rewards = generator.integers(0, 3, 40), generator.integers(0, 5, 40) / 4
    for now in range(40):
        bandits.observe(statistics, options[now], rewards[now])
        within = slice(now + 1 - window if 0 < window <= now else 0, now + 1)
        seen = options[within]
        assert statistics.counts.tolist() == np.bincount(seen, minlength=3).tolist()
        assert statistics.sums.tolist() == np.bincount(seen, rewards[within], 3).tolist()
    assert statistics.total[0] == 40


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("rewards", ["none", "bernoulli"])
@pytest.mark.parametrize("log", [7, 2**15])
def test_a_compiled_loop_plays_on_as_its_object_does(
    monkeypatch: pytest.MonkeyPatch, name: str, rewards: Rewards, log: int
) -> None:
    """Both have learned something before; the log is full often, or never."""
    monkeypatch.setitem(simulate.__globals__, "LOG", log)
    looped, asked = MAKERS[name](), MAKERS[name]()
    for learner in (looped, asked):
        generator = np.random.default_rng(0)
        for _ in range(300):
            block = learner.ask()
            first, rest = generator.integers(0, 2, (2, len(block.arms))).tolist()
            learner.tell(block, Outcome(first, [(block.plays > 1) * earned for earned in rest]))
    runs = [simulate(INSTANCE, learner, HORIZON, 9, rewards) for learner in (looped, Spy(asked))]
    rounds = np.arange(HORIZON + 1)
    assert (runs[0].expected_reward(rounds) == runs[1].expected_reward(rounds)).all()
    assert (runs[0].switches(rounds) == runs[1].switches(rounds)).all()
    assert looped.state() == asked.state()


@pytest.mark.parametrize("build", [UCB1, lambda arms: RankingUCB(range(arms))])
def test_where_rounding_decides_the_compiled_ucb_does_as_its_object(
    build: Callable[[int], Any],
) -> None:
    """Statistics of two options whose indices are equal but for rounding."""
    generator = np.random.default_rng(0)
    for _ in range(200):
        learner = build(2)
        counts, sums, total = learner._statistics[:3]
        counts[:] = generator.integers(20, 40, 2)
        total[0] = counts.sum()
        sums[:] = counts * (1 - np.sqrt(2 * math.log(total[0]) / counts))
        last_arm = learner.ask().arms[-1]
        table = bandits.Table(INSTANCE.means[:2], np.full(2, -4), np.zeros(2, np.int64))
        log = bandits.Runs(np.empty(1, np.int32), np.empty(1, np.int64))
        assert learner.play_compiled(table, 4, False, generator, log) == 1
        assert log.numbers[0] == last_arm
