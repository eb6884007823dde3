"""Paths through the delay vectors: following an index, and beam search; both within limits."""

from heapq import heapify, heappop, heapreplace

import numpy as np
import numpy.typing as npt

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import compiled, tiered
from fallow.limits import Limits, Past

NEVER = 2**40
"""As in `fallow.limits`, whose changes the compiler's cache does not notice."""


@compiled
def _most_urgent(limits: Limits, waited: IntArray) -> int:
    """Return the largest slack that the arm pulled now may have if all deadlines are to be met.

    The slack of an arm is the number of rounds that it can still wait. NEVER if any arm may be
    pulled, and -1 if too many arms are due for all to be pulled in time.
    """
    # Let w(s) be the number of arms with a slack of at most s. They must be pulled in the s + 1
    # next rounds, one per round. So all deadlines can be met only if w(s) <= s + 1 for all s,
    # and then, as far as deadlines alone go, they can: pull the most urgent arm first. Where
    # w(s) = s + 1, these rounds are all taken, so the arm pulled now must be one of these arms; the
    # smallest such s decides. The loop ends there, so too many arms at a larger s show only in a
    # later round. As w(s) is at most the number of arms, only a slack below that matters.
    arms = len(waited)
    within = np.zeros(arms, np.int64)
    for arm in range(arms):
        spare = limits.longest[arm] - waited[arm]
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


NOBODY, SEVERAL = -1, -2
"""Whom a cap is reserved for."""


@compiled
def _reserve(limits: Limits, past: Past, reserved: IntArray) -> None:
    """Write for each cap which arm's deadline needs its last pull: NOBODY, the arm, or SEVERAL.

    An arm that must be pulled within s more rounds is pulled then at the latest, when more pulls of
    the cap have come out of its stretch of rounds than at any time before. If those that are left,
    and a pull of another arm now, fill the cap at that time, the deadline cannot be kept.
    """
    # `used` counts the pull of another arm now and the latest pulls that will still be within the
    # cap's stretch of rounds when the deadline comes. If these leave no pull for the arm, only the
    # arm itself may use the cap now. If that holds for two arms, a pull of one breaks the deadline
    # of the other, and no arm of the cap may be pulled.
    for cap in range(len(limits.pulls)):
        reserved[cap] = NOBODY
        for arm in range(len(past.waited)):
            if not limits.members[cap, arm] or limits.longest[arm] >= NEVER:
                continue
            spare = limits.longest[arm] - past.waited[arm]
            used = 1
            for place in range(limits.pulls[cap]):
                if past.recent[cap, place] + spare < limits.rounds[cap]:
                    used += 1
            if spare < limits.rounds[cap] and used >= limits.pulls[cap]:
                reserved[cap] = arm if reserved[cap] == NOBODY else SEVERAL


@compiled
def _may_pull(limits: Limits, past: Past, most_urgent: int, reserved: IntArray, arm: int) -> bool:
    """Tell whether an arm may be pulled now."""
    if past.delays[arm] < limits.shortest[arm]:
        return False
    if most_urgent < NEVER and limits.longest[arm] - past.waited[arm] > most_urgent:
        return False
    for cap in range(len(limits.pulls)):
        # The cap is full if the oldest of its latest `pulls` pulls is still within the stretch.
        latest = past.recent[cap, limits.pulls[cap] - 1]
        is_kept_for_another = reserved[cap] != NOBODY and reserved[cap] != arm
        if limits.members[cap, arm] and (latest < limits.rounds[cap] or is_kept_for_another):
            return False
    return True


@tiered(lambda limits: 2 * len(limits.shortest) * (1 + len(limits.pulls)))
def permitted(limits: Limits, past: Past) -> npt.NDArray[np.bool_]:
    """Tell for each arm whether it may be pulled now."""
    arms = len(limits.shortest)
    most_urgent = _most_urgent(limits, past.waited)
    reserved = np.empty(len(limits.pulls), np.int64)
    _reserve(limits, past, reserved)
    allowed = np.empty(arms, np.bool_)
    for arm in range(arms):
        allowed[arm] = _may_pull(limits, past, most_urgent, reserved, arm)
    return allowed


