"""Policies over a graph of states: policy iteration, the best cycle and the best path."""

from typing import NamedTuple

import numpy as np

from fallow.arrays import FloatArray, Int32Array, IntArray
from fallow.kernels import compiled, tiered

FORBIDDEN = -1
TOLERANCE = 1e-12
"""By how much a policy must gain to be changed; means are scaled to a largest of 1/2 or more."""


class Graph(NamedTuple):
    """What each arm earns in each state, and the state that follows.

    Pulling `arm` in `state` earns `means[arm, delays[state, arm] - 1]` and leads to
    `successors[aged[state], arm]`, FORBIDDEN where the arm must not be pulled.
    """

    means: FloatArray
    delays: Int32Array
    aged: Int32Array
    successors: Int32Array


class Policy(NamedTuple):
    """The arm chosen in each state, the state that follows, and the reward."""

    arms: Int32Array
    followers: Int32Array
    rewards: FloatArray


@compiled
def _choose(graph: Graph, policy: Policy, state: int, arm: int) -> None:
    policy.arms[state] = arm
    policy.followers[state] = graph.successors[graph.aged[state], arm]
    policy.rewards[state] = graph.means[arm, graph.delays[state, arm] - 1]


@tiered(lambda graph: graph.delays.size)
def index_policy(graph: Graph, indices: FloatArray) -> Policy:
    """Return the policy that pulls the arm with the largest index at its delay."""
    states, arms = graph.delays.shape
    policy = Policy(np.empty(states, np.int32), np.empty(states, np.int32), np.empty(states))
    for state in range(states):
        best, best_index = 0, -np.inf
        for arm in range(arms):
            index = indices[arm, graph.delays[state, arm] - 1]
            if index > best_index and graph.successors[graph.aged[state], arm] != FORBIDDEN:
                best, best_index = arm, index
        _choose(graph, policy, state, best)
    return policy


@tiered(lambda policy: len(policy.arms))
def reprice(graph: Graph, policy: Policy) -> None:
    """Write what the policy's arms earn, after the means have changed."""
    for state in range(len(policy.arms)):
        _choose(graph, policy, state, policy.arms[state])


@tiered(lambda policy: 2 * len(policy.arms))
def evaluate(policy: Policy, scores: FloatArray) -> None:
    """Write to `scores` the gain and the relative value of each state under a policy.

    On each cycle one state keeps the value it had, so that the values of cycles with equal gains
    stay comparable from call to call.
    """
    states = len(policy.arms)
    path = np.empty(states, np.int32)
    seen = np.zeros(states, np.bool_)
    scored = np.zeros(states, np.bool_)
    for start in range(states):
        state = start
        length = 0
        while not seen[state]:
            seen[state] = True
            path[length] = state
            length += 1
            state = policy.followers[state]
        if not scored[state]:  # the path has closed a new cycle here
            # Compensated summation: over a long cycle the rounding of a plain sum would pass for
            # an improvement, sweep after sweep.
            total, lost = policy.rewards[state], 0.0
            rounds = 1
            while path[length - rounds] != state:
                term = policy.rewards[path[length - rounds]] - lost
                larger = total + term
                lost = (larger - total) - term
                total = larger
                rounds += 1
            scores[state, 0] = total / rounds
            scored[state] = True
        for position in range(length - 1, -1, -1):
            state = path[position]
            if not scored[state]:
                after = policy.followers[state]
                scores[state, 0] = scores[after, 0]
                scores[state, 1] = policy.rewards[state] - scores[after, 0] + scores[after, 1]
                scored[state] = True


@tiered(lambda graph: 2 * graph.delays.size)
def improve(graph: Graph, policy: Policy, scores: FloatArray) -> int:
    """Give each state its best arm under the scores, and return how many states changed theirs.

    Best is the larger gain and, among equal gains, the larger reward plus value. An arm is changed
    only for one that is better by more than the tolerance.
    """
    changed = 0
    for state in range(len(policy.arms)):
        best = policy.arms[state]
        best_gain = scores[state, 0]
        best_value = scores[state, 0] + scores[state, 1]
        for arm in range(len(graph.means)):
            after = graph.successors[graph.aged[state], arm]
            if after == FORBIDDEN or scores[after, 0] < best_gain - TOLERANCE:
                continue
            gain = scores[after, 0]
            value = graph.means[arm, graph.delays[state, arm] - 1] + scores[after, 1]
            if gain > best_gain + TOLERANCE or value > best_value + TOLERANCE:
                best, best_gain, best_value = arm, gain, value
        if best != policy.arms[state]:
            changed += 1
            _choose(graph, policy, state, best)
    return changed


