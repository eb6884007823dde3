"""Paths through the delay vectors: following an index, and beam search; both within limits."""

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import compiled, tiered
from fallow.limits import NEVER, Limits


@compiled
def _rested_past(limits: Limits, arms: int, rested: int) -> tuple[IntArray, IntArray]:
    """Return delays and, for each cap, the rounds since its latest pulls, when nothing was pulled.

    Arms that must be pulled now and then have just been, so that there is time for all of them.
    """
    delays = np.full(arms, rested)
    for arm in range(arms):
        if limits.longest[arm] < NEVER:
            delays[arm] = 1
    most = 1
    for pulls in limits.pulls:
        most = max(most, pulls)
    return delays, np.full((len(limits.pulls), most), NEVER)


@compiled
def _most_urgent(limits: Limits, delays: IntArray) -> int:
    """Return for how long at most the arm pulled now may have had time, so that all keep theirs.

    With w(s) arms that must be pulled within s more rounds, all s + 1 rounds from now are theirs
    if w(s) = s + 1. NEVER if there is no such s, and -1 if they are too many already.
    """
    arms = len(delays)
    within = np.zeros(arms, np.int64)
    for arm in range(arms):
        spare = limits.longest[arm] - delays[arm]
        if spare < arms:
            within[max(spare, 0)] += 1
    urgent = 0
    for spare in range(arms):
        urgent += within[spare]
        if urgent > spare + 1:
            return -1
        if urgent == spare + 1:
            return spare
    return NEVER


@compiled
def _may_pull(
    limits: Limits, delays: IntArray, recent: IntArray, most_urgent: int, arm: int
) -> bool:
    """Tell whether an arm may be pulled now."""
    if delays[arm] < limits.shortest[arm]:
        return False
    if most_urgent < NEVER and limits.longest[arm] - delays[arm] > most_urgent:
        return False
    for cap in range(len(limits.pulls)):
        if limits.members[cap, arm] and recent[cap, limits.pulls[cap] - 1] < limits.rounds[cap]:
            return False
    return True


@compiled
def _pass_round(limits: Limits, delays: IntArray, recent: IntArray, rested: int, arm: int) -> None:
    """Count one round in which an arm is pulled."""
    for other in range(len(delays)):
        delays[other] = 1 if other == arm else min(delays[other] + 1, rested)
    for cap in range(len(limits.pulls)):
        latest = limits.pulls[cap]
        for place in range(latest):
            recent[cap, place] = min(recent[cap, place] + 1, limits.rounds[cap])
        if limits.members[cap, arm]:
            for place in range(latest - 1, 0, -1):
                recent[cap, place] = recent[cap, place - 1]
            recent[cap, 0] = 1


@compiled
def _same(numbers: IntArray, others: IntArray) -> bool:
    same = True
    for place in range(len(numbers)):
        same &= numbers[place] == others[place]
    return same


@tiered(lambda indices, max_rounds: 4 * len(indices) * max_rounds)
def follow(indices: FloatArray, limits: Limits, max_rounds: int) -> tuple[IntArray, bool]:
    """Pull the arm with the largest index, from rested, and return the cycle that this ends in.

    Ties go to the first arm. Brent's method finds the cycle: compare each state with one kept from
    an earlier round, and keep the current one whenever that is twice as far back as before. Without
    a repeat in `max_rounds`, return the pulls since the state that was kept last, and False. Where
    no arm may be pulled, there is no cycle.
    """
    arms, rested = indices.shape
    delays, recent = _rested_past(limits, arms, rested)
    kept, kept_recent = delays.copy(), recent.copy()
    kept_round, patience = 0, 1
    pulls = np.empty(max_rounds, np.int64)
    most_urgent = NEVER
    for now in range(max_rounds):
        if limits.bind:
            most_urgent = _most_urgent(limits, delays)
        best, best_index = -1, -np.inf
        for arm in range(arms):
            index = indices[arm, delays[arm] - 1]
            if index > best_index and (
                not limits.bind or _may_pull(limits, delays, recent, most_urgent, arm)
            ):
                best, best_index = arm, index
        if best == -1:
            return pulls[:0], False
        pulls[now] = best
        _pass_round(limits, delays, recent, rested, best)
        rounds = now + 1
        if _same(delays, kept) and _same(recent.ravel(), kept_recent.ravel()):
            return pulls[kept_round:rounds], True
        if rounds - kept_round == patience and 2 * patience <= max_rounds - rounds:
            kept[:] = delays
            kept_recent[:] = recent
            kept_round = rounds
            patience *= 2
    return pulls[kept_round:], False


@tiered(lambda means: means.size)
def relaxed_values(
    means: FloatArray, price: float, surplus: FloatArray, limits: Limits
) -> FloatArray:
    """Return what each arm at each delay is worth in the relaxed problem.

    A pull costs the price and a round costs the arm's surplus: max over t >= tau of
    mu(t) - price - surplus (t - tau), at delays t that are not too short for the arm. One without
    surplus may also stay unpulled.
    """
    arms, width = means.shape
    values = np.empty((arms, width))
    for arm in range(arms):
        later = 0.0 if surplus[arm] == 0 else -np.inf
        for delay in range(width, 0, -1):
            later -= surplus[arm]
            if delay >= limits.shortest[arm]:
                later = max(means[arm, delay - 1] - price, later)
            values[arm, delay - 1] = later
    return values


