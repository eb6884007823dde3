"""Schedules of so many rounds from given delays: their relaxed problem, and local search.

In the relaxed problem each round has a price, arms may be pulled at the same time, and each arm is
scheduled alone. `widths` are the delays from which on each arm is rested.
"""

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import compiled, tiered

# Why prices bound every schedule: let a pull in round n cost p(n), and let v_i be the most that arm
# i alone earns beyond the cost of its pulls. A schedule has one pull in each round, so all its
# pulls together cost the sum of all p(n), and each arm that it pulls earns at most v_i more. So for
# any prices
#
#     what a schedule earns <= sum_n p(n) + sum_i max(0, v_i).
#
# The right side is convex in the prices. Its slope in p(n) is 1 minus the number of arms whose best
# schedule has a pull in round n, which is what `relaxed_schedule` counts.

TOLERANCE = 1e-12
"""By how much a path must gain to be changed; means are scaled to a largest of 1/2 or more."""
PATIENCE = 10
"""Steps without a better bound after which the steps are halved."""


@tiered(lambda means, prices: means.size * len(prices))
def relaxed_schedule(
    means: FloatArray, widths: IntArray, delays: IntArray, prices: FloatArray
) -> tuple[FloatArray, IntArray]:
    """Return what each arm earns at most if it is pulled at all, and the pulls of each round.

    The pulls of arms that earn more by never being pulled are not counted.
    """
    rounds = len(prices)
    values = np.full(len(means), -np.inf)
    counts = np.zeros(rounds, np.int64)
    later = np.zeros(rounds)  # the most after a pull in each round
    following = np.full(rounds, -1)  # the arm's next pull then; -1 if there is none
    soonest = np.empty(rounds, np.int64)  # the best round for a rested pull, this one or a later
    # One arm at a time, from the last round back. After a pull in round `now`, the next one comes
    # after 1 .. width - 1 rounds, at a delay of its own, or at some later time, rested. All rested
    # pulls have the same mean, so the best of them depends on the round alone: `soonest` has it,
    # and a round costs `width` looks, however many rounds there are.
    for arm in range(len(means)):
        width = widths[arm]
        for now in range(rounds - 1, -1, -1):
            later[now], following[now] = 0.0, -1
            for wait in range(1, min(rounds - now, width + 1)):
                pull = now + wait if wait < width else soonest[now + wait]
                value = means[arm, wait - 1] - prices[pull] + later[pull]
                if value > later[now]:
                    later[now], following[now] = value, pull
            soonest[now] = now
            if now < rounds - 1:
                rival = soonest[now + 1]
                if later[rival] - prices[rival] > later[now] - prices[now]:
                    soonest[now] = rival
        first = -1
        for now in range(rounds):
            value = means[arm, min(delays[arm] + now, width) - 1] - prices[now] + later[now]
            if value > values[arm]:
                values[arm], first = value, now
        if values[arm] > 0:  # an arm that is worth its prices is pulled: count its pulls
            while first >= 0:
                counts[first] += 1
                first = following[first]
    return values, counts


@tiered(lambda means, rounds, steps: means.size * rounds * steps)
def constant_price(
    means: FloatArray, widths: IntArray, delays: IntArray, rounds: int, steps: int
) -> float:
    """Return one price at which all arms ask for at most one pull a round, by bisection."""
    low, high = -1.0, 1.0  # below -1 every arm would be pulled in every round
    for _ in range(steps):
        middle = (low + high) / 2
        _, counts = relaxed_schedule(means, widths, delays, np.full(rounds, middle))
        if counts.sum() > rounds:
            low = middle
        else:
            high = middle
    return high


@tiered(lambda means, rounds, steps: means.size * rounds * steps)
def round_prices(
    means: FloatArray,
    widths: IntArray,
    delays: IntArray,
    price: float,
    rounds: int,
    earned: float,
    steps: int,
) -> FloatArray:
    """Return prices of the rounds with a low bound, from one price on, by subgradient steps.

    A round gets dearer by what it is asked for beyond one pull. Steps are Polyak's, towards what is
    known to be earned, and halved when they no longer help.
    """
    prices = np.full(rounds, price)
    best = prices.copy()
    lowest = np.inf
    share, stale = 1.0, 0
    for _ in range(steps):
        values, counts = relaxed_schedule(means, widths, delays, prices)
        bound = 0.0
        for arm in range(len(means)):
            bound += max(values[arm], 0.0)
        excess = 0
        for now in range(rounds):
            bound += prices[now]
            excess += (counts[now] - 1) ** 2
        if bound < lowest - TOLERANCE:
            lowest, stale = bound, 0
            best[:] = prices
        else:
            stale += 1
        if excess == 0 or lowest <= earned:
            break
        # Polyak's step goes to where the tangent would reach `earned`, which no bound is below. It
        # may be too long, as the best bound is above that.
        if stale == PATIENCE:
            share, stale = share / 2, 0
            prices[:] = best
        else:
            prices += share * (bound - earned) / excess * (counts - 1)
    return best