@tiered(lambda policy: 4 * len(policy.arms))
def best_cycle(policy: Policy, scores: FloatArray) -> IntArray:
    """Return the arms of a cycle with the largest gain under the policy."""
    state = scores[:, 0].argmax()
    for _ in range(len(scores)):  # by then on the cycle
        state = policy.followers[state]
    first = state
    cycle = [policy.arms[state]]
    state = policy.followers[state]
    while state != first:
        cycle.append(policy.arms[state])
        state = policy.followers[state]
    return np.array(cycle, np.int64)


@tiered(lambda graph: graph.delays.size)
def largest_rise(graph: Graph, scores: FloatArray) -> float:
    """Return max over states of (best reward plus next value) - value: no gain exceeds it."""
    largest = -np.inf
    for state in range(len(scores)):
        for arm in range(len(graph.means)):
            after = graph.successors[graph.aged[state], arm]
            if after != FORBIDDEN:
                reward = graph.means[arm, graph.delays[state, arm] - 1]
                largest = max(largest, reward + scores[after, 1] - scores[state, 1])
    return float(largest)


@tiered(lambda successors: 2 * successors.size)
def strong_components(successors: Int32Array) -> Int32Array:
    """Return a number for each state, the same for two if each leads to the other (Tarjan 1972)."""
    states, arms = successors.shape
    components = np.full(states, -1, np.int32)
    found = np.full(states, -1, np.int32)  # when each state was first seen
    lowest = np.zeros(states, np.int32)  # the earliest one still open that it leads to
    next_arm = np.zeros(states, np.int32)
    path = np.empty(states, np.int32)
    open_states = np.empty(states, np.int32)
    seen, opened, finished = 0, 0, 0
    for start in range(states):
        if found[start] != -1:
            continue
        path[0] = start
        length = 1
        while length:
            state = path[length - 1]
            if next_arm[state] == 0:
                found[state] = lowest[state] = seen
                seen += 1
                open_states[opened] = state
                opened += 1
            if next_arm[state] < arms:
                after = successors[state, next_arm[state]]
                next_arm[state] += 1
                if after == FORBIDDEN or components[after] != -1:
                    continue
                if found[after] == -1:
                    path[length] = after
                    length += 1
                else:
                    lowest[state] = min(lowest[state], found[after])
                continue
            length -= 1
            if length:
                lowest[path[length - 1]] = min(lowest[path[length - 1]], lowest[state])
            if lowest[state] == found[state]:
                while components[state] == -1:
                    opened -= 1
                    components[open_states[opened]] = finished
                finished += 1
    return components


@tiered(lambda graph, rounds: rounds * graph.delays.size)
def best_path(
    graph: Graph, rewards: FloatArray, entered: IntArray, rounds: int
) -> tuple[IntArray, float]:
    """Return the arms of the best schedule of this number of rounds, and what it earns.

    In the first round each arm earns `rewards` and leads to the state `entered`: the schedule may
    begin where no other leads to. What can be earned in the rounds after it is found from the last
    one backwards. Ties go to the first arm.

    The graph must have no FORBIDDEN successors, which are not looked for here. `schedule` builds it
    without limits, and plans instances with rules in `ruled_schedule`.
    """
    states, arms = graph.delays.shape
    choices = np.empty((rounds, states), np.int16)  # by the rounds that are left
    later, values = np.zeros(states), np.empty(states)
    for left in range(1, rounds):
        for state in range(states):
            best, most = 0, -np.inf
            for arm in range(arms):
                value = graph.means[arm, graph.delays[state, arm] - 1]
                value += later[graph.successors[graph.aged[state], arm]]
                if value > most:
                    best, most = arm, value
            choices[left, state] = best
            values[state] = most
        later, values = values, later
    path = np.empty(rounds, np.int64)
    path[0], most = 0, -np.inf
    for arm in range(arms):
        if rewards[arm] + later[entered[arm]] > most:
            path[0], most = arm, rewards[arm] + later[entered[arm]]
    state = entered[path[0]]
    for now in range(1, rounds):
        path[now] = choices[rounds - now, state]
        state = graph.successors[graph.aged[state], path[now]]
    return path, float(most)
