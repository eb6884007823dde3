"""Reward laws: distributions, sums in pieces, laws of one's own in Python, what is refused."""

import math
import warnings
from statistics import NormalDist
from threading import Lock
from typing import Any

import numpy as np
import pytest
from helpers import Scripted

from fallow import Block, Instance, LowSwitch, RankingUCB, catalog, replicate, rewards, simulate
from fallow.arrays import FloatArray
from fallow.learners import UCB1
from fallow.rewards import Rewards, draws
from fallow.studies import Study
from fallow.studies.batch import pack

UNCERTAIN = Instance([[0.2, 0.45, 0.7, 0.9], [0.1, 0.3, 0.6, 0.8]])
"""No mean is 0 or 1."""
GENERATOR = np.random.default_rng(0)


def coins(means: FloatArray, generator: np.random.Generator) -> FloatArray:
    return (generator.random(len(means)) < means).astype(float)


def around(means: FloatArray, generator: np.random.Generator) -> FloatArray:
    width = np.minimum(means, 1 - means)
    return means + width * generator.uniform(-1, 1, len(means))


def pi_low(instance: Instance, _: int) -> LowSwitch:
    """Bold, so that a short run depends on its rewards."""
    return LowSwitch(instance.order, 300, confidence_scale=0.05)


def pi_ucb(instance: Instance, _: int) -> RankingUCB:
    return RankingUCB(instance.order)


def cut_variance(reach: float) -> float:
    """Return the variance of a standard normal number that is cut off at -reach and reach."""
    normal = NormalDist()
    within = normal.cdf(reach) - normal.cdf(-reach)
    return within - 2 * reach * normal.pdf(reach) + (1 - within) * reach**2


@pytest.mark.parametrize("mean", [0.05, 0.5, 0.9])
@pytest.mark.parametrize(
    ("law", "concentration", "variance"),
    [
        ("bernoulli", 10, lambda mean: mean * (1 - mean)),
        ("none", 10, lambda _: 0.0),
        ("beta", 2, lambda mean: mean * (1 - mean) / 3),
        ("beta", 50, lambda mean: mean * (1 - mean) / 51),
        ("gaussian", 10, lambda mean: cut_variance(min(mean, 1 - mean) / 0.1) / 100),
        (coins, 10, lambda mean: mean * (1 - mean)),
        (around, 10, lambda mean: min(mean, 1 - mean) ** 2 / 3),
    ],
)
def test_rewards_have_their_mean_and_spread(
    law: Rewards, concentration: float, variance: Any, mean: float
) -> None:
    """Means within 6 standard errors: each fails by chance once in 1e8; spreads within 20 %."""
    one, many = draws(law, np.random.default_rng(1), concentration)
    for count, drawn in (
        (1, [one(mean) for _ in range(4000)]),
        (40, [many(mean, 40) for _ in range(4000)]),
    ):
        spread = count * variance(mean)
        assert abs(np.mean(drawn) - count * mean) < 6 * math.sqrt(spread / 4000) + 1e-9
        assert np.var(drawn) == pytest.approx(spread, rel=0.2, abs=1e-9)