@compiled
def _mark(arm: int | np.int64, delay: int | np.int64) -> np.uint64:
    """Return a well-mixed 64-bit number (the finaliser of splitmix64, wrapping around)."""
    mixed = np.uint64(arm) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(delay)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@tiered(lambda means, rounds, width, branches: 8 * rounds * width * (len(means) + branches))
def beam_path(
    means: FloatArray,
    values: FloatArray,
    price: float,
    limits: Limits,
    rounds: int,
    width: int,
    branches: int,
) -> IntArray:
    """Return the arms pulled on the best path of so many rounds from rested.

    The path is shorter where no arm may be pulled.

    Each round keeps the `width` best distinct delay vectors, by net reward so far plus the value of
    all arms at their delays; each is continued by its `branches` best arms. Vectors are told apart
    by the exclusive or of a mark for each arm and delay.
    """
    arms, rested = means.shape
    branches = min(branches, arms)
    rested_delays, nothing_recent = _rested_past(limits, arms, rested)
    delays = np.empty((width, arms), np.int64)
    delays[0] = rested_delays
    next_delays = delays.copy()
    recent = np.empty((width, *nothing_recent.shape), np.int64)
    recent[0] = nothing_recent
    next_recent = recent.copy()
    most_urgent = NEVER
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
        for node in range(kept):
            waiting = earned[node]
            mark = np.uint64(0)
            if limits.bind:
                most_urgent = _most_urgent(limits, delays[node])
            for arm in range(arms):
                aged = min(delays[node, arm] + 1, rested)
                waiting += values[arm, aged - 1]
                mark ^= _mark(arm, aged)
                net = means[arm, delays[node, arm] - 1] - price
                merits[arm] = net + values[arm, 0] - values[arm, aged - 1]
                if limits.bind and not _may_pull(
                    limits, delays[node], recent[node], most_urgent, arm
                ):
                    merits[arm] = -np.inf
            for branch in range(branches):
                best = merits.argmax()
                place = node * branches + branch
                candidates[place] = best
                scores[place] = waiting + merits[best]
                aged = min(delays[node, best] + 1, rested)
                marks[place] = mark ^ _mark(best, aged) ^ _mark(best, 1)
                merits[best] = -np.inf
        ranked = np.argsort(-scores[: kept * branches], kind="mergesort")  # ties in order
        seen = set(marks[:0])
        kept = 0
        for place in ranked:
            if kept == width or scores[place] == -np.inf:
                break
            if marks[place] in seen:
                continue
            seen.add(marks[place])
            node, arm = place // branches, candidates[place]
            next_delays[kept] = delays[node]
            next_recent[kept] = recent[node]
            _pass_round(limits, next_delays[kept], next_recent[kept], rested, arm)
            next_earned[kept] = earned[node] + means[arm, delays[node, arm] - 1] - price
            parents[now, kept] = node
            pulls[now, kept] = arm
            kept += 1
        if kept == 0:
            rounds = now
            break
        delays, next_delays = next_delays, delays
        recent, next_recent = next_recent, recent
        earned, next_earned = next_earned, earned
    path = np.empty(rounds, np.int64)
    node = 0
    for now in range(rounds - 1, -1, -1):
        path[now] = pulls[now, node]
        node = parents[now, node]
    return path


@tiered(lambda means, path: 4 * len(means) * (len(path) + 1))
def best_repeat(means: FloatArray, limits: Limits, path: IntArray) -> tuple[int, int]:
    """Return start and end of the part of a path with the largest average reward.

    Only parts that begin and end in the same state count, as such a part can be repeated at that
    average; (0, 0) if there is none.
    """
    arms, rested = means.shape
    rounds = len(path)
    delays, recent = _rested_past(limits, arms, rested)
    marks = np.zeros(rounds + 1, np.uint64)
    earned = np.zeros(rounds + 1)
    for now in range(rounds + 1):
        for arm in range(arms):
            marks[now] ^= _mark(arm, delays[arm])
        for cap in range(len(limits.pulls)):
            for place in range(limits.pulls[cap]):
                marks[now] ^= _mark(arms + cap * recent.shape[1] + place, recent[cap, place])
        if now < rounds:
            pulled = path[now]
            earned[now + 1] = earned[now] + means[pulled, delays[pulled] - 1]
            _pass_round(limits, delays, recent, rested, pulled)
    # Between two visits the average is at most that of the best part between visits in a row.
    best_start, best_end, best_average = 0, 0, -np.inf
    by_mark = np.argsort(marks, kind="mergesort")
    for place in range(rounds):
        start, end = by_mark[place], by_mark[place + 1]
        if marks[start] == marks[end]:
            average = (earned[end] - earned[start]) / (end - start)
            if average > best_average + 1e-12:
                best_start, best_end, best_average = start, end, average
    return int(best_start), int(best_end)