@compiled
def _age(delays: IntArray, rested: int, arm: int) -> None:
    """Count one round in which an arm is pulled, in delays alone."""
    for other in range(len(delays)):
        delays[other] = 1 if other == arm else min(delays[other] + 1, rested)


@compiled
def _pass_round(limits: Limits, past: Past, rested: int, arm: int) -> None:
    """Count one round in which an arm is pulled."""
    _age(past.delays, rested, arm)
    for other in range(len(past.waited)):
        if limits.longest[other] < NEVER:
            past.waited[other] = 1 if other == arm else past.waited[other] + 1
    for cap in range(len(limits.pulls)):
        recent = past.recent[cap]
        for place in range(limits.pulls[cap]):
            recent[place] = min(recent[place] + 1, limits.rounds[cap])
        if limits.members[cap, arm]:
            for place in range(limits.pulls[cap] - 1, 0, -1):
                recent[place] = recent[place - 1]
            recent[0] = 1


@compiled
def _same(numbers: IntArray, others: IntArray) -> bool:
    place = 0
    while place < len(numbers) and numbers[place] == others[place]:
        place += 1
    return place == len(numbers)


@tiered(lambda indices, max_rounds: 4 * len(indices) * max_rounds)
def follow(
    indices: FloatArray, limits: Limits, past: Past, max_rounds: int
) -> tuple[IntArray, bool]:
    """Pull the arm with the largest index, and return the cycle that this ends in.

    Ties go to the first arm. Brent's method finds the cycle: compare each state with one kept from
    an earlier round, and keep the current one whenever that is twice as far back as before. Without
    a repeat in `max_rounds`, return the pulls since the state that was kept last, and False. Where
    no arm may be pulled, there is no cycle. The past goes on.
    """
    arms, rested = indices.shape
    kept = Past(past.delays.copy(), past.waited.copy(), past.recent.copy())
    delays, kept_delays = past.delays, kept.delays
    kept_round, patience = 0, 1
    pulls = np.empty(max_rounds, np.int64)
    reserved = np.empty(len(limits.pulls), np.int64)
    most_urgent = NEVER
    for now in range(max_rounds):
        if limits.bind:
            most_urgent = _most_urgent(limits, past.waited)
            _reserve(limits, past, reserved)
        best, best_index = -1, -np.inf
        for arm in range(arms):
            index = indices[arm, delays[arm] - 1]
            if index > best_index and (
                not limits.bind or _may_pull(limits, past, most_urgent, reserved, arm)
            ):
                best, best_index = arm, index
        if best == -1:
            return pulls[:0], False
        pulls[now] = best
        if limits.bind:
            _pass_round(limits, past, rested, best)
        else:
            _age(delays, rested, best)
        rounds = now + 1
        if (
            _same(delays, kept_delays)
            and _same(past.waited, kept.waited)
            and _same(past.recent.ravel(), kept.recent.ravel())
        ):
            return pulls[kept_round:rounds], True
        if rounds - kept_round == patience and 2 * patience <= max_rounds - rounds:
            kept.delays[:] = past.delays
            kept.waited[:] = past.waited
            kept.recent[:] = past.recent
            kept_round = rounds
            patience *= 2
    return pulls[kept_round:], False


@tiered(lambda path: 2 * len(path))
def allows(limits: Limits, past: Past, rested: int, path: IntArray) -> bool:
    """Tell whether all pulls of a path are allowed. The past goes on."""
    reserved = np.empty(len(limits.pulls), np.int64)
    for arm in path:
        _reserve(limits, past, reserved)
        if not _may_pull(limits, past, _most_urgent(limits, past.waited), reserved, arm):
            return False
        _pass_round(limits, past, rested, arm)
    return True


@tiered(lambda means: means.size)
def relaxed_values(
    means: FloatArray, price: float, surplus: FloatArray, limits: Limits
) -> FloatArray:
    """Return what each arm at each delay is worth in the relaxed problem.

    A pull costs the price and a round costs the arm's surplus: max over t >= tau of
    mu(t) - price - surplus (t - tau), at delays t that are not too short for the arm. One without
    surplus may also stay unpulled.
    """
    # From the longest delay back: pull now, or wait one round, which costs the surplus. There is no
    # waiting beyond the last column: a rested arm gains nothing by more rest, and an arm with a
    # deadline has reached it.
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
    # The mark of a state is the exclusive or of the marks of all arms at their delays (Zobrist
    # 1970). So a pull exchanges one of them in the mark of the state in which all arms have gone on
    # resting. Some two of n different states have the same mark with a chance of about n^2 / 2^65.
    mixed = np.uint64(arm) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(delay)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@compiled
