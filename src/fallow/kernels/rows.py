"""The posterior of an arm's means by delay, under several priors at once.

A row of means is taken for a chain of levels: from column to column, in one direction, it stays
where it is, steps down, or leaps anywhere. Priors are lanes, side by side in the innermost loops.
"""

# A row is a hidden Markov chain, and the posterior is its forward-backward algorithm. With start
# chances q, a chain that steps with chance s into the next column, of these steps v to level 0, and
# leaps with chance e, goes from level h to level l with the chance
#
#     e q(l)                                        in any case, and also
#     1 - s - e                                     if l = h > 0
#     1 - e                                         if l = h = 0
#     s (1 - v) q(l) / (q(1) + ... + q(h - 1))      if 0 < l < h
#     s v                                           if l = 0 and h > 1
#     s                                             if l = 0 and h = 1
#
# The steps to lower levels are a sum over all pairs h > l, but the chance is a product of a factor
# of l and one of h, `inverse`. So one running sum down (or up) the levels has them all, and a
# column costs as many steps as there are levels, instead of their square.
#
# Where means rise with the delay, the chain runs from the longest delay to the shortest: read
# backwards, such a row falls. `believe` turns the columns round, and `rising` holds them so.

import math
from typing import NamedTuple

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import compiled, tiered

NEGLIGIBLE = 1e-6
"""Share of a prior in what is believed below which it is left out."""
LEAST = 1e-300
"""Chance below which an arm does not tell priors apart, so that no two arms rule out all."""


class Levels(NamedTuple):
    """The levels that means are rounded to, from 0 to 1, and the edges of their intervals."""

    values: FloatArray
    edges: FloatArray


class Lanes(NamedTuple):
    """Priors of chains, by lane.

    `start[level]` is the chance of a level where the chain starts, and `inverse[level]` one over
    that of all levels from 1 to the one below. A chain steps down into its next column with chance
    `steps[column - 1]`: to level 0 with chance `vanish`, and else to a lower one in proportion to
    `start`. It leaps anywhere, by `start`, with chance `leaps`, which is never 0, so that no
    rewards are impossible.
    """

    start: FloatArray
    inverse: FloatArray
    steps: FloatArray
    vanish: FloatArray
    leaps: FloatArray


class Posterior(NamedTuple):
    """What is believed of each arm under each prior.

    `rising[arm, -column - 1, level, lane]` and `others[arm, column, level, lane]` are the chance
    that the mean is at that level or a higher one; `evidence[arm, lane]` is the logarithm of the
    chance of the arm's rewards, up to what all lanes have in common, those of `rising` first.
    """

    rising: FloatArray
    others: FloatArray
    evidence: FloatArray


@compiled
def _likelihoods(counts: FloatArray, sums: FloatArray, values: FloatArray) -> FloatArray:
    """Return how likely the rewards of each column are at each level, the likeliest of them 1."""
    size = len(values)
    likely = np.ones((len(counts), size))
    for column in range(len(counts)):
        if counts[column] == 0:
            continue
        earned, missed = sums[column], counts[column] - sums[column]
        most = -np.inf
        for level in range(size):
            if level == 0:
                logarithm = 0.0 if earned < 1e-9 else -np.inf
            elif level == size - 1:
                logarithm = 0.0 if missed < 1e-9 else -np.inf
            else:
                logarithm = earned * math.log(values[level])
                logarithm += missed * math.log(1 - values[level])
            likely[column, level] = logarithm
            most = max(most, logarithm)
        for level in range(size):
            likely[column, level] = math.exp(likely[column, level] - most)
    return likely


@compiled
def _filter(likely: FloatArray, lanes: Lanes, evidence: FloatArray, tails: FloatArray) -> None:
    """Make tails the chance of each level given all columns up to this one, not to scale."""
    columns, size = likely.shape
    start, inverse, steps, vanish, leaps = lanes
    count = len(vanish)
    # Forward. Each column is divided by its sum (`norm`) when the next one is made, so that nothing
    # underflows; the chance of all rewards is the product of these sums. `higher` has the running
    # sum over all levels above, each times its `inverse`; `mass` the chance of all levels above 1.
    norm, scale = np.zeros(count), np.empty(count)
    higher, mass = np.empty(count), np.empty(count)
    stay, fall = np.empty(count), np.empty(count)
    for level in range(size):
        for lane in range(count):
            tails[0, level, lane] = start[level, lane] * likely[0, level]
            norm[lane] += tails[0, level, lane]
    for column in range(1, columns):
        step = steps[column - 1]
        for lane in range(count):
            evidence[lane] += math.log(norm[lane])
            scale[lane] = 1 / norm[lane]
            norm[lane] = higher[lane] = mass[lane] = 0.0
            stay[lane] = 1 - step[lane] - leaps[lane]
            fall[lane] = step[lane] * (1 - vanish[lane])
        before, now = tails[column - 1], tails[column]
        for level in range(size - 1, 0, -1):
            for lane in range(count):
                here = before[level, lane] * scale[lane]
                arrives = start[level, lane] * (fall[lane] * higher[lane] + leaps[lane])
                now[level, lane] = likely[column, level] * (stay[lane] * here + arrives)
                norm[lane] += now[level, lane]
                higher[lane] += here * inverse[level, lane]
                if level > 1:
                    mass[lane] += here
        # Level 0: it stays, or a level above 1 vanishes, or level 1 steps down, always to 0.
        for lane in range(count):
            stays = (1 - leaps[lane]) * before[0, lane] * scale[lane]
            falls = step[lane] * (vanish[lane] * mass[lane] + before[1, lane] * scale[lane])
            now[0, lane] = likely[column, 0] * (stays + falls + leaps[lane] * start[0, lane])
            norm[lane] += now[0, lane]
    for lane in range(count):
        evidence[lane] += math.log(norm[lane])


