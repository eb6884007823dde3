"""Policy iteration over delay vectors, step by step, against plain Python."""

import numpy as np
import pytest

from fallow import Instance, catalog
from fallow.arrays import FloatArray
from fallow.kernels import policies
from fallow.planners.graph import graph_of
from fallow.planners.problem import problem_of

SEEDS = pytest.mark.parametrize("seed", range(12))


def drawn_policy(seed: int) -> policies.Policy:
    """A policy that leads anywhere; the arm of a state is its number."""
    generator = np.random.default_rng(seed)
    count = int(generator.integers(1, 30))
    followers = generator.integers(0, count, count).astype(np.int32)
    return policies.Policy(np.arange(count, dtype=np.int32), followers, generator.random(count))


def cycles_of(policy: policies.Policy) -> list[list[int]]:
    """The cycle that each state ends in."""
    cycles = []
    for start in range(len(policy.arms)):
        path = [start]
        while policy.followers[path[-1]] not in path:
            path.append(int(policy.followers[path[-1]]))
        cycles.append(path[path.index(policy.followers[path[-1]]) :])
    return cycles


@SEEDS
def test_a_state_gains_what_its_cycle_earns_on_average(seed: int) -> None:
    policy, earlier = drawn_policy(seed), np.random.default_rng(seed).random((30, 2))
    cycles = cycles_of(policy)
    scores = earlier[: len(cycles)].copy()
    policies.evaluate(policy, scores)
    gains, values = scores.T
    np.testing.assert_allclose(gains, [policy.rewards[cycle].mean() for cycle in cycles])
    np.testing.assert_allclose(policy.rewards + values[policy.followers], gains + values)
    for cycle in cycles:
        assert (values[cycle] == earlier[cycle, 1]).any()  # one state keeps its value


@SEEDS
def test_the_best_cycle_has_the_largest_gain(seed: int) -> None:
    policy = drawn_policy(seed)
    scores = np.zeros((len(policy.arms), 2))
    policies.evaluate(policy, scores)
    found = policies.best_cycle(policy, scores)
    assert policy.followers[found].tolist() == [*found[1:], found[0]]
    assert policy.rewards[found].mean() == pytest.approx(scores[:, 0].max(), abs=1e-12)


def drawn_graph(seed: int) -> tuple[policies.Graph, policies.Policy]:
    """The delay vectors of a random instance with two equal arms, and any policy."""
    means = catalog.random_table(arms=3, max_delay=3, seed=seed).means.tolist()
    problem = problem_of(Instance([*means, means[0]]))
    graph = graph_of(problem.means, problem.delays, problem.limits)
    generator = np.random.default_rng(seed)
    policy = policies.index_policy(graph, generator.random(graph.means.shape))
    return graph, policy


@SEEDS
def test_the_policy_of_an_index_pulls_the_arm_with_the_largest(seed: int) -> None:
    graph, _ = drawn_graph(seed)
    indices = np.random.default_rng(seed).random(graph.means.shape)
    found = policies.index_policy(graph, indices).arms
    for arm, delays in zip(found, graph.delays, strict=True):
        assert arm == np.argmax(indices[np.arange(len(delays)), delays - 1])


@SEEDS
def test_a_policy_earns_what_its_arms_earn_after_the_means_have_changed(seed: int) -> None:
    graph, policy = drawn_graph(seed)
    means = np.random.default_rng(seed + 1).random(graph.means.shape)
    means.setflags(write=False)
    arms, followers = policy.arms.copy(), policy.followers.copy()
    policies.reprice(graph._replace(means=means), policy)
    delays = graph.delays[np.arange(len(arms)), arms]
    assert policy.rewards.tolist() == means[arms, delays - 1].tolist()
    assert (policy.arms == arms).all()
    assert (policy.followers == followers).all()


def prospects(graph: policies.Graph, scores: FloatArray, state: int) -> list[tuple[float, float]]:
    """The gain after each arm, and its reward plus the value after it."""
    found = []
    for arm, row in enumerate(graph.means):
        after = graph.successors[graph.aged[state], arm]
        reward = row[graph.delays[state, arm] - 1]
        found.append((scores[after, 0], reward + scores[after, 1]))
    return found


@SEEDS
def test_a_state_takes_its_best_arm_and_changes_only_for_a_better_one(seed: int) -> None:
    graph, policy = drawn_graph(seed)
    scores = np.zeros((len(policy.arms), 2))
    changed = len(scores)
    while changed:
        policies.evaluate(policy, scores)
        before = policy.arms.copy()
        changed = policies.improve(graph, policy, scores)
        assert changed == (policy.arms != before).sum()
        for state, (old, arm) in enumerate(zip(before, policy.arms, strict=True)):
            each = prospects(graph, scores, state)
            gain = max(gain for gain, _ in each)
            value = max(value for own, value in each if own > gain - 1e-12)
            assert each[arm] == pytest.approx((gain, value), abs=2e-12)
            assert arm == old or each[old] != pytest.approx(each[arm], abs=0.5e-12)
            after = graph.successors[graph.aged[state], arm]
            assert policy.followers[state] == after
            assert policy.rewards[state] == graph.means[arm, graph.delays[state, arm] - 1]


@SEEDS
def test_no_state_rises_by_more_than_the_largest_rise(seed: int) -> None:
    graph, policy = drawn_graph(seed)
    scores = np.random.default_rng(seed).random((len(policy.arms), 2))
    rises = [
        value - scores[state, 1]
        for state in range(len(scores))
        for _, value in prospects(graph, scores, state)
    ]
    assert policies.largest_rise(graph, scores) == max(rises)
