"""Kernels against plain Python, written from what they say they return, on small random inputs."""

import math
from itertools import combinations

import numpy as np
import pytest
import reference
from helpers import random_tables

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import (
    blocks,
    bounds,
    confidence,
    knapsack,
    lookahead,
    paths,
)
from fallow.limits import no_limits, rested_past

# Beam


def aged(delays: tuple[int, ...], pulled: int, rested: int) -> tuple[int, ...]:
    """The delays after a pull."""
    return tuple(1 if arm == pulled else min(d + 1, rested) for arm, d in enumerate(delays))


def beam_score(
    means: FloatArray,
    values: FloatArray,
    price: float,
    start: tuple[int, ...],
    rounds: int,
    width: int,
    branches: int,
) -> float:
    """Net reward plus value of all arms at the end of the best path; vectors are tuples."""
    arms, rested = means.shape
    kept = {start: 0.0}
    score = math.nan
    for left in range(rounds - 1, -1, -1):
        later = values[left] if left < len(values) else values[-1]
        candidates = []
        for delays, earned in kept.items():
            children = []
            for arm in range(arms):
                after = aged(delays, arm, rested)
                net = earned + means[arm, delays[arm] - 1] - price
                worth = sum(later[other, after[other] - 1] for other in range(arms))
                children.append((net + worth, net, after))
            candidates += sorted(children)[-branches:]
        kept = {}
        candidates.sort(reverse=True)
        for _, net, after in candidates:
            if len(kept) < width:
                kept.setdefault(after, net)
        score = candidates[0][0]
    return score


def test_a_beam_keeps_the_best_distinct_delay_vectors() -> None:
    """Over values without ties: those of the relaxed problem have many."""
    for generator, means in random_tables(60, arms=5, width=6):
        arms, rested = means.shape
        values = generator.random((generator.integers(1, 12), arms, rested))
        price = generator.random()
        start = generator.integers(1, rested + 1, arms)
        rounds, width, branches = (int(generator.integers(1, most)) for most in (24, 6, 4))
        limits = no_limits(arms)
        past = rested_past(limits, rested)._replace(delays=start)
        path, _ = paths.beam_path(means, values, price, limits, past, rounds, width, branches)
        delays, score = tuple(start.tolist()), 0.0
        for arm in path:
            score += means[arm, delays[arm] - 1] - price
            delays = aged(delays, arm, rested)
        score += sum(values[0, arm, delays[arm] - 1] for arm in range(arms))
        best = beam_score(means, values, price, tuple(start.tolist()), rounds, width, branches)
        assert score == pytest.approx(best, abs=1e-12)


def test_relaxed_values_are_of_the_best_later_pull_or_of_none() -> None:
    for generator, means in random_tables(40, arms=4, width=5):
        arms, width = means.shape
        price = 1.2 * generator.random()
        surplus = generator.choice([0.0, 0.01, 0.2, 1.0], arms)
        values = paths.relaxed_values(means, price, surplus, no_limits(len(means)))
        for arm in range(arms):
            for tau in range(1, width + 1):
                later = [
                    means[arm, t - 1] - price - surplus[arm] * (t - tau)
                    for t in range(tau, width + 1)
                ]
                never = [0.0] if surplus[arm] == 0 else []
                assert values[arm, tau - 1] == pytest.approx(max(later + never), abs=1e-12)


# Blocks


def worth_of(values: FloatArray, price: float, length: int, arm: int, last: int, now: int) -> float:
    """The most that an arm scores from `now` on less the price of its pulls, over all subsets."""
    best = -math.inf
    for pulls in range(length - now + 1):
        for rounds in combinations(range(now, length), pulls):
            before = [last, *rounds] if last >= 0 else [*rounds]
            gaps = np.minimum(np.diff(np.array(before, int)), values.shape[1])
            best = max(best, float(values[arm, gaps - 1].sum()) - price * pulls)
    return best


def block_values(seed: int) -> tuple[FloatArray, int]:
    """Random values by arm and gap, and the length of a block."""
    generator = np.random.default_rng(seed)
    values = generator.random((generator.integers(1, 4), generator.integers(1, 5)))
    return values, int(generator.integers(2, 6))