@pytest.mark.parametrize("law", ["beta", "gaussian", coins, around])
def test_a_sum_in_pieces_is_that_of_single_draws(
    law: Rewards, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly, as both take the same random numbers."""
    monkeypatch.setattr(rewards, "PIECE", 7)
    for seed, count in enumerate([1, 6, 7, 8, 14, 40]):
        many = draws(law, np.random.default_rng(seed)).many
        one = draws(law, np.random.default_rng(seed)).one
        assert many(0.3, count) == pytest.approx(sum(one(0.3) for _ in range(count)), rel=1e-12)


def test_gaussian_rewards_stay_within_their_range() -> None:
    one, _ = draws("gaussian", np.random.default_rng(1))
    for mean in np.linspace(0, 1, 41).tolist():
        drawn = [one(mean) for _ in range(50)]
        assert 0 <= min(drawn) <= max(drawn) <= 1
        assert one(mean) != one(mean) or mean in (0, 1)


def test_a_law_is_given_arrays_of_means_in_pieces() -> None:
    seen: list[FloatArray] = []

    def watch(means: FloatArray, _: np.random.Generator) -> FloatArray:
        seen.append(means.copy())
        return means

    count = 2 * 2**16 + 5
    assert draws(watch, np.random.default_rng(0)).many(0.25, count) == count / 4
    assert [len(means) for means in seen] == [2**16, 2**16, 5]
    assert all(means.dtype == np.float64 and set(means) == {0.25} for means in seen)


def test_certain_rewards_need_no_law() -> None:
    one, many = draws(lambda *_: pytest.fail("was asked"), np.random.default_rng(0))
    assert [one(0.0), one(1.0), many(0.0, 10**12), many(1.0, 10**12)] == [0, 1, 0, 10**12]


def test_bernoulli_takes_the_random_numbers_that_it_always_took() -> None:
    ours, theirs = (np.random.default_rng(5) for _ in range(2))
    one, many = draws("bernoulli", ours)
    for mean in np.linspace(0, 1, 101).tolist():
        assert one(mean) == float(theirs.random() < mean)
        assert many(mean, 1) == float(theirs.random() < mean)
        assert many(mean, 30) == float(theirs.binomial(30, mean))


@pytest.mark.parametrize(
    ("law", "earned"),
    [
        ("bernoulli", [1239.573905479447, 873.6105551938875]),
        ("beta", [1202.2428218392497, 892.0525260215327]),
    ],
)
def test_runs_are_those_of_before_laws_could_be_given(law: Rewards, earned: list[float]) -> None:
    """Numbers written down from the code before."""
    instance = catalog.figure2(3)
    learners = LowSwitch(instance.order, 2000), UCB1(instance.arms)
    runs = [simulate(instance, learner, 2000, seed=9, rewards=law) for learner in learners]
    assert [float(run.expected_reward(2000)) for run in runs] == pytest.approx(earned, rel=1e-13)


def test_compiled_loops_and_laws_of_ones_own_play_the_same_game() -> None:
    """Coins take the random numbers of Bernoulli rewards, so the runs are the same."""
    at = np.arange(2001)
    for learner in (UCB1, lambda arms: RankingUCB(range(arms))):
        own, compiled = (
            simulate(UNCERTAIN, learner(2), 2000, seed=3, rewards=law)
            for law in (coins, "bernoulli")
        )
        assert (own.expected_reward(at) == compiled.expected_reward(at)).all()
        assert (own.switches(at) == compiled.switches(at)).all()


def test_coins_of_ones_own_give_the_regret_of_bernoulli_rewards() -> None:
    """Means of 400 independent runs each, 6 standard errors apart at most: a chance below 1e-8.

    Coins that are half as likely to pay are told apart.
    """
    instance = catalog.figure2(1)

    def standard_error(values: FloatArray) -> float:
        return float(values.std(ddof=1)) / math.sqrt(len(values))

    laws: list[Rewards] = ["bernoulli", coins, lambda means, source: coins(means / 2, source)]
    regrets = [
        replicate(instance, pi_low, 300, 400, seed, workers=1, rewards=law).regret("learner")[:, -1]
        for seed, law in enumerate(laws)
    ]
    means = [float(each.mean()) for each in regrets]
    errors = [standard_error(each) for each in regrets]
    own, biased = (
        abs(means[0] - means[other]) / math.hypot(errors[0], errors[other]) for other in (1, 2)
    )
    assert own < 6 < biased


WRONG: list[tuple[Any, str]] = [
    (None, "rewards drawn by wrong must be a list of numbers, at least one, got None"),
    (0.5, "rewards drawn by wrong must be a list of numbers, at least one, got 0.5"),
    (["a"], r"rewards drawn by wrong must be a list of numbers, at least one, got \['a'\]"),
    ([0.5, 0.5], "rewards drawn by wrong must be one for each mean, got 2 for 1 means"),
    (np.ma.masked_array([0.5], [True]), "rewards drawn by wrong must be a list of numbers, at"),
    ([1.5], r"rewards drawn by wrong must lie in \[0, 1\], got 1.5 for a mean of 0.9"),
    ([-0.1], r"rewards drawn by wrong must lie in \[0, 1\], got -0.1 for a mean of 0.9"),
    ([math.nan], r"rewards drawn by wrong must lie in \[0, 1\], got nan for a mean of 0.9"),
]


@pytest.mark.parametrize("concentration", [1e-9, 1e9])
@pytest.mark.parametrize("mean", [5e-324, 1e-310, 0.5, 1 - 2**-53])
def test_beta_rewards_are_drawn_up_to_the_ends_of_their_parameters(
    mean: float, concentration: float
) -> None:
    total = draws("beta", np.random.default_rng(1), concentration).many(mean, 10**4)
    spread = math.sqrt(mean * (1 - mean) / (concentration + 1) / 10**4)
    assert abs(total / 10**4 - mean) <= 6 * spread + 1e-15  # by chance once in 1e8


@pytest.mark.parametrize(("drawn", "message"), WRONG)
def test_wrong_laws_are_refused(drawn: Any, message: str) -> None:
    def wrong(*_: object) -> Any:
        return drawn

    with pytest.raises(ValueError, match=message):
        simulate(UNCERTAIN, UCB1(2), 10, seed=0, rewards=wrong)


def test_a_comparison_with_uniform_numbers_is_a_law() -> None:
    """Its rewards are true and false, the most natural way to write Bernoulli's law."""
    many = draws(lambda means, generator: generator.random(len(means)) < means, GENERATOR).many
    assert 0.45 < many(0.5, 10**5) / 10**5 < 0.55
    assert many(1.0, 7) == 7


def test_many_runs_do_not_warn_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewards, "SLOW_DRAWS", 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        replicate(UNCERTAIN, lambda *_: LowSwitch([0, 1], 300), 300, 2, 0, 1, rewards="beta")


def test_a_block_that_costs_all_its_pulls_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewards, "SLOW_DRAWS", 50)
    blocks = [Block((0, 1), 51), Block((0, 1), 52), Block((1,), 60)]
    with pytest.warns(UserWarning, match="rewards 'beta' are drawn one by one") as caught:
        simulate(UNCERTAIN, Scripted(blocks), 300, seed=0, rewards="beta")
    assert len(caught) == 1
    assert "a block of 52 plays costs all its pulls; with 'bernoulli' it would cost two plays" in (
        str(caught[0].message)
    )
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="rewards 'coins' are drawn one by one"):
        simulate(UNCERTAIN, Scripted(blocks), 300, seed=0, rewards=coins)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(UNCERTAIN, Scripted(blocks[:1]), 102, seed=0, rewards="beta")
        simulate(UNCERTAIN, Scripted(blocks), 300, seed=0, rewards="bernoulli")
        simulate(UNCERTAIN, Scripted(blocks), 300, seed=0, rewards="none")
        simulate(Instance([[0.0], [1.0]]), Scripted(blocks), 300, seed=0, rewards="beta")


