"""The graph of the exact problem: its states, and the state that follows each pull."""

import math
from itertools import combinations

import numpy as np
import numpy.typing as npt

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import states
from fallow.kernels.policies import Graph, strong_components
from fallow.limits import Limits

Successors = npt.NDArray[np.int32]


def count_states(delays: IntArray, limits: Limits) -> int:
    """Return how many states the graph has before the limits take some away.

    That is the number of delay vectors, times, for each cap of several pulls, the number of
    patterns of latest pulls that it must tell apart.
    """
    vectors = int(states.count_vectors(delays))
    patterns = (_count_patterns(pulls, rounds) for _, pulls, rounds in _wide_caps(limits))
    return math.prod([vectors, *patterns])


def graph_of(means: FloatArray, delays: IntArray, limits: Limits) -> Graph:
    """Return all states that can be returned to, and the state that follows each of their pulls.

    Limits take away pulls, and then the states that no cycle comes through. Delays alone do not
    show how often a cap of several pulls was used, so there a state also holds in which of the
    latest rounds its arms were pulled.
    """
    space, aged_space = map(states.number_vectors, (delays, np.maximum(delays - 1, 0)))
    graph = Graph(means, *states.transitions(space, aged_space))
    if not limits.bind:
        return graph
    successors = np.where(_allowed(graph.delays, limits), graph.successors[graph.aged], -1)
    delays_of = graph.delays
    for cap in _wide_caps(limits):
        after = _patterns_after(*cap)  # by pattern and arm
        patterns = len(after)
        moved = successors[:, np.newaxis] * patterns + after
        forbidden = (successors[:, np.newaxis] < 0) | (after < 0)
        successors = np.where(forbidden, -1, moved).reshape(-1, moved.shape[2])
        delays_of = np.repeat(delays_of, patterns, axis=0)
    return _within_cycles(means, delays_of, successors.astype(np.int32))


def _allowed(delays: npt.NDArray[np.int32], limits: Limits) -> npt.NDArray[np.bool_]:
    """Tell which arms may be pulled at each delay vector, by what delays alone decide."""
    allowed = delays >= limits.shortest
    for members, pulls, rounds in limits.caps():
        if pulls == 1:
            free = delays[:, members].min(axis=1) >= rounds
            allowed[:, members] &= free[:, np.newaxis]
    due = delays >= limits.longest
    due_arms = due.sum(axis=1, keepdims=True)
    restricted: npt.NDArray[np.bool_] = allowed & (due | (due_arms == 0)) & (due_arms <= 1)
    return restricted


def _wide_caps(limits: Limits) -> list[tuple[npt.NDArray[np.bool_], int, int]]:
    """Return the caps that delays alone do not decide: several pulls in more rounds than that."""
    return [cap for cap in limits.caps() if 1 < cap[1] < cap[2]]


def _count_patterns(pulls: int, rounds: int) -> int:
    return sum(math.comb(rounds - 1, used) for used in range(pulls + 1))


def _patterns_after(members: npt.NDArray[np.bool_], pulls: int, rounds: int) -> IntArray:
    """Return, by pattern and arm, the pattern after a pull of the arm; -1 if the cap forbids it.

    The bits of a pattern show in which of the latest rounds the cap's arms were pulled. There is
    one round less than the cap counts, as the pull that is decided now takes the last one.
    """
    latest = range(rounds - 1)
    patterns = [
        sum(1 << age for age in used)
        for count in range(pulls + 1)
        for used in combinations(latest, count)
    ]
    number_of = {bits: number for number, bits in enumerate(patterns)}
    kept = 2 ** (rounds - 1) - 1
    after = np.empty((len(patterns), len(members)), np.int64)
    for number, bits in enumerate(patterns):
        is_full = bits.bit_count() == pulls
        after[number] = number_of[(2 * bits) & kept]
        after[number, members] = -1 if is_full else number_of[(2 * bits + 1) & kept]
    return after


def _within_cycles(
    means: FloatArray, delays: npt.NDArray[np.int32], successors: Successors
) -> Graph:
    """Return the graph of the states on cycles, with the pulls that can be part of one."""
    components = strong_components(successors)
    returns = (components[successors] == components[:, np.newaxis]) & (successors >= 0)
    kept = np.flatnonzero(returns.any(axis=1))
    number = np.full(len(successors), -1, np.int32)
    number[kept] = np.arange(len(kept))
    within = np.where(returns[kept], number[successors[kept]], np.int32(-1))
    return Graph(means, delays[kept], np.arange(len(kept), dtype=np.int32), within)
