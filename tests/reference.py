"""A slow twin of the package, written from the paper with plain loops; it imports nothing of it.

Arms are counted from 0. A table of means has one row an arm; `table[i][tau - 1]` is the mean at
delay tau, the last entry the rested mean.
"""

from itertools import product
from math import log, sqrt
from typing import Any

Table = list[list[float]]


def mean_table(baselines: list[float], delays: list[int], f: list[float]) -> Table:
    """Equation 1 for tau = 1 .. max(delays) + 1; f[tau - 1] is f(tau)."""
    table = []
    for baseline, delay in zip(baselines, delays, strict=True):
        row = []
        for tau in range(1, max(delays) + 2):
            lost = f[tau - 1] if 0 < tau <= delay else 0.0
            row.append((1 - lost) * baseline)
        table.append(row)
    return table


def mean_at(table: Table, arm: int, tau: int) -> float:
    return table[arm][tau - 1] if tau <= len(table[arm]) else table[arm][-1]


def played(table: Table, pulls: list[int]) -> list[float]:
    """Expected reward of each pull, from all arms rested."""
    last: dict[int, int] = {}
    rewards = []
    for now, arm in enumerate(pulls):
        rewards.append(mean_at(table, arm, now - last[arm]) if arm in last else table[arm][-1])
        last[arm] = now
    return rewards


def cycle_gain(table: Table, cycle: list[int]) -> float:
    """Average reward of a pass that comes after so many others that no arm remembers the start."""
    passes = len(table[0]) + 2
    rewards = played(table, cycle * passes)
    return sum(rewards[-len(cycle) :]) / len(cycle)


def by_baseline(table: Table) -> list[int]:
    return sorted(range(len(table)), key=lambda arm: -table[arm][-1])


def ranking_gain(table: Table, m: int) -> float:
    """g(m), section 5."""
    return sum(mean_at(table, arm, m) for arm in by_baseline(table)[:m]) / m


def theorem2_index(table: Table) -> int:
    """r_0 of Theorem 2, with the paper's arms 1 .. k."""
    ranked = [table[arm] for arm in by_baseline(table)]
    r = 1
    for i in range(2, len(table) + 1):
        if not all(ranked[i - 1][-1] > mean_at(ranked, j - 1, i - j) for j in range(1, i)):
            break
        r = i
    return r


def repaired_index(table: Table) -> int:
    """r_1, the largest r such that no arm at delay r - 1 is worth more than the r-th baseline."""
    ranked = [table[arm] for arm in by_baseline(table)]
    good = [1]
    for r in range(2, len(table) + 1):
        if max(mean_at(ranked, j, r - 1) for j in range(len(table))) <= ranked[r - 1][-1]:
            good.append(r)
    return max(good)


def greedy_cycle(table: Table) -> list[int]:
    """The cycle of equation 2; ties go to the larger baseline."""
    width = len(table[0])
    taus = [width] * len(table)
    pulls: list[int] = []
    seen: dict[tuple[int, ...], int] = {}
    while tuple(taus) not in seen:
        seen[tuple(taus)] = len(pulls)
        best = max(by_baseline(table), key=lambda arm: mean_at(table, arm, taus[arm]))
        pulls.append(best)
        taus = [min(tau + 1, width) for tau in taus]
        taus[best] = 1
    return pulls[seen[tuple(taus)] :]


def whittle_index(table: Table, arm: int, tau: int) -> float:
    """The largest price at which a pull now is as good as at any later delay, by bisection.

    At a price, pulling always at delay t earns (mean(t) - price) / t a round, never pulling 0.
    """
    width = len(table[arm])
    low, high = -2.0 * width, 1.0
    for _ in range(80):
        price = (low + high) / 2
        now = (mean_at(table, arm, tau) - price) / tau
        later = [(mean_at(table, arm, t) - price) / t for t in range(tau + 1, width + 1)]
        if now >= max([0.0, *later]):
            low = price
        else:
            high = price
    return low


