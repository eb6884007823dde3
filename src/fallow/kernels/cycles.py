"""Cycles of arms: their reward, the rules they obey, filling free rounds, and local search."""

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import compiled, tiered
from fallow.limits import Limits

NEVER = 2**40
"""As in `fallow.limits`, whose changes the compiler's cache does not notice."""
FREE = -1
MOST_STARTS = 2048
"""Parts of a path that are tried as cycles."""


@tiered(lambda cycle: 2 * len(cycle))
def own_delays(cycle: IntArray, arms: int) -> IntArray:
    """Return the delay at which a repeated cycle pulls the arm at each of its positions."""
    length = len(cycle)
    last = np.empty(arms, np.int64)
    delays = np.empty(length, np.int64)
    for position in range(length):
        last[cycle[position]] = position - length
    for position in range(length):
        delays[position] = position - last[cycle[position]]
        last[cycle[position]] = position
    return delays


@tiered(lambda cycle: 2 * len(cycle))
def shortest_period(cycle: IntArray) -> int:
    """Return the length of the shortest cycle that repeats to this one, a divisor of its length."""
    length = len(cycle)
    # At each place, how long a beginning of the cycle also ends there (Knuth, Morris and Pratt).
    matched = np.zeros(length, np.int64)
    for place in range(1, length):
        match = matched[place - 1]
        while match > 0 and cycle[place] != cycle[match]:
            match = matched[match - 1]
        matched[place] = match + (cycle[place] == cycle[match])
    period = length - matched[-1]
    return int(period if length % period == 0 else length)


@compiled
def _mean(means: FloatArray, arm: int, delay: int) -> float:
    return float(means[arm, min(delay, means.shape[1]) - 1])


@tiered(lambda cycle: 2 * len(cycle))
def cycle_rewards(means: FloatArray, cycle: IntArray) -> FloatArray:
    """Return the expected reward at each position of a cycle that repeats for ever."""
    gaps = own_delays(cycle, len(means))
    rewards = np.empty(len(cycle))
    for position in range(len(cycle)):
        rewards[position] = _mean(means, cycle[position], gaps[position])
    return rewards


@compiled
def _keeps_cap(limits: Limits, cap: int, cycle: IntArray) -> bool:
    """Tell whether a repeated cycle keeps a cap."""
    length = len(cycle)
    places = np.empty(length, np.int64)
    count = 0
    for position in range(length):
        if cycle[position] != FREE and limits.members[cap, cycle[position]]:
            places[count] = position
            count += 1
    # Some stretch of `rounds` rounds has more pulls than allowed exactly if some pull and the one
    # `pulls` pulls later, perhaps in a later repetition, are less than `rounds` rounds apart.
    for first in range(count):
        later = first + limits.pulls[cap]
        next_place = places[later % count] + later // count * length
        if next_place - places[first] < limits.rounds[cap]:
            return False
    return True


@tiered(lambda limits, cycle: (3 + len(limits.pulls)) * len(cycle) + len(limits.shortest))
def obeys(limits: Limits, cycle: IntArray) -> bool:
    """Tell whether a repeated cycle keeps all limits."""
    arms = len(limits.shortest)
    pulled = np.zeros(arms, np.bool_)
    gaps = own_delays(cycle, arms)
    for position in range(len(cycle)):
        arm = cycle[position]
        pulled[arm] = True
        if not limits.shortest[arm] <= gaps[position] <= limits.longest[arm]:
            return False
    for arm in range(arms):
        if limits.longest[arm] < NEVER and not pulled[arm]:
            return False
    kept = True
    for cap in range(len(limits.pulls)):
        kept = kept and _keeps_cap(limits, cap, cycle)
    return kept


@compiled
def _fits(limits: Limits, cycle: IntArray, position: int, arm: int) -> bool:
    """Tell whether a free position can be an arm's, whatever must be pulled later."""
    length = len(cycle)
    if length < limits.shortest[arm]:
        return False
    for distance in range(1, limits.shortest[arm]):
        if cycle[position - distance] == arm or cycle[(position + distance) % length] == arm:
            return False
    cycle[position] = arm
    fits = True
    for cap in range(len(limits.pulls)):
        if limits.members[cap, arm] and not _keeps_cap(limits, cap, cycle):
            fits = False
    cycle[position] = FREE
    return fits


@tiered(lambda limits, path: (3 + len(limits.pulls)) * len(path) * min(len(path), MOST_STARTS))
def best_part(means: FloatArray, limits: Limits, path: IntArray) -> int:
    """Return where to start on a path so that the rest, repeated, obeys and earns most.

    -1 if it never obeys. Of a very long path, the last part is looked at.
    """
    best, best_gain = -1, -np.inf
    for start in range(max(0, len(path) - MOST_STARTS), len(path)):
        part = path[start:]
        if obeys(limits, part):
            total = 0.0
            for reward in cycle_rewards(means, part):
                total += reward
            if total / len(part) > best_gain:
                best, best_gain = start, total / len(part)
    return best


