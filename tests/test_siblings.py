"""The learners of sibling papers do what these say."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from fallow import Block, Instance, Outcome, catalog, optimal, simulate
from fallow.kernels.blocks import best_block
from fallow.kernels.lookahead import best_sequence
from fallow.learners import ExploreThenCommit, ISICombUCB1, Lookahead, UCBGreedy
from fallow.learners.registry import learner_factory
from fallow.planners import greedy
from fallow.protocol import Learner


class UniformlyRandom:
    """Pulls any arm."""

    def __init__(self, arms: int, seed: int) -> None:
        self.arms = arms
        self.generator = np.random.default_rng([seed, 1])

    def ask(self) -> Block:
        return Block((int(self.generator.integers(self.arms)),))

    def tell(self, block: Block, outcome: Outcome) -> None:
        pass


class Recorded:
    """Passes everything on, and keeps the pulls."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self.pulls: list[int] = []

    def ask(self) -> Block:
        return self.learner.ask()

    def tell(self, block: Block, outcome: Outcome) -> None:
        self.pulls += block.arms * block.plays
        self.learner.tell(block, outcome)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(0, 7))
def test_ucb_greedy_plays_pull_for_pull_what_the_paper_says(
    seed: int, arms: int, longest: int
) -> None:
    """With delays up to 7 and few arms, all are often blocked at once."""
    generator = np.random.default_rng([seed, 1])
    delays = generator.integers(0, longest + 1, arms).tolist()
    instance = Instance(np.sort(generator.random((arms, longest + 1)), axis=1))
    oracle = reference.UCBGreedy(instance.means.tolist(), delays, np.random.default_rng(seed))
    learner = Recorded(UCBGreedy(arms, delays))
    simulate(instance, learner, 250, seed)
    assert learner.pulls == oracle.run(250)


def test_ucb_greedy_averages_only_pulls_of_available_arms() -> None:
    learner = UCBGreedy(1, [1])
    for reward in (1.0, 0.0, 1.0):
        block = learner.ask()
        learner.tell(block, Outcome([reward], [0.0]))
    assert (learner.counts, learner.sums) == ([1], [1.0])


def test_all_blocked_the_worthless_arm_is_given_up() -> None:
    """Arm 0 pays 1 every third round if let alone; arm 1 never pays and takes all other rounds."""
    instance = Instance.blocking([1, 0], delays=[2, 2])
    learner = Recorded(UCBGreedy(2, [2, 2]))
    run = simulate(instance, learner, 3000, seed=0, checkpoints=[3000])
    assert float(run.expected_reward(3000)) == 1000
    assert learner.pulls[-6:] in ([0, 1, 1] * 2, [1, 0, 1] * 2, [1, 1, 0] * 2)


def test_delays_are_told_by_name() -> None:
    instance = Instance([[0.1, 0.9, 0.9], [0.5, 0.5, 0.5]])
    learner = learner_factory("ucb-greedy", horizon=10)(instance, 0)
    assert isinstance(learner, UCBGreedy)
    assert learner.delays == [1, 0]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4), st.integers(1, 6))
def test_lookahead_searches_as_well_as_trying_every_sequence(
    seed: int, arms: int, depth: int, width: int
) -> None:
    generator = np.random.default_rng(seed)
    means = generator.normal(size=(arms, width))
    factors = generator.normal(size=(arms, width, width))
    covariances = factors @ factors.transpose(0, 2, 1)
    delays = generator.integers(1, width + 2, arms)
    scale = float(generator.uniform(0, 3))
    noise = float(generator.uniform(0, 2))
    found = best_sequence(means, covariances, noise, delays, depth, scale).tolist()
    table = means.tolist(), covariances.tolist(), noise, delays.tolist()
    value = reference.sequence_value(*table, found, scale)
    assert value == pytest.approx(reference.best_sequence_value(*table, depth, scale), abs=1e-9)