def _state_mark(limits: Limits, past: Past) -> np.uint64:
    """Return a mark of a whole state."""
    arms = len(past.delays)
    mark = np.uint64(0)
    for arm in range(arms):
        mark ^= _mark(arm, past.delays[arm])
    if not limits.bind:
        return mark
    for arm in range(arms):
        if limits.longest[arm] < NEVER:
            mark ^= _mark(arms + arm, past.waited[arm])
    most = past.recent.shape[1]
    for cap in range(len(limits.pulls)):
        for place in range(limits.pulls[cap]):
            mark ^= _mark(2 * arms + cap * most + place, past.recent[cap, place])
    return mark


@compiled
def _rank(merits: FloatArray, best: IntArray) -> None:
    """Write the arms of most merit into `best`, the first of equals first."""
    filled = 0
    for arm in range(len(merits)):
        if filled == len(best) and merits[arm] <= merits[best[filled - 1]]:
            continue
        filled = min(filled + 1, len(best))
        place = filled - 1
        while place > 0 and merits[arm] > merits[best[place - 1]]:
            best[place] = best[place - 1]
            place -= 1
        best[place] = arm


@tiered(lambda means, rounds, width, branches: 8 * rounds * width * (len(means) + branches))
def beam_path(
    means: FloatArray,
    values: FloatArray,
    price: float,
    limits: Limits,
    start: Past,
    rounds: int,
    width: int,
    branches: int,
) -> tuple[IntArray, bool]:
    """Return the arms pulled on the best path of so many rounds from a past on.

    Each round keeps the `width` best distinct states, by net reward so far plus the value of all
    arms at their delays; each is continued by its `branches` best arms that may be pulled.
    `values[n]` is by arm and delay when n rounds are left, and the last of them when there are
    more. States are told apart by the exclusive or of marks. The path is shorter where no arm may
    be pulled. The flag says whether all states could be kept.
    """
    # Two buffers for the states of this round and of the next, swapped at the end of a round; and
    # for each round and state its parent and the arm pulled, from which the path is read in the
    # end.
    arms, rested = means.shape
    branches = min(branches, arms)
    delays = np.empty((width, arms), np.int64)
    waited = delays.copy()
    recent = np.empty((width, *start.recent.shape), np.int64)
    delays[0], waited[0], recent[0] = start.delays, start.waited, start.recent
    next_delays, next_waited, next_recent = delays.copy(), waited.copy(), recent.copy()
    earned = np.zeros(width)
    next_earned = earned.copy()
    parents = np.zeros((rounds, width), np.int32)
    pulls = np.zeros((rounds, width), np.int32)
    scores = np.empty(width * branches)
    candidates = np.empty(width * branches, np.int64)
    marks = np.empty(width * branches, np.uint64)
    merits = np.empty(arms)
    ranked = np.empty(branches, np.int64)
    cell_marks = np.empty((arms, rested), np.uint64)
    for arm in range(arms):
        for delay in range(1, rested + 1):
            cell_marks[arm, delay - 1] = _mark(arm, delay)
    reserved = np.empty(len(limits.pulls), np.int64)
    most_urgent = NEVER
    # `whole` stays true while every arm is tried in every state and no state is dropped. Of paths
    # to the same state, the one that earned most is kept: what comes later is the same for all. So
    # a search that is whole has found a best path, if `values[0]` is 0, as nothing comes after it.
    kept, whole = 1, branches == arms
    for now in range(rounds):
        later = values[min(rounds - now, len(values)) - 1]  # rounds - now - 1 are left after this
        for node in range(kept):
            past = Past(delays[node], waited[node], recent[node])
            # `waiting` is the score if all arms went on resting, and `mark` the mark of that state.
            # A pull changes one arm's term in each: by its merit, and by two marks of cells.
            waiting = earned[node]
            mark = np.uint64(0)
            if limits.bind:
                most_urgent = _most_urgent(limits, past.waited)
                _reserve(limits, past, reserved)
            for arm in range(arms):
                aged = min(delays[node, arm] + 1, rested)
                waiting += later[arm, aged - 1]
                mark ^= cell_marks[arm, aged - 1]
                net = means[arm, delays[node, arm] - 1] - price
                merits[arm] = net + later[arm, 0] - later[arm, aged - 1]
                if limits.bind and not _may_pull(limits, past, most_urgent, reserved, arm):
                    merits[arm] = -np.inf
            _rank(merits, ranked)
            for branch in range(branches):
                best = ranked[branch]
                place = node * branches + branch
                candidates[place] = best
                scores[place] = waiting + merits[best]
                aged = min(delays[node, best] + 1, rested)
                marks[place] = mark ^ cell_marks[best, aged - 1] ^ cell_marks[best, 0]
        # The candidates of a node stand in order, so the best of all that are left is always the
        # next one of some node: a heap of these merges all nodes, and only as far as states are
        # kept.
        heads = [(-scores[node * branches], node * branches) for node in range(kept)]
        heapify(heads)
        seen = set(marks[:0])
        kept = 0
        while len(heads) > 0:
            negative, place = heads[0]
            if negative == np.inf:  # the limits forbid this candidate, and so all others
                break
            if (place + 1) % branches > 0:
                heapreplace(heads, (-scores[place + 1], place + 1))
            else:
                heappop(heads)
            # With limits, a state is more than its delays: its mark is known only after the pull.
            if not limits.bind and marks[place] in seen:
                continue
            if kept == width:
                whole = False
                break
            node, arm = place // branches, candidates[place]
            next_delays[kept] = delays[node]
            mark = marks[place]
            if limits.bind:
                next_waited[kept] = waited[node]
                next_recent[kept] = recent[node]
                past = Past(next_delays[kept], next_waited[kept], next_recent[kept])
                _pass_round(limits, past, rested, arm)
                mark = _state_mark(limits, past)
            else:
                _age(next_delays[kept], rested, arm)
            if mark in seen:
                continue
            seen.add(mark)
            next_earned[kept] = earned[node] + means[arm, delays[node, arm] - 1] - price
            parents[now, kept] = node
            pulls[now, kept] = arm
            kept += 1
        if kept == 0:
            rounds = now
            break
        delays, next_delays = next_delays, delays
        waited, next_waited = next_waited, waited
        recent, next_recent = next_recent, recent
        earned, next_earned = next_earned, earned
    path = np.empty(rounds, np.int64)
    node = 0  # states are kept in the order of their scores, so the first one is the best
    for now in range(rounds - 1, -1, -1):
        path[now] = pulls[now, node]
        node = parents[now, node]
    return path, whole


