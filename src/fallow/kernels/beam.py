"""Beam search over delay vectors, guided by the relaxed problem."""

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import compiled


@compiled
def relaxed_values(means: FloatArray, price: float, surplus: FloatArray) -> FloatArray:
    """Return what each arm at each delay is worth in the relaxed problem.

    A pull costs the price and a round costs the arm's surplus: max over t >= tau of
    mu(t) - price - surplus (t - tau). An arm without surplus may also stay unpulled.
    """
    arms, width = means.shape
    values = np.empty((arms, width))
    for arm in range(arms):
        later = 0.0 if surplus[arm] == 0 else -np.inf
        for delay in range(width, 0, -1):
            later = max(means[arm, delay - 1] - price, later - surplus[arm])
            values[arm, delay - 1] = later
    return values


@compiled
def _mark(arm: int | np.int64, delay: int | np.int64) -> np.uint64:
    """Return a well-mixed 64-bit number (the finaliser of splitmix64, wrapping around)."""
    mixed = np.uint64(arm) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(delay)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@compiled
def beam_path(
    means: FloatArray,
    values: FloatArray,
    price: float,
    start: IntArray,
    rounds: int,
    width: int,
    branches: int,
) -> IntArray:
    """Return the arms pulled on the best path of so many rounds from the delays at the start.

    Each round keeps the `width` best distinct delay vectors, by net reward so far plus the value of
    all arms at their delays; each is continued by its `branches` best arms. `values[n]` is by arm
    and delay when n rounds are left, and the last of them when there are more. Vectors are told
    apart by the exclusive or of a mark for each arm and delay.
    """
    arms, rested = means.shape
    branches = min(branches, arms)
    delays = np.empty((width, arms), np.int64)
    delays[0] = start
    next_delays = delays.copy()
    earned = np.zeros(width)
    next_earned = earned.copy()
    parents = np.zeros((rounds, width), np.int32)
    pulls = np.zeros((rounds, width), np.int32)
    scores = np.empty(width * branches)
    candidates = np.empty(width * branches, np.int64)
    marks = np.empty(width * branches, np.uint64)
    merits = np.empty(arms)
    kept = 1
    for now in range(rounds):
        later = values[min(rounds - now, len(values)) - 1]
        for node in range(kept):
            waiting = earned[node]
            mark = np.uint64(0)
            for arm in range(arms):
                aged = min(delays[node, arm] + 1, rested)
                waiting += later[arm, aged - 1]
                mark ^= _mark(arm, aged)
                net = means[arm, delays[node, arm] - 1] - price
                merits[arm] = net + later[arm, 0] - later[arm, aged - 1]
            for branch in range(branches):
                best = merits.argmax()
                place = node * branches + branch
                candidates[place] = best
                scores[place] = waiting + merits[best]
                aged = min(delays[node, best] + 1, rested)
                marks[place] = mark ^ _mark(best, aged) ^ _mark(best, 1)
                merits[best] = -np.inf
        ranked = np.argsort(-scores[: kept * branches])
        seen = set(marks[:0])
        kept = 0
        for place in ranked:
            if kept == width:
                break
            if marks[place] in seen:
                continue
            seen.add(marks[place])
            node, arm = place // branches, candidates[place]
            next_delays[kept] = np.minimum(delays[node] + 1, rested)
            next_delays[kept, arm] = 1
            next_earned[kept] = earned[node] + means[arm, delays[node, arm] - 1] - price
            parents[now, kept] = node
            pulls[now, kept] = arm
            kept += 1
        delays, next_delays = next_delays, delays
        earned, next_earned = next_earned, earned
    path = np.empty(rounds, np.int64)
    node = 0
    for now in range(rounds - 1, -1, -1):
        path[now] = pulls[now, node]
        node = parents[now, node]
    return path


@compiled
def best_repeat(means: FloatArray, path: IntArray) -> tuple[int, int]:
    """Return start and end of the part of a path with the largest average reward.

    Only parts that begin and end with the same delay vector count, as such a part can be repeated
    at that average; (0, the path's length) if there is none.
    """
    arms, rested = means.shape
    rounds = len(path)
    delays = np.full(arms, rested)
    marks = np.zeros(rounds + 1, np.uint64)
    earned = np.zeros(rounds + 1)
    for now in range(rounds + 1):
        for arm in range(arms):
            marks[now] ^= _mark(arm, delays[arm])
        if now < rounds:
            pulled = path[now]
            earned[now + 1] = earned[now] + means[pulled, delays[pulled] - 1]
            delays = np.minimum(delays + 1, rested)
            delays[pulled] = 1
    # Between two visits the average is at most that of the best part between visits in a row.
    best_start, best_end, best_average = 0, rounds, -np.inf
    by_mark = np.argsort(marks, kind="mergesort")
    for place in range(rounds):
        start, end = by_mark[place], by_mark[place + 1]
        if marks[start] == marks[end]:
            average = (earned[end] - earned[start]) / (end - start)
            if average > best_average + 1e-12:
                best_start, best_end, best_average = start, end, average
    return best_start, best_end