@compiled
def _look_around(cycle: IntArray, position: int, since: IntArray, until: IntArray) -> None:
    """Write the rounds from each arm's last pull to a position, and from there to its next.

    The pull at the position does not count. On entry both arrays hold a number of rounds, at most
    the cycle's length, that is as good as never.
    """
    # Callers pass min(length, width). An arm without another pull within `width` rounds is rested
    # either way. An arm without any other pull in a cycle that is shorter than that keeps `length`.
    # Near pulls are written last, so that the nearest one stays.
    length = len(cycle)
    for distance in range(since[0] - 1, 0, -1):
        before = cycle[position - distance]
        after = cycle[(position + distance) % length]
        if before != FREE:
            since[before] = distance
        if after != FREE:
            until[after] = distance


@compiled
def _addition(means: FloatArray, arm: int, since: int, until: int, length: int) -> float:
    """Return what a pull adds to a cycle, so many rounds from the arm's pulls before and after."""
    # The next pull of the arm had a gap of since + until rounds, which the new pull cuts in two.
    # An arm without another pull in the cycle has no such gap: `since` is then the length, or so
    # long that the means below are all rested and two of them cancel out.
    addition = _mean(means, arm, since)
    if since < length:
        addition += _mean(means, arm, until) - _mean(means, arm, since + until)
    return addition


@tiered(lambda means, cycle: 3 * len(means) * len(cycle))
def fill(means: FloatArray, limits: Limits, cycle: IntArray) -> IntArray:
    """Return the cycle with each free position given, in order, to the arm that adds most.

    Between two pulls of an arm, one more turns their gap into two. Where the limits allow no arm,
    a position stays free.
    """
    arms, width = means.shape
    length = len(cycle)
    far = 2 * length + width
    last, first = np.full(arms, -far), np.full(arms, far)
    following = np.full(length, far)  # the next position of the same arm within the cycle
    for position in range(length - 1, -1, -1):
        arm = cycle[position]
        if arm != FREE:
            last[arm] = max(last[arm], position - length)
            following[position] = first[arm]
            first[arm] = position
    upcoming = first.copy()
    filled = cycle.copy()
    for position in range(length):
        if cycle[position] != FREE:
            upcoming[cycle[position]] = following[position]
        else:
            best, best_addition = FREE, -np.inf
            for arm in range(arms):
                # An arm that is pulled once in a cycle comes back after the whole of it. One that
                # is not pulled at all has its next pull so far away that what it adds is its mean
                # at the cycle's length: both other terms are rested and cancel out.
                since = min(position - last[arm], length)
                until = min(upcoming[arm], first[arm] + length) - position
                both = _mean(means, arm, since) + _mean(means, arm, until)
                addition = both - _mean(means, arm, since + until)
                if addition > best_addition and (
                    not limits.bind or _fits(limits, filled, position, arm)
                ):
                    best, best_addition = arm, addition
            if best == FREE:
                continue
            filled[position] = best
            first[best] = min(first[best], position)
        last[filled[position]] = position
    return filled


@compiled
def after_move(cycle: IntArray, position: int, move: int, arms: int) -> IntArray:
    """Return the cycle after a move at a position.

    Moves 0 .. arms - 1 replace the pull by that arm, the next `arms` moves insert an arm before it,
    then one deletes it, and the others swap it with each later pull.
    """
    changed = cycle.copy()
    if move < arms:
        changed[position] = move
    elif move < 2 * arms:
        inserted = np.array([move - arms])
        changed = np.concatenate((cycle[:position], inserted, cycle[position:]))
    elif move == 2 * arms:
        changed = np.concatenate((cycle[:position], cycle[position + 1 :]))
    else:
        other = position + move - 2 * arms
        changed[position] = cycle[other]
        changed[other] = cycle[position]
    return changed


