"""What is believed of means, against sums over all rows and closed forms."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallow.arrays import FloatArray
from fallow.beliefs import Beliefs, Prior
from fallow.kernels.rows import Lanes, Levels, Posterior, believe, upper_quantiles, weigh

VALUES = np.array([0.0, 0.2, 0.5, 0.8, 1.0])
LEVELS = Levels(VALUES, np.array([0.0, 0.1, 0.35, 0.65, 0.9, 1.0]))


def random_lanes(generator: np.random.Generator, count: int, columns: int) -> Lanes:
    start = generator.dirichlet(np.ones(len(VALUES)), count).T.copy()
    inverse = np.zeros_like(start)
    inverse[2:] = 1 / np.cumsum(start[1:-1], axis=0)
    steps = generator.uniform(0, 0.7, (columns - 1, count))
    return Lanes(start, inverse, steps, generator.random(count), generator.uniform(0, 0.3, count))


def transition(lanes: Lanes, lane: int, column: int) -> FloatArray:
    """Return the chance of each level, given the one in the column before."""
    start, step = lanes.start[:, lane], lanes.steps[column - 1, lane]
    vanish, leap = lanes.vanish[lane], lanes.leaps[lane]
    chances = np.tile(leap * start, (len(start), 1))
    for level in range(len(start)):
        falls = step if level > 0 else 0.0
        chances[level, level] += 1 - leap - falls
        if level == 1:
            chances[level, 0] += falls
        elif level > 1:
            chances[level, 0] += falls * vanish
            lower = start[1:level]
            chances[level, 1:level] += falls * (1 - vanish) * lower / lower.sum()
    return chances


def by_definition(likely: FloatArray, lanes: Lanes, lane: int) -> tuple[float, FloatArray]:
    """Return evidence and tails of a chain by adding up all rows of levels."""
    columns, size = likely.shape
    moves = [transition(lanes, lane, column) for column in range(1, columns)]
    marginals = np.zeros((columns, size))
    for row in product(range(size), repeat=columns):
        chance = lanes.start[row[0], lane]
        for column in range(1, columns):
            chance *= moves[column - 1][row[column - 1], row[column]]
        for column, level in enumerate(row):
            chance *= likely[column, level]
        for column, level in enumerate(row):
            marginals[column, level] += chance
    total = marginals[0].sum()
    return total, marginals[:, ::-1].cumsum(axis=1)[:, ::-1] / total


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_the_posterior_is_the_sum_over_all_rows(seed: int, columns: int) -> None:
    generator = np.random.default_rng(seed)
    counts = generator.integers(0, 4, (2, columns)).astype(float)
    sums = np.round(counts * generator.random((2, columns)), 1)
    rising, others = (random_lanes(generator, lanes, columns) for lanes in (2, 3))
    tails = 2, columns, len(VALUES)
    posterior = Posterior(np.empty((*tails, 2)), np.empty((*tails, 3)), np.empty((2, 5)))
    believe(counts, sums, np.array([1, 0]), LEVELS, rising, others, posterior)
    for arm in range(2):
        earned, missed = sums[arm][:, np.newaxis], (counts - sums)[arm][:, np.newaxis]
        likely = VALUES**earned * (1 - VALUES) ** missed
        likely /= likely.max(axis=1, keepdims=True)
        for lane in range(5):
            if lane < 2:
                total, expected = by_definition(likely[::-1], rising, lane)
                found = posterior.rising[arm, :, :, lane]
            else:
                total, expected = by_definition(likely, others, lane - 2)
                found = posterior.others[arm, :, :, lane - 2]
            np.testing.assert_allclose(found, expected, atol=1e-12)
            assert posterior.evidence[arm, lane] == pytest.approx(np.log(total), abs=1e-9)


@given(st.integers(0, 10**6))
def test_lanes_count_by_what_they_explain_in_all_arms(seed: int) -> None:
    """Bayes' rule written out: two rising lanes, one falling, one free, two mixtures."""
    generator = np.random.default_rng(seed)
    evidence = generator.normal(0, 3, (3, 4))
    mixtures = np.array([[0.9, 0.06, 0.04], [0.2, 0.5, 0.3]])
    prior = np.array([0.7, 0.3])
    likely = np.exp(evidence)
    expected, total = np.zeros((3, 4)), 0.0
    for mixture, up in product(range(2), range(2)):
        kinds = np.zeros((3, 4))
        kinds[:, [up, 2, 3]] = mixtures[mixture] * likely[:, [up, 2, 3]]
        chance = prior[mixture] * kinds.sum(axis=1).prod()
        total += chance
        expected += chance * kinds / kinds.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(weigh(evidence, 2, mixtures, prior), expected / total, atol=1e-4)


