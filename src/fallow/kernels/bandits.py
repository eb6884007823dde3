"""Learners that decide at every pull or play: their choices, and the loops that play them.

The `ask`/`tell` objects call the same choices and updates, and the loops draw one random number a
pull in the order of the simulator, so both ways to run a learner give the same run.
"""

import math
from typing import NamedTuple

import numpy as np

from fallow.arrays import FloatArray, Int32Array, IntArray
from fallow.kernels import compiled, tiered

CUT = 1
"""Where the clock says that the last block was cut at the horizon."""
MARGIN = 1e-12
"""Share of their size by which indices of UCB must differ to do so whatever the rounding."""


class Statistics(NamedTuple):
    """Observations of each option: how many and their sum, within the window if there is one.

    `window` holds the latest options and rewards, oldest first from `total[0]` modulo its length;
    `total[0]` is the number of all observations.
    """

    counts: FloatArray
    sums: FloatArray
    total: IntArray
    window_options: IntArray
    window_rewards: FloatArray


class Table(NamedTuple):
    """The side of the instance: means, each arm's last pull, and the clock.

    The clock holds the rounds played so far and whether the last block was cut at the horizon.
    """

    means: FloatArray
    last: IntArray
    clock: IntArray


class Runs(NamedTuple):
    """Room for runs: the number of a cycle and how many pulls of it."""

    numbers: Int32Array
    pulls: IntArray


def _most_looks(table: Table, statistics: Statistics, horizon: int) -> int:
    """Return how often a loop that plays to the horizon looks at an option, or pulls one."""
    return (horizon - int(table.clock[0])) * (2 * len(statistics.counts) + 6)


@tiered(lambda statistics: 2 * len(statistics.counts))
def ucb_choice(statistics: Statistics, rounds: float, scale: float) -> int:
    """Return the option with the largest mean + sqrt(scale ln(rounds) / count), untried ones first.

    Ties go to the first option.
    """
    counts, sums = statistics.counts, statistics.sums
    best, best_index = 0, -np.inf
    for option in range(len(counts)):
        if counts[option] == 0:
            return option
    log = scale * math.log(rounds)
    for option in range(len(counts)):
        index = sums[option] / counts[option] + math.sqrt(log / counts[option])
        if index > best_index:
            best, best_index = option, index
    return best


@compiled
def _average(statistics: Statistics, option: int) -> tuple[float, float]:
    """Return an option's mean and 1 / sqrt(count); the mean of an untried one is infinite."""
    count = statistics.counts[option]
    if count == 0:
        return np.inf, 1.0
    return statistics.sums[option] / count, 1 / math.sqrt(count)


@compiled
def _averages(statistics: Statistics) -> tuple[FloatArray, FloatArray]:
    """Return the averages of all options."""
    options = len(statistics.counts)
    means, errors = np.empty(options), np.empty(options)
    for option in range(options):
        means[option], errors[option] = _average(statistics, option)
    return means, errors


@compiled
def _leader(means: FloatArray, errors: FloatArray, root: float) -> tuple[int, float, float]:
    """Return the option with the largest mean + root x error, its index and the second largest."""
    best, largest, second = 0, -np.inf, -np.inf
    for option in range(len(means)):
        index = means[option] + root * errors[option]
        second = max(second, min(largest, index))
        best = option if index > largest else best
        largest = max(largest, index)
    return best, largest, second


@compiled
def thompson_choice(statistics: Statistics, generator: np.random.Generator) -> int:
    """Return the option with the largest draw from Beta(1 + successes, 1 + failures)."""
    best, best_draw = 0, -np.inf
    for option in range(len(statistics.counts)):
        successes = statistics.sums[option]
        draw = generator.beta(1 + successes, 1 + statistics.counts[option] - successes)
        if draw > best_draw:
            best, best_draw = option, draw
    return best


@tiered(lambda statistics: 2 * len(statistics.counts))
def epsilon_choice(statistics: Statistics, epsilon: float, generator: np.random.Generator) -> int:
    """Return any option with probability epsilon, else the best on average, untried ones first."""
    counts, sums = statistics.counts, statistics.sums
    options = len(counts)
    if generator.random() < epsilon:
        return min(int(generator.random() * options), options - 1)
    best, best_mean = 0, -np.inf
    for option in range(options):
        if counts[option] == 0:
            return option
        if sums[option] / counts[option] > best_mean:
            best, best_mean = option, sums[option] / counts[option]
    return best


@tiered(lambda: 4)
def observe(statistics: Statistics, option: int, reward: float) -> None:
    """Count a reward, and forget the one that leaves the window."""
    window = len(statistics.window_options)
    if window:
        place = statistics.total[0] % window
        if statistics.total[0] >= window:
            oldest = statistics.window_options[place]
            statistics.counts[oldest] -= 1
            statistics.sums[oldest] -= statistics.window_rewards[place]
        statistics.window_options[place] = option
        statistics.window_rewards[place] = reward
    statistics.counts[option] += 1
    statistics.sums[option] += reward
    statistics.total[0] += 1


@compiled
def _pull(table: Table, arm: int, noisy: bool, generator: np.random.Generator) -> float:
    """Pull an arm and return its reward, or its mean without noise."""
    delay = min(table.clock[0] - table.last[arm], table.means.shape[1])
    mean = float(table.means[arm, delay - 1])
    table.last[arm] = table.clock[0]
    table.clock[0] += 1
    return _reward(mean, noisy, generator)


@compiled
def _reward(mean: float, noisy: bool, generator: np.random.Generator) -> float:
    """Return a reward with this mean, or the mean without noise."""
    if noisy:
        return 1.0 if generator.random() < mean else 0.0
    return mean