@pytest.mark.parametrize("seed", range(12))
def test_arms_are_worth_the_best_of_their_pulls_at_a_price_with_a_small_bound(seed: int) -> None:
    values, length = block_values(seed)
    arms = range(len(values))
    price, worth = blocks._best_price(values, length)
    for arm in arms:
        for now in range(length + 1):
            for last in range(-1, now):
                expected = worth_of(values, price, length, arm, last, now)
                assert worth[arm, last + 1, now] == pytest.approx(expected, abs=1e-12)

    def bound(price: float) -> float:
        return price * length + sum(worth_of(values, price, length, arm, -1, 0) for arm in arms)

    assert blocks._bound(values, price, worth) == pytest.approx(bound(price), abs=1e-12)
    prices = np.linspace(-values.max(), values.max(), 41)
    assert bound(price) <= min(map(bound, prices)) + 1e-4


def last_pulls(block: list[int], arms: int) -> IntArray:
    """The place of each arm's last pull, -1 if it has none."""
    return np.array([max([-1, *np.flatnonzero(np.equal(block, arm))]) for arm in range(arms)])


@pytest.mark.parametrize("seed", range(12))
def test_a_block_is_bounded_by_its_score_and_what_all_arms_are_worth_after_it(seed: int) -> None:
    values, length = block_values(seed)
    arms = len(values)
    price, worth = blocks._best_price(values, length)
    found = np.zeros((length, arms))
    for place in range(length):
        begun = np.random.default_rng(seed).integers(0, arms, place).tolist()
        score = reference.block_score(values.tolist(), begun)
        last = last_pulls(begun, arms)
        blocks._bound_children(values, worth, price, last, place, score, found)
        for arm in range(arms):
            block = [*begun, arm]
            expected = reference.block_score(values.tolist(), block) + price * (length - place - 1)
            for other, since in enumerate(last_pulls(block, arms)):
                expected += worth_of(values, price, length, other, since, place + 1)
            assert found[place, arm] == pytest.approx(expected, abs=1e-12)


def test_a_search_for_blocks_ends_after_its_steps() -> None:
    """The first block is found after as many steps as it has pulls."""
    values = np.array([[0.1, 0.1], [0.8, 0.9]])
    assert blocks.best_block(values, 4, 3).tolist() == [0, 0, 0, 0]
    assert blocks.best_block(values, 4, 4).tolist() == [1, 1, 1, 1]


# Bounds


def rate(row: FloatArray, price: float) -> tuple[float, float]:
    """An arm's best surplus and its rate of pulls."""
    best = max((value - price) / delay for delay, value in enumerate(row, 1))
    if best <= 0:
        return 0.0, 0.0
    return best, max(
        1 / delay for delay, value in enumerate(row, 1) if (value - price) / delay == best
    )


def test_below_the_clearing_price_the_arms_ask_for_more_than_a_pull_a_round() -> None:
    for generator, means in random_tables(40, arms=4, width=5):
        price = generator.random()
        surplus, rates = bounds.best_delays(means, price, no_limits(len(means)))
        assert [*zip(surplus, rates, strict=True)] == [rate(row, price) for row in means]
        clearing = bounds.clearing_price(means, no_limits(len(means)))
        assert sum(rate(row, clearing)[1] for row in means) <= 1
        below = np.nextafter(clearing, -np.inf)
        assert sum(rate(row, below)[1] for row in means) > 1 or below == -1


def test_what_is_worth_nothing_has_a_price_of_zero() -> None:
    assert str(bounds.clearing_price(np.zeros((2, 3)), no_limits(2))) == "0.0"  # and not -0.0


# Confidence


def test_where_every_reward_was_the_same_bounds_are_exact() -> None:
    assert confidence.upper_bound(7, 1.0, 2.0) == 1
    assert confidence.upper_bound(0, 0.0, 2.0) == 1
    for level in (2e-13, 0.1, 3.0, 300.0):
        upper = confidence.upper_bound(2, 0.0, level)
        assert upper == pytest.approx(1 - math.exp(-level / 2), rel=0, abs=1e-15)