@pytest.mark.parametrize(("law", "name"), [("beta", "beta"), (coins, "coins")])
def test_more_than_can_be_drawn_one_by_one_is_refused(law: Rewards, name: str) -> None:
    message = f"plays must be at most 1,000,000,000 with rewards '{name}', .* got 1,000,000,002"
    with pytest.raises(ValueError, match=message):
        simulate(UNCERTAIN, Scripted([Block((0,), 10**9 + 2)]), 10**12, seed=0, rewards=law)


def test_the_number_of_workers_changes_nothing() -> None:
    one, two = (
        replicate(
            catalog.figure2,
            {"low": pi_low, "ucb": pi_ucb},
            300,
            runs=12,
            seed=3,
            workers=workers,
            rewards=lambda means, generator: generator.binomial(1, means),
        )
        for workers in (1, 2)
    )
    assert one.rewards.tobytes() == two.rewards.tobytes()


def test_a_study_with_a_law_of_ones_own_is_not_compiled() -> None:
    assert Study(UNCERTAIN, {"ucb": pi_ucb}, 10, seed=0).is_compiled
    assert not Study(UNCERTAIN, {"ucb": pi_ucb}, 10, seed=0, rewards=coins).is_compiled


def test_a_law_that_cannot_be_sent_is_named() -> None:
    lock = Lock()
    study = Study(UNCERTAIN, {"ucb": pi_ucb}, 10, 0, rewards=lambda means, _: means + lock.locked())
    with pytest.raises(ValueError, match="rewards must be something that can be sent"):
        pack(study)