def best_cycle_gain(table: Table, longest: int) -> float:
    """The best gain of all cycles up to a length."""
    arms = range(len(table))
    return max(
        cycle_gain(table, list(cycle))
        for length in range(1, longest + 1)
        for cycle in product(arms, repeat=length)
    )


def reachable_vectors(table: Table) -> dict[tuple[int, ...], list[tuple[float, tuple[int, ...]]]]:
    """The graph of capped delay vectors after the first pull: (reward, next vector) by arm."""
    width = len(table[0])

    def step(vector: tuple[int, ...], arm: int) -> tuple[int, ...]:
        aged = [min(tau + 1, width) for tau in vector]
        aged[arm] = 1
        return tuple(aged)

    arms = range(len(table))
    graph: dict[tuple[int, ...], list[tuple[float, tuple[int, ...]]]] = {}
    waiting = [step((width,) * len(table), arm) for arm in arms]
    while waiting:
        vector = waiting.pop()
        if vector not in graph:
            graph[vector] = [(table[arm][vector[arm] - 1], step(vector, arm)) for arm in arms]
            waiting.extend(after for _, after in graph[vector])
    return graph


def optimum(table: Table) -> float:
    """The largest mean reward of a cycle of delay vectors, by Karp's algorithm."""
    graph = reachable_vectors(table)
    start = next(iter(graph))
    steps = len(graph)
    best: list[dict[tuple[int, ...], float]] = [{start: 0}]  # whole, so that fractions stay exact
    for _ in range(steps):
        longer: dict[tuple[int, ...], float] = {}
        for vector, total in best[-1].items():
            for reward, after in graph[vector]:
                longer[after] = max(longer.get(after, float("-inf")), total + reward)
        best.append(longer)
    return max(
        min((total - best[n][vector]) / (steps - n) for n in range(steps) if vector in best[n])
        for vector, total in best[steps].items()
    )


def maintenance_feasible(intervals: list[int]) -> bool:
    """Machines with offsets o_i never meet if o_i - o_j is no multiple of gcd(l_i, l_j)."""

    def gcd(a: int, b: int) -> int:
        return a if b == 0 else gcd(b, a % b)

    def apart(i: int, j: int, offsets: tuple[int, ...]) -> bool:
        return (offsets[i] - offsets[j]) % gcd(intervals[i], intervals[j]) != 0

    machines = range(len(intervals))
    return any(
        all(apart(i, j, offsets) for i in machines for j in range(i))
        for offsets in product(*(range(length) for length in intervals))
    )


class RankingUCB:
    """pi_ucb of section 8, round by round: two plays a selection, the second one averaged."""

    def __init__(self, table: Table, generator: Any) -> None:
        self.table, self.generator = table, generator
        self.last = [-len(table[0])] * len(table)
        self.now = 0
        self.selections = [0] * len(table)
        self.averages: list[list[float]] = [[] for _ in table]
        self.pulls: list[int] = []

    def pull(self, arm: int) -> float:
        mean = mean_at(self.table, arm, self.now - self.last[arm])
        self.last[arm] = self.now
        self.now += 1
        self.pulls.append(arm)
        return 1.0 if self.generator.random() < mean else 0.0

    def index(self, m: int) -> float:
        if not self.averages[m]:
            return float("inf")
        n = sum(self.selections)
        total = 0.0
        for average in self.averages[m]:
            total += average
        return total / self.selections[m] + sqrt(2 * log(n) / self.selections[m])

    def run(self, horizon: int) -> list[int]:
        while self.now < horizon:
            best = 0
            for m in range(1, len(self.table)):
                if self.index(m) > self.index(best):
                    best = m
            if self.now + 2 * (best + 1) > horizon:
                for position in range(horizon - self.now):
                    self.pulls.append(position % (best + 1))
                break
            for arm in range(best + 1):
                self.pull(arm)
            earned = 0.0
            for arm in range(best + 1):
                earned += self.pull(arm)
            self.selections[best] += 1
            self.averages[best].append(earned / (best + 1))
        return self.pulls