def beta_quantile(count: float, earned: float, prior: float, chance: float) -> float:
    """Return the upper quantile of a beta posterior, by adding up its density on a fine grid."""
    center, spread = earned / count, 0.5 / np.sqrt(count)
    means = np.linspace(max(center - 12 * spread, 0), min(center + 12 * spread, 1), 200_002)[1:-1]
    logarithms = (earned + prior - 1) * np.log(means)
    logarithms += (count - earned + prior - 1) * np.log1p(-means)
    density = np.exp(logarithms - logarithms.max())
    above = density[::-1].cumsum()[::-1] / density.sum()
    return float(means[np.searchsorted(-above, -chance)])


def test_arms_that_contradict_each_other_do_not_rule_out_everything() -> None:
    evidence = np.array([[0.0, -2000.0, -3000.0, -4000.0], [-2000.0, 0.0, -3000.0, -4000.0]])
    weights = weigh(evidence, 2, np.array([[0.9, 0.06, 0.04]]), np.ones(1))
    np.testing.assert_allclose(weights.sum(axis=1), 1)


def quantile(count: float, earned: float, chance: float) -> float:
    counts, sums = np.array([[count]]), np.array([[earned]])
    return float(Beliefs(1, 1).upper_quantiles(counts, sums, np.array([[chance]]))[0, 0])


@pytest.mark.parametrize(("count", "earned"), [(3, 1), (20, 15), (100, 40), (400, 100)])
@pytest.mark.parametrize("chance", [0.3, 0.05, 0.01])
def test_where_delays_do_not_matter_it_is_nearly_a_beta_posterior(
    count: float, earned: float, chance: float
) -> None:
    """Levels are up to .05 apart; low means have some more prior weight."""
    expected = beta_quantile(count, earned, 1.0, chance)
    assert quantile(count, earned, chance) == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize(("count", "earned"), [(500, 50), (10**4, 6 * 10**3), (10**9, 10**8)])
@pytest.mark.parametrize("chance", [0.2, 1e-3, 1e-6])
def test_many_samples_speak_for_themselves(count: float, earned: float, chance: float) -> None:
    expected = beta_quantile(count, earned, 0.5, chance)
    width = expected - earned / count
    assert quantile(count, earned, chance) == pytest.approx(expected, abs=0.1 * width)


def test_what_never_paid_is_believed_to_be_nothing() -> None:
    assert quantile(10**4, 0, 0.01) == 0
    assert quantile(10**4, 10**4, 0.5) == 1


def quantiles_of(rows: list[list[float]], chance: float) -> FloatArray:
    """Return the quantiles after 20 pulls of each cell, but for those given as -1, without any."""
    means = np.array(rows)
    counts = np.where(means < 0, 0.0, 20.0)
    beliefs = Beliefs(*means.shape)
    return beliefs.upper_quantiles(counts, counts * means, np.full(means.shape, chance))


