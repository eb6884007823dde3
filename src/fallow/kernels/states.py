"""Reachable delay vectors, numbered without gaps, and policy iteration over them.

A delay vector is held as `recent`: `recent[age - 1]` is the arm last pulled `age` rounds ago, or
NOBODY where that arm was pulled again since or is rested by now (its delay is below the age). Arms
not in `recent` are rested. Every list of distinct arms, each no older than its delay, is reached by
pulling the newest arm of the list in the rounds that belong to nobody. So the vectors are counted
and numbered with `completions[age, placed]`: the ways to fill ages 1 .. age when `placed` arms
stand at older ages. Somebody was pulled one round ago, so age 1 is nobody's only if some arm has
delay 0.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import compiled

Int32Array = npt.NDArray[np.int32]

NOBODY = -1
TOLERANCE = 1e-12


class Space(NamedTuple):
    """The delay vectors of arms with these delays."""

    delays: IntArray
    completions: IntArray


class Graph(NamedTuple):
    """What each arm earns in each state, and the state that follows.

    Pulling `arm` in `state` earns `means[arm, delays[state, arm] - 1]` and leads to
    `successors[aged[state], arm]`.
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
def _if_nobody(space: Space, age: int, placed: int) -> int:
    """Return the ways to fill the ages below when nobody stands at this one."""
    if age == 1 and space.delays.min() > 0:
        return 0
    return int(space.completions[age - 1, placed])


@compiled
def number_of(recent: IntArray, space: Space) -> int:
    """Return the number of a delay vector."""
    number = 0
    placed = 0
    for age in range(len(recent), 0, -1):
        arm = recent[age - 1]
        if arm == NOBODY:
            continue
        smaller = 0  # arms before this one that could stand here
        for other in range(arm):
            smaller += space.delays[other] >= age
        for older in range(age, len(recent)):
            smaller -= NOBODY < recent[older] < arm
        number += _if_nobody(space, age, placed)
        number += smaller * space.completions[age - 1, placed + 1]
        placed += 1
    return number


@compiled
def recent_of(number: int, space: Space) -> IntArray:
    """Return the delay vector with a number."""
    ages = space.completions.shape[0] - 1
    recent = np.full(ages, NOBODY)
    used = np.zeros(len(space.delays), np.bool_)
    placed = 0
    for age in range(ages, 0, -1):
        skipped = _if_nobody(space, age, placed)
        if number < skipped:
            continue
        smaller, number = divmod(number - skipped, space.completions[age - 1, placed + 1])
        placed += 1
        for arm in range(len(used)):
            if space.delays[arm] >= age and not used[arm]:
                if smaller == 0:
                    recent[age - 1] = arm
                    used[arm] = True
                    break
                smaller -= 1
    return recent


@compiled
def build_graph(means: FloatArray, space: Space, aged_space: Space) -> Graph:
    """Return the graph of all states of a space.

    What follows a state depends on its aged state: the vector without the arms that are rested one
    round later. These vectors form the space of the delays d_i - 1, several times smaller.
    """
    arms = len(means)
    delays = np.empty((space.completions[-1, 0], arms), np.int32)
    aged = np.empty(len(delays), np.int32)
    for state in range(len(delays)):
        recent = recent_of(state, space)
        delays[state] = space.delays + 1
        for age in range(1, len(recent) + 1):
            arm = recent[age - 1]
            if arm != NOBODY:
                delays[state, arm] = age
                if space.delays[arm] == age:
                    recent[age - 1] = NOBODY
        aged[state] = number_of(recent[:-1], aged_space)
    successors = np.empty((aged_space.completions[-1, 0], arms), np.int32)
    recent = np.empty(space.completions.shape[0] - 1, np.int64)
    for number in range(len(successors)):
        older = recent_of(number, aged_space)
        for arm in range(arms):
            recent[:1] = arm if space.delays[arm] > 0 else NOBODY
            for age in range(2, len(recent) + 1):
                recent[age - 1] = NOBODY if older[age - 2] == arm else older[age - 2]
            successors[number, arm] = number_of(recent, space)
    return Graph(means, delays, aged, successors)


@compiled
def _choose(graph: Graph, policy: Policy, state: int, arm: int) -> None:
    policy.arms[state] = arm
    policy.followers[state] = graph.successors[graph.aged[state], arm]
    policy.rewards[state] = graph.means[arm, graph.delays[state, arm] - 1]


@compiled
def index_policy(graph: Graph, indices: FloatArray) -> Policy:
    """Return the policy that pulls the arm with the largest index at its delay."""
    states, arms = graph.delays.shape
    policy = Policy(np.empty(states, np.int32), np.empty(states, np.int32), np.empty(states))
    for state in range(states):
        best = 0
        for arm in range(1, arms):
            rival = indices[arm, graph.delays[state, arm] - 1]
            if rival > indices[best, graph.delays[state, best] - 1]:
                best = arm
        _choose(graph, policy, state, best)
    return policy


@compiled
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
            total = policy.rewards[state]
            rounds = 1
            while path[length - rounds] != state:
                total += policy.rewards[path[length - rounds]]
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


@compiled
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
            gain = scores[after, 0]
            if gain < best_gain - TOLERANCE:
                continue
            value = graph.means[arm, graph.delays[state, arm] - 1] + scores[after, 1]
            if gain > best_gain + TOLERANCE or value > best_value + TOLERANCE:
                best, best_gain, best_value = arm, gain, value
        if best != policy.arms[state]:
            changed += 1
            _choose(graph, policy, state, best)
    return changed


@compiled
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


@compiled
def largest_rise(graph: Graph, scores: FloatArray) -> float:
    """Return max over states of (best reward plus next value) - value: no gain exceeds it."""
    largest = -np.inf
    for state in range(len(scores)):
        for arm in range(len(graph.means)):
            reward = graph.means[arm, graph.delays[state, arm] - 1]
            after = graph.successors[graph.aged[state], arm]
            largest = max(largest, reward + scores[after, 1] - scores[state, 1])
    return largest