@compiled
def _smooth(likely: FloatArray, lanes: Lanes, tails: FloatArray) -> None:
    """Make filtered tails what `Posterior` has, from the last column back to the first.

    `ahead` is the chance of this and all later columns given the level here, and `later` that of
    all later ones alone; neither is to scale.
    """
    columns, size = likely.shape
    start, inverse, steps, vanish, leaps = lanes
    count = len(vanish)
    ahead, later = np.empty((size, count)), np.ones((size, count))
    norm, scale = np.empty(count), np.empty(count)
    lower, anywhere = np.empty(count), np.empty(count)
    stay, fall, none = np.empty(count), np.empty(count), np.empty(count)
    # Backward. The posterior of a level is its forward chance times `later`. Added up from the top
    # level down it becomes the chance of that level or a higher one, and the whole sum scales it.
    for column in range(columns - 1, -1, -1):
        now = tails[column]
        for lane in range(count):
            norm[lane] = anywhere[lane] = lower[lane] = 0.0
        for level in range(size - 1, -1, -1):
            for lane in range(count):
                norm[lane] += now[level, lane] * later[level, lane]
                now[level, lane] = norm[lane]
                ahead[level, lane] = likely[column, level] * later[level, lane]
                anywhere[lane] += start[level, lane] * ahead[level, lane]
        for lane in range(count):
            scale[lane] = 1 / norm[lane]
        for level in range(size):
            for lane in range(count):
                now[level, lane] *= scale[lane]
        if column == 0:
            break
        # `later` of the column before: the chance of each level to go to each, times `ahead` there.
        # All is divided by `anywhere`, what a leap leads to on average, so a leap counts as
        # `leaps`, and nothing underflows. `lower` has the running sum over the levels from 1
        # to the one below.
        step = steps[column - 1]
        for lane in range(count):
            scale[lane] = 1 / anywhere[lane]
            stay[lane] = 1 - step[lane] - leaps[lane]
            fall[lane] = step[lane] * (1 - vanish[lane])
            none[lane] = step[lane] * vanish[lane] * ahead[0, lane]
            later[0, lane] = (1 - leaps[lane]) * ahead[0, lane] * scale[lane] + leaps[lane]
            total = stay[lane] * ahead[1, lane] + step[lane] * ahead[0, lane]
            later[1, lane] = total * scale[lane] + leaps[lane]
        for level in range(2, size):
            for lane in range(count):
                lower[lane] += start[level - 1, lane] * ahead[level - 1, lane]
                total = stay[lane] * ahead[level, lane] + none[lane]
                total += fall[lane] * lower[lane] * inverse[level, lane]
                later[level, lane] = total * scale[lane] + leaps[lane]


@tiered(lambda arms, posterior: 20 * len(arms) * posterior.rising[0].size)
def believe(
    counts: FloatArray,
    sums: FloatArray,
    arms: IntArray,
    levels: Levels,
    rising: Lanes,
    others: Lanes,
    posterior: Posterior,
) -> None:
    """Make the posterior of these arms that given their counts and sums of rewards."""
    split = len(rising.vanish)
    for arm in arms:
        likely = _likelihoods(counts[arm], sums[arm], levels.values)
        evidence = posterior.evidence[arm]
        evidence[:] = 0
        _filter(likely, others, evidence[split:], posterior.others[arm])
        _smooth(likely, others, posterior.others[arm])
        likely = likely[::-1].copy()
        _filter(likely, rising, evidence[:split], posterior.rising[arm])
        _smooth(likely, rising, posterior.rising[arm])