@tiered(lambda means, path: 4 * len(means) * (len(path) + 1))
def best_repeat(means: FloatArray, limits: Limits, past: Past, path: IntArray) -> tuple[int, int]:
    """Return start and end of the part of a path with the largest average reward.

    Only parts that begin and end in the same state count, as such a part can be repeated at that
    average; (0, 0) if there is none. The past goes on.
    """
    rested = means.shape[1]
    rounds = len(path)
    marks = np.zeros(rounds + 1, np.uint64)
    earned = np.zeros(rounds + 1)
    for now in range(rounds + 1):
        marks[now] = _state_mark(limits, past)
        if now < rounds:
            pulled = path[now]
            earned[now + 1] = earned[now] + means[pulled, past.delays[pulled] - 1]
            _pass_round(limits, past, rested, pulled)
    # Sorted by mark, stably, the visits to a state are neighbours in the order of time. A part that
    # spans several visits is made of parts between visits in a row, and its average is theirs,
    # weighed by their lengths: so one of these is at least as good.
    best_start, best_end, best_average = 0, 0, -np.inf
    by_mark = np.argsort(marks, kind="mergesort")
    for place in range(rounds):
        start, end = by_mark[place], by_mark[place + 1]
        if marks[start] == marks[end]:
            average = (earned[end] - earned[start]) / (end - start)
            if average > best_average + 1e-12:
                best_start, best_end, best_average = start, end, average
    return int(best_start), int(best_end)