def test_lookahead_has_the_posterior_of_a_gaussian_process() -> None:
    """K (K + noise)^-1 y and K - K (K + noise)^-1 K, from all observations at once."""
    instance = catalog.recovering(seed=2)
    learner = Lookahead(10, 29, length_scale=4, noise=0.1)
    run = Recorded(learner)
    generator = np.random.default_rng(0)
    rewards = []
    while len(run.pulls) < 200:
        block = run.ask()
        told = generator.random(len(block.arms)).tolist()
        rewards += told
        run.tell(block, Outcome(told, [0.0] * len(told)))
    last = dict.fromkeys(range(10), -30)
    cells: list[list[int]] = [[] for _ in range(10)]
    earned: list[list[float]] = [[] for _ in range(10)]
    for now, arm in enumerate(run.pulls):
        cells[arm].append(min(now - last[arm], 30) - 1)
        earned[arm].append(rewards[now])
        last[arm] = now
    steps = np.arange(30)
    prior = np.exp(-((steps[:, None] - steps) ** 2) / (2 * 4**2))
    for arm in range(instance.arms):
        seen = cells[arm]
        weights = np.linalg.inv(prior[np.ix_(seen, seen)] + 0.1 * np.eye(len(seen)))
        mean = prior[:, seen] @ weights @ earned[arm]
        covariance = prior - prior[:, seen] @ weights @ prior[seen]
        np.testing.assert_allclose(learner._means[arm], mean, atol=1e-8)
        np.testing.assert_allclose(learner._covariances[arm], covariance, atol=1e-8)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(2, 7), st.integers(1, 6))
def test_the_best_block_is_as_good_as_trying_every_block(
    seed: int, arms: int, length: int, width: int
) -> None:
    generator = np.random.default_rng(seed)
    values = generator.random((arms, width))
    values[generator.random((arms, width)) < 0.2] = 5.0  # as untried cells are
    found = best_block(values, length, 10**7).tolist()
    assert len(found) == length
    score = reference.block_score(values.tolist(), found)
    assert score == pytest.approx(reference.best_block_score(values.tolist(), length), abs=1e-9)


def test_a_block_is_whole_however_few_steps_the_search_has() -> None:
    values = np.sort(np.random.default_rng(0).random((20, 21)), axis=1)
    few, many = (best_block(values, 22, steps).tolist() for steps in (22, 20_000))
    scores = [reference.block_score(values.tolist(), block) for block in (few, many)]
    assert len(few) == 22
    assert scores[0] <= scores[1]


def test_isi_comb_ucb1_averages_only_repeated_pulls() -> None:
    learner = ISICombUCB1(2, max_delay=1, block=4)
    rewards = [1.0, 0.5, 0.25, 0.0]
    counts, sums = np.zeros((2, 2)), np.zeros((2, 2))
    met = set()
    for _ in range(6):
        block = learner.ask()
        met.add(block.arms)
        for arm in (0, 1):
            places = [place for place in range(4) if block.arms[place] == arm]
            for before, place in pairwise(places):
                counts[arm, min(place - before, 2) - 1] += 1
                sums[arm, min(place - before, 2) - 1] += rewards[place]
        learner.tell(block, Outcome(rewards, [0.0] * 4))
    assert len(met) > 2
    assert learner._counts.tolist() == counts.tolist()
    assert learner._sums.tolist() == sums.tolist()
    assert counts.min() > 0


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(0, 3), st.integers(2, 5))
def test_isi_comb_ucb1_plays_the_best_block_by_its_scores(
    seed: int, arms: int, max_delay: int, length: int
) -> None:
    """Average + sqrt(1.5 ln t / n), and length x sqrt(1.5 ln(arms x length)) if untried."""
    generator = np.random.default_rng(seed)
    learner = ISICombUCB1(arms, max_delay, block=length)
    for played in range(12):
        untried = length * math.sqrt(1.5 * math.log(arms * length))
        scores = np.full(learner._counts.shape, untried)
        for cell in np.argwhere(learner._counts):
            count, total = learner._counts[*cell], learner._sums[*cell]
            bonus = math.sqrt(1.5 * math.log(played * length) / count)
            scores[*cell] = total / count + bonus
        block = learner.ask()
        best = reference.best_block_score(scores.tolist(), length)
        score = reference.block_score(scores.tolist(), list(block.arms))
        assert score == pytest.approx(best, abs=1e-9)
        learner.tell(block, Outcome(generator.random(length).tolist(), [0.0] * length))