@tiered(lambda evidence, mixtures: 4 * evidence.size * evidence.shape[1] * len(mixtures))
def weigh(evidence: FloatArray, rising: int, mixtures: FloatArray, prior: FloatArray) -> FloatArray:
    """Return how much each lane counts for each arm, given the rewards of all.

    The first lanes are for arms whose means rise with the delay, the last one for arms whose means
    have nothing to do with each other, those between for arms whose means fall. An arm is of one of
    these kinds, by chances that are one of the mixtures; which mixture, which lane of the rising
    and which of the falling ones is the same for all arms.
    """
    arms, count = evidence.shape
    falling = count - 1 - rising
    likely = np.empty((arms, count))
    for arm in range(arms):
        most = evidence[arm].max()
        for lane in range(count):
            likely[arm, lane] = max(math.exp(evidence[arm, lane] - most), LEAST)
    logarithms = np.empty((len(mixtures), rising, falling))
    most = -np.inf
    for mixture in range(len(mixtures)):
        rise, fall, free = mixtures[mixture]
        for up in range(rising):
            for down in range(falling):
                total = math.log(prior[mixture])
                for arm in range(arms):
                    row = likely[arm]
                    chance = rise * row[up] + fall * row[rising + down] + free * row[count - 1]
                    total += math.log(chance)
                logarithms[mixture, up, down] = total
                most = max(most, total)
    everything = 0.0
    weights = np.zeros((arms, count))
    for mixture in range(len(mixtures)):
        rise, fall, free = mixtures[mixture]
        for up in range(rising):
            for down in range(falling):
                share = math.exp(logarithms[mixture, up, down] - most)
                if share < NEGLIGIBLE:
                    continue
                everything += share
                for arm in range(arms):
                    row = likely[arm]
                    rises, falls = rise * row[up], fall * row[rising + down]
                    neither = free * row[count - 1]
                    each = share / (rises + falls + neither)
                    weights[arm, up] += each * rises
                    weights[arm, rising + down] += each * falls
                    weights[arm, count - 1] += each * neither
    for arm in range(arms):
        for lane in range(count):
            weights[arm, lane] /= everything
    return weights


@compiled
def _normal_quantile(chance: float) -> float:
    """Return what a standard normal exceeds with a chance of at most a half.

    Within 4.5e-4 (Abramowitz and Stegun 1964, 26.2.23).
    """
    root = math.sqrt(-2 * math.log(chance))
    above = 2.515517 + root * (0.802853 + root * 0.010328)
    below = 1 + root * (1.432788 + root * (0.189269 + root * 0.001308))
    return root - above / below


@compiled
def _is_sharp(count: float, earned: float, edges: FloatArray) -> bool:
    """Tell whether a cell's own average is known to less than half of its level's interval."""
    if not 1 <= earned <= count - 1:
        return False
    average = earned / count
    level = np.searchsorted(edges, average)
    wide = edges[level] - edges[level - 1]
    return bool(4 * average * (1 - average) < count * wide * wide)


@compiled
def _own_quantile(count: float, average: float, chance: float) -> float:
    """Return the quantile by a cell's own samples: their angle is normal, whatever the mean."""
    angle = math.asin(math.sqrt(average)) + _normal_quantile(chance) / (2 * math.sqrt(count))
    return math.sin(min(angle, math.pi / 2)) ** 2


@tiered(lambda chances, posterior: 8 * chances.size * posterior.evidence.shape[1])
def upper_quantiles(
    posterior: Posterior,
    weights: FloatArray,
    levels: Levels,
    counts: FloatArray,
    sums: FloatArray,
    chances: FloatArray,
) -> FloatArray:
    """Return for each cell the mean that is exceeded with its chance, lanes weighed by arm."""
    arms, width, size, split = posterior.rising.shape
    values, edges = levels
    quantiles = np.empty((arms, width))
    for arm in range(arms):
        active = np.flatnonzero(weights[arm] > NEGLIGIBLE)
        for column in range(width):
            count, earned, chance = counts[arm, column], sums[arm, column], chances[arm, column]
            if _is_sharp(count, earned, edges):
                quantiles[arm, column] = _own_quantile(count, earned / count, chance)
                continue
            rising, others = (
                posterior.rising[arm, width - 1 - column],
                posterior.others[arm, column],
            )
            # The highest level with more than the chance at it and above, by bisection: more than
            # the chance is at `low` and above, at most the chance at `high` and above. Within the
            # level's interval the mean is taken for uniform. The means 0 and 1 are levels of their
            # own.
            low, high = 0, size
            from_low, from_high = 1.0, 0.0
            while high - low > 1:
                middle = (low + high) // 2
                above = 0.0
                for lane in active:
                    tails = rising[middle, lane] if lane < split else others[middle, lane - split]
                    above += weights[arm, lane] * tails
                if above > chance:
                    low, from_low = middle, above
                else:
                    high, from_high = middle, above
            if low in (0, size - 1):
                quantiles[arm, column] = values[low]
            else:
                part = (chance - from_high) / (from_low - from_high)
                quantiles[arm, column] = edges[low + 1] - part * (edges[low + 1] - edges[low])
    return quantiles