@pytest.mark.parametrize("counts", [[1.0, 20.0], [20.0, 1.0]])
def test_a_single_sample_can_tell_a_rise(counts: list[float]) -> None:
    sums = np.array([[0.0, counts[1]]])
    assert confidence.rises(np.array([counts]), sums, 0.5)
    assert not confidence.rises(np.array([counts]), sums, 5.0)


# Indices


def followed(table: FloatArray, max_rounds: int) -> list[int]:
    """The pulls between two equal delay vectors, looked for after 0, 1, 3, 7, ... rounds."""
    arms, rested = table.shape
    vectors, pulls = [(rested,) * arms], []
    for _ in range(max_rounds):
        pulls.append(int(np.argmax([table[arm, d - 1] for arm, d in enumerate(vectors[-1])])))
        vectors.append(aged(vectors[-1], pulls[-1], rested))
    kept, patience = 0, 1
    while True:
        end = kept + patience
        last = 2 * patience > max_rounds - end  # too few rounds are left to look twice as far
        for now in range(kept + 1, (max_rounds if last else end) + 1):
            if vectors[now] == vectors[kept]:
                return pulls[kept:now]
        if last:
            return pulls[kept:]
        kept, patience = end, 2 * patience


def test_an_index_is_followed_until_the_delays_repeat() -> None:
    for generator, means in random_tables(60, arms=5, width=6):
        for table in (means, generator.choice([0.2, 0.5, 0.7], means.shape)):
            for max_rounds in (1, 2, 3, 7, 8, 20, 100):
                limits = no_limits(len(table))
                past = rested_past(limits, table.shape[1])
                found, _ = paths.follow(table, limits, past, max_rounds)
                assert found.tolist() == followed(table, max_rounds)


# Knapsack


def test_what_is_worth_nothing_is_left_out_of_the_knapsack() -> None:
    values = np.array([[0.0, 0.0], [0.0, 0.5], [0.0, 0.0]])
    assert knapsack.best_choices(values, np.array([2, 1]), 4).tolist() == [-1, 1, -1]


# Lookahead


def test_further_pulls_are_bounded_by_the_best_cell_that_each_can_meet() -> None:
    for generator, means in random_tables(40, arms=4, width=5):
        arms, width = means.shape
        covariances = generator.random((arms, width, width))
        delays = generator.integers(1, width + 2, arms)
        depth, scale = int(generator.integers(1, 7)), generator.random()
        noise = generator.random()
        deviations = np.sqrt(covariances.diagonal(axis1=1, axis2=2) + noise)
        expected = [0.0]
        for place in range(depth - 1, -1, -1):
            cells = [
                means[arm, min(delay, width) - 1] + scale * deviations[arm, min(delay, width) - 1]
                for arm in range(arms)
                for delay in [*range(1, place + 1), delays[arm] + place]
            ]
            expected.insert(0, expected[0] + max(cells))
        found = lookahead._largest_ahead(means, covariances, noise, delays, depth, scale)
        assert found == pytest.approx(expected, abs=1e-12)


def test_pulls_of_an_arm_vary_together() -> None:
    """Deviations outweigh the means here, so covariances decide between sequences."""
    for generator, means in random_tables(60, arms=3, width=4):
        arms, width = means.shape
        factors = generator.normal(size=(arms, width, 2))
        covariances = factors @ factors.transpose(0, 2, 1)
        delays = generator.integers(1, width + 2, arms)
        noise = float(generator.random())
        found = lookahead.best_sequence(means, covariances, noise, delays, 4, 3.0).tolist()
        table = means.tolist(), covariances.tolist(), noise, delays.tolist()
        best = reference.best_sequence_value(*table, 4, 3.0)
        assert reference.sequence_value(*table, found, 3.0) == pytest.approx(best, abs=1e-9)


def test_of_equal_sequences_the_first_in_the_order_of_arms_is_taken() -> None:
    means, covariances = np.full((3, 2), 0.5), np.zeros((3, 2, 2))
    found = lookahead.best_sequence(means, covariances, 0.1, np.array([2, 2, 2]), 3, 1.0)
    assert found.tolist() == [0, 0, 0]
