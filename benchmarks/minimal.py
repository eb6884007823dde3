"""The least that UCB takes in a compiled loop: what the package is held against.

None of these keeps a record of what was played. All draw from a generator that is passed in, which
is faster than the compiler's own.
"""

import math

import numba
import numpy as np

from fallow.arrays import FloatArray


@numba.njit(cache=True, error_model="numpy")
def minimal_ucb1(means: FloatArray, horizon: int, generator: np.random.Generator) -> float:
    """Play UCB1 as its formula stands, and return the reward."""
    arms, width = means.shape
    last = np.full(arms, -width)
    counts = np.zeros(arms)
    sums = np.zeros(arms)
    for now in range(horizon):
        arm = now
        if now >= arms:
            log = 2 * math.log(now)
            best = -1.0
            for option in range(arms):
                index = sums[option] / counts[option] + math.sqrt(log / counts[option])
                if index > best:
                    arm, best = option, index
        delay = min(now - last[arm], width)
        last[arm] = now
        counts[arm] += 1
        sums[arm] += 1.0 if generator.random() < means[arm, delay - 1] else 0.0
    return float(sums.sum())


@numba.njit(cache=True, error_model="numpy")
def tuned_ucb1(means: FloatArray, horizon: int, generator: np.random.Generator) -> float:
    """Play UCB1 with averages and 1 / sqrt(count) kept, which leaves no division for each arm."""
    arms, width = means.shape
    last = np.full(arms, -width)
    counts = np.zeros(arms)
    sums = np.zeros(arms)
    averages = np.full(arms, np.inf)
    errors = np.ones(arms)
    for now in range(horizon):
        root = math.sqrt(2 * math.log(max(now, 1)))
        arm = 0
        best = averages[0] + root * errors[0]
        for option in range(1, arms):
            index = averages[option] + root * errors[option]
            arm = option if index > best else arm
            best = max(best, index)
        delay = min(now - last[arm], width)
        last[arm] = now
        counts[arm] += 1
        sums[arm] += 1.0 if generator.random() < means[arm, delay - 1] else 0.0
        averages[arm] = sums[arm] / counts[arm]
        errors[arm] = 1 / math.sqrt(counts[arm])
    return float(sums.sum())


@numba.njit(cache=True, error_model="numpy")
def leading_ucb1(means: FloatArray, horizon: int, generator: np.random.Generator) -> float:
    """Play UCB1 with the package's own short cut: stay with an arm while it must lead."""
    arms, width = means.shape
    last = np.full(arms, -width)
    counts = np.zeros(arms)
    sums = np.zeros(arms)
    averages = np.full(arms, np.inf)
    errors = np.ones(arms)
    now = 0
    while now < horizon:
        root = math.sqrt(2 * math.log(max(now, 1)))
        slope = 1 / (root * now)
        arm, best, second = 0, -np.inf, -np.inf
        for option in range(arms):
            index = averages[option] + root * errors[option]
            second = max(second, min(best, index))
            arm = option if index > best else arm
            best = max(best, index)
        start, count, total, previous = now, counts[arm], sums[arm], last[arm]
        while True:
            delay = min(now - previous, width)
            total += 1.0 if generator.random() < means[arm, delay - 1] else 0.0
            count += 1
            previous = now
            now += 1
            average, error = total / count, 1 / math.sqrt(count)
            if now == horizon or average + root * error <= second + slope * (now - start):
                break
        counts[arm], sums[arm], last[arm] = count, total, previous
        averages[arm], errors[arm] = average, error
    return float(sums.sum())


@numba.njit(cache=True, error_model="numpy")
def tuned_ranking_ucb(means: FloatArray, horizon: int, generator: np.random.Generator) -> float:
    """Play pi_ucb on arms in order of their baselines, and return the reward.

    Averages are kept as in `tuned_ucb1`; the delays of a second play are known beforehand.
    """
    arms, width = means.shape
    last = np.full(arms, -width)
    counts = np.zeros(arms)
    sums = np.zeros(arms)
    averages = np.full(arms, np.inf)
    errors = np.ones(arms)
    now = 0
    selections = 0
    total = 0.0
    while now < horizon:
        root = math.sqrt(2 * math.log(max(selections, 1)))
        choice = 0
        best = averages[0] + root * errors[0]
        for option in range(1, arms):
            index = averages[option] + root * errors[option]
            choice = option if index > best else choice
            best = max(best, index)
        played = choice + 1
        for arm in range(played):
            mean = means[arm, min(now + arm - last[arm], width) - 1]
            last[arm] = now + played + arm
            total += 1.0 if generator.random() < mean else 0.0
        earned = 0.0
        for arm in range(played):
            earned += 1.0 if generator.random() < means[arm, min(played, width) - 1] else 0.0
        total += earned
        now += 2 * played
        counts[choice] += 1
        sums[choice] += earned / played
        averages[choice] = sums[choice] / counts[choice]
        errors[choice] = 1 / math.sqrt(counts[choice])
        selections += 1
    return total