def test_trick_og_tricks_greedy_and_not_isi_comb_ucb1() -> None:
    instance = catalog.trick_og()
    learner = ISICombUCB1(2, instance.max_delay, block=11)
    run = simulate(instance, learner, 10_000, seed=0, checkpoints=[10_000])
    assert greedy(instance).gain == pytest.approx(0.06)
    assert float(run.expected_reward(10_000)) > 0.85 * 10_000 * optimal(instance).gain
    # In the end blocks alternate between the arms.
    assert learner.ask().arms[::2] == (1,) * 6


OWN_FAMILIES = [
    ("ucb-greedy", "blocking_small", 2000),
    ("ucb-greedy", "blocking_large", 2000),
    ("ucb-greedy", "blocking_fixed", 2000),
    ("lookahead", "recovering", 1000),
    ("isi-comb-ucb1", "trick_og", 2000),
    ("explore-then-commit", "blocking_small", 5000),
    ("explore-then-commit", "blocking_large", 5000),
]


@pytest.mark.parametrize(("name", "family", "horizon"), OWN_FAMILIES)
def test_each_learner_beats_a_random_one_on_its_own_family(
    name: str, family: str, horizon: int
) -> None:
    """By a tenth, in the mean of 5 runs."""
    own, random = 0.0, 0.0
    for seed in range(5):
        parameters = {} if family == "trick_og" else {"seed": seed}
        instance = catalog.build(family, parameters)
        own += _earned(instance, learner_factory(name, horizon)(instance, seed), horizon, seed)
        random += _earned(instance, UniformlyRandom(instance.arms, seed), horizon, seed)
    assert own > 1.1 * random


def _earned(instance: Instance, learner: Learner, horizon: int, seed: int) -> float:
    run = simulate(instance, learner, horizon, seed, checkpoints=[horizon])
    return float(run.expected_reward(horizon))


@pytest.mark.parametrize("name", sorted({name for name, _, _ in OWN_FAMILIES}))
@pytest.mark.parametrize("table", [[[0.2, 0.7]], [[0.5], [0.4]], [[0.0, 0.0], [0.0, 0.0]]])
def test_small_and_worthless_instances_can_be_played(name: str, table: list[list[float]]) -> None:
    instance = Instance(table)
    run = simulate(instance, learner_factory(name, 300)(instance, 0), 300, seed=0)
    assert float(run.expected_reward(300)) <= 300 * 0.7


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: UCBGreedy(2, [1]), "delays must be one for each arm, got 1 for 2 arms"),
        (lambda: UCBGreedy(2, [1, -1]), "delays must be whole numbers >= 0, got -1 at position 1"),
        (lambda: Lookahead(2, 3, depth=0), "depth must be a whole number >= 1, got 0"),
        (lambda: Lookahead(2, -1), "max_delay must be a whole number >= 0, got -1"),
        (lambda: Lookahead(2, 3, noise=0), "noise must be a finite number >= 1e-06, got 0"),
        (lambda: ISICombUCB1(2, 3, block=1), "block must be a whole number >= 2, got 1"),
        (lambda: ISICombUCB1(0, 3), "arms must be a whole number >= 1, got 0"),
        (lambda: ExploreThenCommit(2, 3, 0), "horizon must be a whole number >= 1, got 0"),
        (lambda: ExploreThenCommit(2, 3, 9, seed=-1), "seed must be a whole number >= 0, got -1"),
    ],
)
def test_bad_parameters_are_named(build: Callable[[], Learner], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()