@compiled
def move_gains(means: FloatArray, cycle: IntArray, position: int) -> FloatArray:
    """Return the gain after each move at a position, in the order of `after_move`.

    A move changes only gaps of the arms involved, and where the length changes the gap of each arm
    around the position, so it costs the same whatever the length. Deleting the only pull counts as
    minus infinity.
    """
    arms, width = means.shape
    length = len(cycle)
    pulled = cycle[position]
    gaps = own_delays(cycle, arms)
    total = 0.0
    for place in range(length):
        total += _mean(means, cycle[place], gaps[place])
    since = np.full(arms, min(length, width))
    until = since.copy()
    _look_around(cycle, position, since, until)
    # Three totals from which all others follow: of the cycle with this pull left out and its round
    # kept; of the cycle with one more round before this pull, in which no arm is pulled yet; and of
    # the cycle without this pull and without its round. In the second, the gap of every other arm
    # that spans the position is one round longer, and this pull itself comes one round later. In
    # the third, every gap that spans the position is one round shorter.
    without = total - _addition(means, pulled, since[pulled], until[pulled], length)
    longer = total
    shorter = without
    for arm in range(arms):
        gap = since[arm] + until[arm]
        if since[arm] < length:
            shorter += _mean(means, arm, gap - 1) - _mean(means, arm, gap)
            if arm != pulled:
                longer += _mean(means, arm, gap + 1) - _mean(means, arm, gap)
    longer += _mean(means, pulled, since[pulled] + 1) - _mean(means, pulled, since[pulled])
    gains = np.empty(2 * arms + 1)
    additions = np.empty(arms)
    for arm in range(arms):
        additions[arm] = _addition(means, arm, since[arm], until[arm], length)
        gains[arm] = (without + additions[arm]) / length
        if arm == pulled:
            added = _addition(means, arm, since[arm], 1, length + 1)
        elif since[arm] < length:
            added = _addition(means, arm, since[arm], until[arm] + 1, length + 1)
        else:
            added = _mean(means, arm, length + 1)
        gains[arms + arm] = (longer + added) / (length + 1)
    gains[2 * arms] = shorter / (length - 1) if length > 1 else -np.inf
    swaps = _swap_totals(means, cycle, position, gaps, additions) + without
    return np.concatenate((gains, swaps / length))


@compiled
def _swap_totals(
    means: FloatArray,
    cycle: IntArray,
    position: int,
    gaps: IntArray,
    additions: FloatArray,
) -> FloatArray:
    """Return what each swap with a later pull earns beyond the cycle without this pull.

    `additions` is what a pull of each arm adds to that cycle at the position.
    """
    # With A the arm pulled here and B the one at the other position, a swap is three steps from the
    # cycle without this pull: B is added here (`additions`), B is taken away there, given that it
    # is now pulled here too, and A is added there. Each step is one `_addition`, with the gaps to
    # the arm's pulls before and after. `gaps` has the rounds back to the previous pull of the same
    # arm, `following` the rounds on to the next (an index below 0 wraps around, as a cycle does).
    length = len(cycle)
    pulled = cycle[position]
    following = np.empty(length, np.int64)
    for place in range(length):
        following[place - gaps[place]] = gaps[place]
    # The pulls of A around the other position, without the one here. They move on when the other
    # position passes a pull of A.
    before = position - gaps[position]
    after = position + following[position]
    totals = np.empty(length - position - 1)
    for other in range(position + 1, length):
        arm = cycle[other]
        earned = additions[arm]
        if arm == pulled:  # nothing changes
            before = other
            after = other + following[other]
            if after == position + length:  # the pull here, one repetition later, is left out
                after += following[position]
        else:
            # B is now pulled here as well, which may be nearer to its pull there than any other.
            to_other = min(gaps[other], other - position)
            from_other = min(following[other], position + length - other)
            earned -= _addition(means, arm, to_other, from_other, length)
            if gaps[position] == length:  # A has no other pull
                earned += _mean(means, pulled, length)
            else:
                earned += _addition(means, pulled, other - before, after - other, length)
        totals[other - position - 1] = earned
    return totals


@compiled
def local_search(means: FloatArray, limits: Limits, cycle: IntArray, max_moves: int) -> IntArray:
    """Replace, insert, delete and swap pulls while that raises the gain and obeys the limits.

    Take the best move at each position in turn. Stop at a cycle that no move improves, or when
    `max_moves` moves have been looked at.
    """
    moves = 0
    position = 0
    unimproved = 0  # positions in a row at which no move helped
    while unimproved < len(cycle) and moves < max_moves:
        length = len(cycle)
        position %= length
        gains = move_gains(means, cycle, position)
        moves += len(gains)
        enough = gains[cycle[position]] + 1e-12  # replaced by itself: no change
        unimproved += 1
        while True:
            best = int(gains.argmax())
            if not gains[best] > enough:
                break
            changed = after_move(cycle, position, best, len(means))
            if not limits.bind or obeys(limits, changed):
                cycle = changed
                unimproved = 0
                break
            gains[best] = -np.inf
            moves += 1
        # Go on behind the pull that was looked at, wherever a move has put it.
        position += 1 + len(cycle) - length
    return cycle