class UCBGreedy:
    """UCB-Greedy of blocking bandits, round by round; a pull while blocked is not averaged."""

    def __init__(self, table: Table, delays: list[int], generator: Any) -> None:
        self.table, self.delays, self.generator = table, delays, generator
        self.pulls: list[int] = []
        self.rewards: list[list[float]] = [[] for _ in table]

    def rested(self, arm: int) -> int:
        """Rounds since the last pull; more than any delay if there was none."""
        for ago in range(1, len(self.pulls) + 1):
            if self.pulls[-ago] == arm:
                return ago
        return max(*self.delays, len(self.table[0])) + 1

    def average(self, arm: int) -> float:
        return sum(self.rewards[arm]) / len(self.rewards[arm])

    def index(self, arm: int) -> float:
        if not self.rewards[arm]:
            return float("inf")
        t = len(self.pulls) + 1
        return self.average(arm) + sqrt(8 * log(t) / len(self.rewards[arm]))

    def worth_of_rest(self, arm: int) -> float:
        return self.rested(arm) * self.average(arm) / (self.delays[arm] + 1)

    def run(self, horizon: int) -> list[int]:
        while len(self.pulls) < horizon:
            free = []
            for arm in range(len(self.table)):
                if self.rested(arm) > self.delays[arm]:
                    free.append(arm)
            if free:
                chosen = free[0]
                for arm in free:
                    if self.index(arm) > self.index(chosen):
                        chosen = arm
            else:
                chosen = 0
                for arm in range(len(self.table)):
                    if self.worth_of_rest(arm) < self.worth_of_rest(chosen):
                        chosen = arm
            mean = mean_at(self.table, chosen, self.rested(chosen))
            reward = 1.0 if self.generator.random() < mean else 0.0
            if chosen in free:
                self.rewards[chosen].append(reward)
            self.pulls.append(chosen)
        return self.pulls


def best_sequence_value(
    means: Table,
    covariances: list[Table],
    noise: float,
    delays: list[int],
    depth: int,
    scale: float,
) -> float:
    """The largest upper bound of the total reward of any `depth` pulls, tried one by one."""
    return max(
        sequence_value(means, covariances, noise, delays, list(pulls), scale)
        for pulls in product(range(len(means)), repeat=depth)
    )


def sequence_value(
    means: Table,
    covariances: list[Table],
    noise: float,
    delays: list[int],
    pulls: list[int],
    scale: float,
) -> float:
    """Mean of the pulls' total reward plus so many of its standard deviations."""
    ages = list(delays)
    cells = []
    for arm in pulls:
        cells.append((arm, min(ages[arm], len(means[0])) - 1))
        ages = [age + 1 for age in ages]
        ages[arm] = 1
    mean = sum(means[arm][cell] for arm, cell in cells)
    variance = noise * len(pulls)
    for arm, cell in cells:
        for other, other_cell in cells:
            if arm == other:
                variance += covariances[arm][cell][other_cell]
    return mean + scale * sqrt(variance)


def block_score(values: Table, block: list[int]) -> float:
    """Sum of the values by arm and gap over all pulls but each arm's first."""
    total = 0.0
    for now, arm in enumerate(block):
        earlier = [place for place in range(now) if block[place] == arm]
        if earlier:
            total += mean_at(values, arm, now - earlier[-1])
    return total


def best_block_score(values: Table, length: int) -> float:
    return max(
        block_score(values, list(block)) for block in product(range(len(values)), repeat=length)
    )


def cycle_total(table: Table, cycle: list[int]) -> float:
    """What one pass of a repeated cycle earns; -1 is a round without a pull."""
    total = 0.0
    for place, arm in enumerate(cycle):
        if arm >= 0:
            gap = 1
            while cycle[place - gap] != arm:
                gap += 1
            total += mean_at(table, arm, gap)
    return total


def idling_bound(table: Table) -> float:
    """The relaxed problem with idle rounds, by its dual at prices 0, 0.001, ..., 1: no less."""

    def dual(price: float) -> float:
        total = price
        for row in table:
            total += max(0.0, *((mean - price) / (t + 1) for t, mean in enumerate(row)))
        return total

    return min(dual(step / 1000) for step in range(1001))