def test_whether_payoffs_rise_or_fall_is_learned_from_other_arms() -> None:
    """The last arm was pulled after the longest rest only."""
    rising = [[0.1, 0.3, 0.6, 0.9]] * 4 + [[-1, -1, -1, 0.5]]
    falling = [[0.9, 0.6, 0.3, 0.1]] * 4 + [[-1, -1, -1, 0.5]]
    assert (np.diff(quantiles_of(rising, 0.05)[-1]) >= 0).all()
    assert quantiles_of(rising, 0.05)[-1, 0] < 0.6
    assert (np.diff(quantiles_of(falling, 0.05)[-1]) < 0).all()
    assert quantiles_of(falling, 0.05)[-1, 0] > 0.9


def test_an_arm_may_follow_no_rule() -> None:
    odd = [[0.0, 0.95, 0.0, 0.0], [0.15, 0.15, 0.15, 0.15], [0.1, 0.2, 0.3, 0.4]]
    assert quantiles_of(odd, 0.05)[0, [0, 2]].max() < 0.2
    assert quantiles_of(odd, 0.05)[0, 1] > 0.9


def test_low_rates_of_other_arms_make_one_expect_less() -> None:
    alone = quantiles_of([[-1, -1]], 0.25)[0, 1]
    with_others = quantiles_of([[0.0, 0.02]] * 10 + [[-1, -1]], 0.25)[-1, 1]
    assert with_others < 0.1 < alone


@given(st.integers(0, 10**6), st.permutations(range(4)))
def test_arms_have_no_order(seed: int, order: list[int]) -> None:
    generator = np.random.default_rng(seed)
    counts = generator.integers(0, 9, (4, 3)).astype(float)
    sums = generator.binomial(counts.astype(int), generator.random((4, 3))).astype(float)
    chances = np.full((4, 3), 0.1)
    quantiles = Beliefs(4, 3).upper_quantiles(counts, sums, chances)
    permuted = Beliefs(4, 3).upper_quantiles(counts[order], sums[order], chances)
    np.testing.assert_allclose(permuted, quantiles[order], atol=1e-9)


def test_what_is_kept_of_an_arm_is_what_would_be_computed_anew() -> None:
    generator = np.random.default_rng(0)
    counts, sums = np.zeros((3, 4)), np.zeros((3, 4))
    kept = Beliefs(3, 4)
    for _ in range(20):
        arm, column = int(generator.integers(3)), generator.integers(4)
        counts[arm, column] += 1
        sums[arm, column] += generator.integers(2)
        kept.forget([arm])
        chances = generator.uniform(0.01, 0.5, (3, 4))
        anew = Beliefs(3, 4).upper_quantiles(counts, sums, chances)
        assert (kept.upper_quantiles(counts, sums, chances) == anew).all()


def test_a_quantile_is_exceeded_with_its_chance() -> None:
    """Between levels the mean is uniform, so the chance beyond the quantile is exact."""
    tails = np.array([1.0, 0.9, 0.6, 0.2, 0.05])
    others = tails.reshape(1, 1, 5, 1)
    posterior = Posterior(np.empty((1, 1, 5, 0)), others, np.zeros((1, 1)))
    nothing = np.zeros((1, 1))
    for chance, expected in ((0.6, 0.35), (0.4, 0.5), (0.2, 0.65), (0.125, 0.775), (0.03, 1.0)):
        found = upper_quantiles(
            posterior, np.ones((1, 1)), LEVELS, nothing, nothing, np.array([[chance]])
        )
        assert found[0, 0] == pytest.approx(expected)


def test_a_prior_is_used_where_it_is_given() -> None:
    none = np.zeros((1, 1))
    zero_unless_lucky = Beliefs(1, 1, Prior(zero_probability=0.7, low_probability=0.2))
    usual = Beliefs(1, 1)
    assert zero_unless_lucky.upper_quantiles(none, none, none + 0.4) == 0  # 0.3 are above
    assert usual.upper_quantiles(none, none, none + 0.4) > 0
    bold = Beliefs(1, 1, Prior(optimism=20.0))
    assert bold.indices(none, none, rounds=100) > usual.indices(none, none, rounds=100)