@compiled
def _write(log: Runs, runs: int, number: int, pulls: int) -> int:
    """Write a run, joined to the one before if the cycle is the same; return the number of runs."""
    if runs and log.numbers[runs - 1] == number:
        log.pulls[runs - 1] += pulls
        return runs
    log.numbers[runs] = number
    log.pulls[runs] = pulls
    return runs + 1


@tiered(_most_looks)
def play_rankings(
    table: Table,
    statistics: Statistics,
    order: IntArray,
    scale: float,
    horizon: int,
    noisy: bool,
    generator: np.random.Generator,
    log: Runs,
) -> int:
    """Play UCB over ranking policies until the horizon or until the log is full.

    A selection is two plays; only the second is averaged (section 8). Return the number of runs.
    """
    runs = 0
    now, last, rested = table.clock[0], table.last, table.means.shape[1]
    means, errors = _averages(statistics)
    while now < horizon and runs < len(log.numbers):
        selections = float(statistics.total[0])
        root = math.sqrt(scale * math.log(max(selections, 1.0)))
        choice, largest, second = _leader(means, errors, root)
        if not largest - second > MARGIN * (1 + root):
            choice = ucb_choice(statistics, selections, scale)
        arms = choice + 1
        if 2 * arms > horizon - now:
            runs = _write(log, runs, choice, horizon - now)
            now = horizon
            table.clock[CUT] = 1
            break
        for position in range(arms):
            arm = order[position]
            mean = table.means[arm, min(now + position - last[arm], rested) - 1]
            last[arm] = now + arms + position  # its pull in the second play
            _reward(mean, noisy, generator)
        earned = 0.0
        for position in range(arms):
            mean = table.means[order[position], min(arms, rested) - 1]
            earned += _reward(mean, noisy, generator)
        now += 2 * arms
        observe(statistics, choice, earned / arms)
        means[choice], errors[choice] = _average(statistics, choice)
        runs = _write(log, runs, choice, 2 * arms)
    table.clock[0] = now
    return runs


@tiered(_most_looks)
def play_ucb(
    table: Table,
    statistics: Statistics,
    scale: float,
    horizon: int,
    noisy: bool,
    generator: np.random.Generator,
    log: Runs,
) -> int:
    """Play UCB over single arms until the horizon or until the log is full.

    An arm is pulled again and again while its index must be the largest: those of the others rise
    no faster than sqrt(scale ln n), which is concave. Where rounding could decide, `ucb_choice`
    does.
    """
    runs = 0
    now, counts, sums, last = table.clock[0], statistics.counts, statistics.sums, table.last
    earlier = statistics.total[0] - now
    rested = table.means.shape[1]
    means, errors = _averages(statistics)
    while now < horizon and runs < len(log.numbers):
        rounds = float(earlier + now)
        root = math.sqrt(scale * math.log(max(rounds, 1.0)))
        slope = scale / (2 * root * rounds) if root > 0 else np.inf
        arm, largest, second = _leader(means, errors, root)
        margin = MARGIN * (1 + root)
        if not largest - second > margin:
            arm, second = ucb_choice(statistics, rounds, scale), np.inf
        start, count, total, previous = now, counts[arm], sums[arm], last[arm]
        while True:
            mean = table.means[arm, min(now - previous, rested) - 1]
            count += 1
            total += _reward(mean, noisy, generator)
            average, error = total / count, 1 / math.sqrt(count)
            previous = now
            now += 1
            others = second + slope * (now - start) + margin
            if now == horizon or average + root * error <= others:
                break
        counts[arm], sums[arm], last[arm] = count, total, previous
        means[arm], errors[arm] = average, error
        runs = _write(log, runs, arm, now - start)
    table.clock[0] = now
    statistics.total[0] = earlier + now
    return runs


@compiled
def _pull_and_learn(
    table: Table,
    statistics: Statistics,
    arm: int,
    noisy: bool,
    generator: np.random.Generator,
    log: Runs,
    runs: int,
) -> int:
    """Pull an arm, count its reward, and write it to the log; return the number of runs."""
    observe(statistics, arm, _pull(table, arm, noisy, generator))
    return _write(log, runs, arm, 1)


@tiered(_most_looks)
def play_window(
    table: Table,
    statistics: Statistics,
    scale: float,
    horizon: int,
    noisy: bool,
    generator: np.random.Generator,
    log: Runs,
) -> int:
    """Play UCB over a window until the horizon or until the log is full."""
    runs = 0
    window = len(statistics.window_options)
    while table.clock[0] < horizon and runs < len(log.numbers):
        arm = ucb_choice(statistics, float(min(statistics.total[0], window)), scale)
        runs = _pull_and_learn(table, statistics, arm, noisy, generator, log, runs)
    return runs


@compiled
def play_thompson(
    table: Table,
    statistics: Statistics,
    horizon: int,
    noisy: bool,
    generator: np.random.Generator,
    learner_generator: np.random.Generator,
    log: Runs,
) -> int:
    """Play Thompson sampling until the horizon or until the log is full."""
    runs = 0
    while table.clock[0] < horizon and runs < len(log.numbers):
        arm = thompson_choice(statistics, learner_generator)
        runs = _pull_and_learn(table, statistics, arm, noisy, generator, log, runs)
    return runs


@tiered(_most_looks)
def play_epsilon(
    table: Table,
    statistics: Statistics,
    epsilon: float,
    horizon: int,
    noisy: bool,
    generator: np.random.Generator,
    learner_generator: np.random.Generator,
    log: Runs,
) -> int:
    """Play epsilon-greedy until the horizon or until the log is full."""
    runs = 0
    while table.clock[0] < horizon and runs < len(log.numbers):
        arm = epsilon_choice(statistics, epsilon, learner_generator)
        runs = _pull_and_learn(table, statistics, arm, noisy, generator, log, runs)
    return runs
