"""Sections 3 and 4: delays, the greedy policy, and why planning is hard."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import gcd

import numpy as np

from fallow import catalog
from fallow.instance import Instance
from fallow.planners import maintenance
from fallow.planners.greedy import greedy
from fallow.planners.optimal import optimal, reachable_states
from reproduction.claims.claim import Claim, Finding, verdict

Delays = tuple[int, ...]
TOLERANCE = 1e-9


def pulls_until_repeat(
    instance: Instance, choose: Callable[[Delays], int]
) -> tuple[list[int], int]:
    """Follow a policy from rest until the delays repeat; return its pulls and the cycle's start."""
    rested = [delay + 1 for delay in instance.delays.tolist()]
    delays = tuple(rested)
    seen: dict[Delays, int] = {}
    pulls: list[int] = []
    while delays not in seen:
        seen[delays] = len(pulls)
        arm = choose(delays)
        pulls.append(arm)
        aged = [min(delay + 1, cap) for delay, cap in zip(delays, rested, strict=True)]
        aged[arm] = 1
        delays = tuple(aged)
    return pulls, seen[delays]


def greedy_choice(instance: Instance) -> Callable[[Delays], int]:
    """Return equation 2 as a function of the delays; ties go to the larger baseline."""
    order, means = instance.order.tolist(), instance.means.tolist()
    return lambda delays: max(order, key=lambda arm: means[arm][delays[arm] - 1])


def _arbitrary_choice(instance: Instance, seed: int) -> Callable[[Delays], int]:
    """Return a policy that picks any arm at each new vector of delays and keeps to it."""
    generator = np.random.default_rng(seed)
    choices: dict[Delays, int] = {}
    return lambda delays: choices.setdefault(delays, int(generator.integers(instance.arms)))


def _is_rotation(cycle: Sequence[int], other: Sequence[int]) -> bool:
    starts = range(len(cycle))
    return any((*cycle[start:], *cycle[:start]) == tuple(other) for start in starts)


def _check_periodic() -> Finding:
    instances = [catalog.random_table(2 + seed % 3, 4, seed) for seed in range(300)]
    in_time = same_cycle = longest = 0
    for seed, instance in enumerate(instances):
        pulls, start = pulls_until_repeat(instance, _arbitrary_choice(instance, seed))
        # From rest, each round before the repeat reaches a vector that was not met before.
        in_time += len(pulls) <= reachable_states(instance) + 1
        longest = max(longest, len(pulls) - start)
        pulls, start = pulls_until_repeat(instance, greedy_choice(instance))
        same_cycle += _is_rotation(pulls[start:], greedy(instance).cycle)
    return Finding(
        f"{in_time} of {len(instances)} arbitrary policies repeat within the number of delay "
        f"vectors, longest period {longest}; {same_cycle} greedy cycles are the planner's",
        verdict(in_time == same_cycle == len(instances)),
    )


PERIODIC = Claim(
    name="periodic",
    place="section 3",
    statement="A policy that decides by the delays alone ends in a cycle.",
    method="Arbitrary such policies and greedy are followed round by round on random instances "
    "until the delays repeat; greedy's cycle is compared with the planner's.",
    expected="holds",
    check=_check_periodic,
)


def _greedy_ratios() -> list[float]:
    traps = [catalog.greedy_trap(epsilon) for epsilon in (0.4, 0.1, 0.01, 0.001)]
    return [greedy(trap).gain / optimal(trap).gain for trap in traps]


def _check_greedy() -> Finding:
    ratios = _greedy_ratios()
    return Finding(
        f"greedy earns {min(ratios):.1%} to {max(ratios):.1%} of the optimum",
        verdict(max(ratios) < 1 - TOLERANCE),
    )


GREEDY = Claim(
    name="greedy",
    place="section 3, the example",
    statement="Pulling the arm with the largest expected reward now is not always optimal.",
    method="Gains of greedy and of the exact optimum on the paper's example, four values of eps.",
    expected="holds",
    check=_check_greedy,
)


def _check_greedy_ratio() -> Finding:
    ratios = _greedy_ratios()
    listed = ", ".join(f"{ratio:.4f}" for ratio in ratios)
    return Finding(
        f"ratios {listed} for eps = 0.4, 0.1, 0.01, 0.001; 2/3 is {2 / 3:.4f}",
        verdict(max(ratios) <= 2 / 3 + TOLERANCE),
    )


GREEDY_RATIO = Claim(
    name="greedy-ratio",
    place="section 3, the example",
    statement="In that example greedy earns at most 2/3 of the optimum.",
    method="The same gains. By their closed form the ratio is 1 / (3/2 - eps).",
    expected="does not hold",
    check=_check_greedy_ratio,
)


def has_schedule(intervals: Sequence[int]) -> bool:
    """Try all offsets: machine i is served at a_i modulo l_i, and no two machines ever meet."""
    machines = range(len(intervals))
    pairs = [(i, j, gcd(intervals[i], intervals[j])) for i in machines for j in range(i)]
    return any(
        all((offsets[i] - offsets[j]) % common != 0 for i, j, common in pairs)
        for offsets in product(*(range(interval) for interval in intervals))
    )


def _check_theorem1() -> Finding:
    problems = [
        intervals
        for machines in range(1, 5)
        for intervals in combinations_with_replacement(range(1, 7), machines)
        if sum(Fraction(1, interval) for interval in intervals) <= 1
    ]
    feasible = agree = 0
    for intervals in problems:
        exists = has_schedule(intervals)
        target = sum(1 / interval for interval in intervals)
        attained = optimal(maintenance.instance(intervals)).gain >= target - TOLERANCE
        found = maintenance.schedule(intervals) is not None
        feasible += exists
        agree += attained == exists == found
    both_answers = 0 < feasible < len(problems)
    return Finding(
        f"agrees on {agree} of {len(problems)} problems, {feasible} of which have a schedule",
        verdict(agree == len(problems) and both_answers),
    )


THEOREM_1 = Claim(
    name="theorem-1",
    place="section 4, Theorem 1 and its proof",
    statement="Machines with service intervals l_i have a maintenance schedule if and only if the "
    "instance built from them attains sum 1/l_i; by this reduction planning is NP-hard.",
    method="The equivalence, not the hardness, for every problem with up to four machines and "
    "intervals up to six: the exact optimum against a search over all offsets.",
    expected="holds",
    check=_check_theorem1,
)