@tiered(lambda means, prices: 2 * means.size * len(prices))
def values_to_go(means: FloatArray, prices: FloatArray) -> FloatArray:
    """Return what each arm at each delay alone earns at most in the last 0, 1, ... rounds."""
    arms, width = means.shape
    rounds = len(prices)
    values = np.zeros((rounds + 1, arms, width))
    for left in range(1, rounds + 1):
        price = prices[rounds - left]
        for arm in range(arms):
            for delay in range(1, width + 1):
                waiting = values[left - 1, arm, min(delay + 1, width) - 1]
                pulled = means[arm, delay - 1] - price + values[left - 1, arm, 0]
                values[left, arm, delay - 1] = max(waiting, pulled)
    return values


@tiered(lambda means: 2 * means.size)
def carried_over(means: FloatArray, delays: IntArray) -> float:
    """Return what a schedule may earn beyond the cycle that repeats it, thanks to its start.

    Only the first pull of each arm differs. If that comes after `wait` rounds, then in the cycle
    its delay is longer than that.
    """
    # In the cycle, an arm whose first pull comes after `wait` rounds was last pulled before the
    # schedule began, so its delay there is at least wait + 1. In the schedule it is the delay at
    # the start plus `wait`. All later pulls have the same delay in both.
    arms, width = means.shape
    total = 0.0
    for arm in range(arms):
        most = 0.0
        least = means[arm, width - 1]  # at all delays longer than the wait
        for wait in range(width - 1, -1, -1):
            least = min(least, means[arm, wait])
            most = max(most, means[arm, min(delays[arm] + wait, width) - 1] - least)
        total += most
    return float(total)


@tiered(lambda path: len(path))
def path_delays(path: IntArray, delays: IntArray) -> IntArray:
    """Return the delay at which a path pulls the arm of each round."""
    last = -delays
    found = np.empty(len(path), np.int64)
    for now in range(len(path)):
        found[now] = now - last[path[now]]
        last[path[now]] = now
    return found


@tiered(lambda path: 2 * len(path))
def path_reward(means: FloatArray, path: IntArray, delays: IntArray) -> float:
    """Return what a path earns."""
    found = path_delays(path, delays)
    earned = 0.0
    for now in range(len(path)):
        earned += means[path[now], min(found[now], means.shape[1]) - 1]
    return float(earned)


@compiled
def after_move(path: IntArray, move: int, arms: int) -> IntArray:
    """Return a path after a move of its first pull.

    Moves 0 .. arms - 1 replace it by that arm, the next `arms` moves drop it and add an arm at the
    end, and the others swap it with each later pull.
    """
    changed = path.copy()
    if move < arms:
        changed[0] = move
    elif move < 2 * arms:
        changed[:-1] = path[1:]
        changed[-1] = move - arms
    else:
        other = 1 + move - 2 * arms
        changed[0] = path[other]
        changed[other] = path[0]
    return changed


@compiled
def improve_path(means: FloatArray, path: IntArray, delays: IntArray, max_looks: int) -> IntArray:
    """Replace, drop and swap pulls while that raises what a path earns.

    Take the best move of each pull in turn. Swaps reach D + 1 rounds ahead, so that all they change
    is seen in twice that; a pull is dropped for one at the end where the end is in sight. Stop at a
    path that no move improves, or after so many looks at a round or an arm.
    """
    arms, width = means.shape
    path = path.copy()
    looks = 0
    improved = True
    while improved:
        improved = False
        now_delays = delays.copy()
        for now in range(len(path)):
            if looks > max_looks:
                return path
            # A swap with a pull at most `width` rounds ahead changes delays of these two arms up to
            # their next pulls. A next pull that is not among the 2 width rounds ahead is rested
            # before and after. So it is enough to compare what these rounds earn.
            ahead = path[now : now + 2 * width]
            swaps = min(width, len(ahead) - 1)
            best, most = ahead, path_reward(means, ahead, now_delays) + TOLERANCE
            for move in range(2 * arms + swaps):
                if arms <= move < 2 * arms and now + len(ahead) < len(path):
                    continue  # dropping a pull shifts all later ones, and the end is not in sight
                changed = after_move(ahead, move, arms)
                earned = path_reward(means, changed, now_delays)
                looks += arms + len(ahead)
                if earned > most:
                    best, most = changed, earned
                    improved = True
            path[now : now + len(ahead)] = best
            now_delays += 1
            now_delays[path[now]] = 1
    return path
