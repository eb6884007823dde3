"""Whether rest matters: the estimate by its definition, and how often verdicts are wrong."""

from itertools import product

import numpy as np
import pytest

from benchmarks.log_tables import null_table, weak_table, without_propensities
from fallow import Log
from fallow.arrays import FloatArray
from fallow.kernels.plays import chance_of_recency, log_window_weights
from fallow.logs import rest_matters, simulate_log
from fallow.logs.rest import holm, slope_within
from fallow.logs.simulated import BEHAVIOURS


def two_stage_least_squares(log: Log) -> tuple[float, float]:
    """Return slope and standard error by the textbook: dummies, projection, clusters, matrices."""
    assert log.propensity is not None
    assert log.propensities is not None
    users = np.repeat(np.arange(log.users), np.diff(log.starts))
    recency, usual = [], []
    average, lags = log.propensities.mean(axis=0), log.max_delay
    for play, arm in enumerate(log.arms):
        before = log.propensities[log.starts[users[play]] : max(play - lags, 0), arm]
        usual.append((before.sum() + lags * average[arm]) / (before.size + lags))
        earlier = [
            (float(log.arms[play - lag] == arm) - log.propensities[play - lag, arm]) / lag
            for lag in range(1, log.max_delay + 1)
            if play - lag >= log.starts[users[play]]
        ]
        recency.append(sum(earlier))
    weights = usual / log.propensity
    dummies = np.eye(len(log.names))[log.arms]
    regressors = np.column_stack([np.log(log.spans[log.delays - 1]), dummies])
    instruments = np.column_stack([recency, dummies])
    bread = np.linalg.inv(instruments.T @ (weights[:, None] * regressors))
    coefficients = bread @ instruments.T @ (weights * log.rewards)
    scores = instruments * (weights * (log.rewards - regressors @ coefficients))[:, None]
    clusters = np.array([scores[users == user].sum(axis=0) for user in range(log.users)])
    covariance = bread @ clusters.T @ clusters @ bread.T * log.users / (log.users - 1)
    return float(coefficients[0]), float(np.sqrt(covariance[0, 0]))


def test_the_slope_is_that_of_two_stage_least_squares() -> None:
    log = simulate_log(weak_table(3), users=40, rounds=30, behaviour="all", seed=1)
    slope, error = two_stage_least_squares(log)
    verdict = rest_matters(log)
    assert verdict.slope == pytest.approx(slope, rel=1e-9)
    half_width = (verdict.interval[1] - verdict.interval[0]) / 2
    assert 1.96 * error < half_width < 2.3 * error  # Student's quantile, of 10 or more users


@pytest.mark.parametrize("behaviour", ["recommender", "momentum", "all"])
def test_verdicts_are_seldom_wrong_where_naive_ones_are(behaviour: str) -> None:
    """False alarms at rate .05; of 60, more than 10 would come up once in 2,000 times."""
    logs = [simulate_log(null_table(seed), 100, 40, behaviour, seed) for seed in range(60)]
    assert sum(rest_matters(log).verdict != "no effect found" for log in logs) <= 10
    bare = [rest_matters(without_propensities(log)).verdict for log in logs]
    assert bare.count("cannot say") >= 56
    assert bare.count("rest helps") == len(bare) - bare.count("cannot say")


def test_the_simulator_misleads_naive_methods() -> None:
    """A user's plays of an arm compared among themselves: wrong in all 20 logs, not in one."""
    for seed in range(20):
        log = simulate_log(null_table(seed), 100, 100, "recommender", seed)
        assert slope_within(log).low > 0


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_a_clear_effect_is_seen_and_its_length_not_overstated(behaviour: str) -> None:
    """Arms are rested after two rounds; a longer effect would be found once in 40 logs."""
    table = null_table(5).means.copy()
    table[:, :2] *= 0.6
    log = simulate_log(type(null_table(5))(table), 200, 50, behaviour, seed=2)
    verdict = rest_matters(log)
    assert verdict.verdict == "rest helps"
    assert verdict.lasts in (1.0, 2.0)
    assert all(arm.verdict != "repeating helps" for arm in verdict.arms)
    assert any(arm.verdict == "rest helps" for arm in verdict.arms)


def test_repeating_helps_is_said_with_propensities_alone() -> None:
    table = null_table(5).means.copy()
    table[:, 0] = np.minimum(table[:, 0] + 0.2, 1)
    log = simulate_log(type(null_table(5))(table), 100, 100, seed=1)
    verdict = rest_matters(log)
    assert (verdict.verdict, verdict.lasts) == ("repeating helps", 1.0)
    assert verdict.interval[1] < 0
    bare = rest_matters(without_propensities(log))
    assert bare.verdict == "cannot say"
    assert "propensities" in bare.missing


def test_no_effect_comes_with_the_smallest_that_would_have_been_seen() -> None:
    """An effect of that size is then seen in four of five logs: of 60, in 36 to 58.

    Outside of these in less than 1 of 1,000 cases.
    """
    smallest = rest_matters(simulate_log(null_table(1), 100, 50, seed=0)).smallest
    levels = null_table(1).means
    fall = smallest * (np.log(levels.shape[1]) - np.log(np.arange(1, levels.shape[1] + 1)))
    table = type(null_table(1))(levels - fall)
    verdicts = [rest_matters(simulate_log(table, 100, 50, seed=seed)) for seed in range(1, 61)]
    assert 36 <= sum(verdict.verdict == "rest helps" for verdict in verdicts) <= 58


def test_what_is_missing_is_said() -> None:
    log = simulate_log(null_table(0), users=9, rounds=20)
    assert rest_matters(log).verdict == "cannot say"
    assert "at least 10 users; the log has 9" in rest_matters(log).missing
    certain = Log(
        user=np.repeat(np.arange(12), 3),
        time=np.tile([1, 2, 3], 12),
        arm=np.tile([0, 1, 0], 12),
        reward=np.tile([0, 1, 1], 12),
        propensity=np.ones(36),
        from_start=True,
    )
    assert "propensity 1" in rest_matters(certain).missing


def changing(seed: int, rounds: int, change: float) -> Log:
    """Return a log of even choice whose rewards change over a user's rounds, not with rest."""
    generator = np.random.default_rng(seed)
    users = 200
    time = np.tile(np.arange(rounds), users)
    return Log(
        user=np.repeat(np.arange(users), rounds),
        time=time,
        arm=generator.integers(10, size=users * rounds),
        reward=generator.random(users * rounds) < 0.4 + change * time / rounds,
        propensities=np.full((users * rounds, 10), 0.1),
        max_delay=8,
    )


@pytest.mark.parametrize("change", [0.3, -0.3])
def test_what_changes_with_time_is_no_effect_of_rest(change: float) -> None:
    """The log begins in the middle; more than 9 false alarms of 60 come up once in 1,000 times.

    Early plays whose delay is known have short ones, so they must not be compared with later ones.
    """
    logs = [changing(seed, 30, change) for seed in range(60)]
    assert sum(rest_matters(log).verdict != "no effect found" for log in logs) <= 9
    bare = [rest_matters(without_propensities(log)).verdict for log in logs]
    assert bare.count("rest helps") <= 6


def test_delays_that_are_all_longer_are_said_to_be() -> None:
    log = changing(0, 30, 0.0)
    late = Log(
        user=np.repeat(np.arange(200), 30),
        time=np.tile(1000.0 * np.arange(30), 200),
        arm=log.arms,
        reward=log.rewards,
        random=True,
        clock="time",
        max_delay=24,
    )
    missing = "more plays sooner than max_delay, 24 units of time; 100% come later"
    assert rest_matters(late).missing == missing


def test_rewards_that_are_all_alike_say_nothing() -> None:
    log = simulate_log(null_table(0), users=20, rounds=30)
    log.rewards = np.full(600, 0.3)
    assert rest_matters(log).missing == "rewards that differ; all are 0.3"
    log.rewards = np.full(600, np.nan)
    assert "users with more plays, or a shorter max_delay" in rest_matters(log).missing


def test_holm_is_bonferroni_for_the_first_and_keeps_the_order() -> None:
    assert holm([0.02, 0.001, 0.3]) == pytest.approx([0.04, 0.003, 0.3])
    assert holm([0.5, 0.4]) == [0.8, 0.8]


def test_with_fixed_propensities_those_of_the_chosen_arms_are_enough() -> None:
    """The instrument and the weights from the chosen arms' propensities are then the same."""
    chances = np.array([0.2, 0.3, 0.5])
    arms = np.random.default_rng(0).choice(3, size=90, p=chances)
    log = Log(
        user=np.repeat(np.arange(3), 30),
        time=np.tile(np.arange(30), 3),
        arm=arms,
        reward=np.ones(90),
        propensities=np.tile(chances, (90, 1)),
        max_delay=4,
    )
    log.shares = chances
    for every, chosen in (
        (recency(log, log.propensities), recency(log, np.empty((0, 0)))),
        (weights_of(log, log.propensities), weights_of(log, np.empty((0, 0)))),
    ):
        np.testing.assert_allclose(every, chosen, rtol=1e-9, atol=1e-12)


def recency(log: Log, propensities: FloatArray | None) -> FloatArray:
    """Call the kernel for the instrument."""
    assert log.propensity is not None
    assert propensities is not None
    plays = log.starts, log.arms
    return chance_of_recency(*plays, log.propensity, propensities, log.shares, log.max_delay)


def weights_of(log: Log, propensities: FloatArray | None) -> FloatArray:
    """Call the kernel for the weights."""
    assert log.propensity is not None
    assert propensities is not None
    logarithms = log_window_weights(
        log.starts,
        log.arms,
        log.delays,
        log.gaps,
        log.windows,
        log.max_delay + 1,
        log.propensity,
        propensities,
        log.shares,
    )
    return np.asarray(np.exp(logarithms))


@pytest.mark.parametrize("chosen_only", [False, True])
def test_weights_undo_the_choice_exactly(chosen_only: bool) -> None:
    """All that may happen in four rounds of two arms, for users of two tastes, by its chance.

    Who likes an arm, and whom it paid, is shown it more often; yet the weighted reward of each cell
    has the average of the two tastes as its expectation, for each round that can have it.
    """
    means = {0: np.array([[0.2, 0.5, 0.6], [0.4, 0.4, 0.7]])}
    means[1] = means[0] + [[0.3], [-0.1]]
    rounds, rested = 4, 3
    totals, rewards = np.zeros((2, rested)), np.zeros((2, rested))
    for taste, arms in product((0, 1), product((0, 1), repeat=rounds)):
        for paid in product((0, 1), repeat=rounds):
            chance, chances = 0.5, []
            last: dict[int, int] = {}
            for now, (arm, reward) in enumerate(zip(arms, paid, strict=True)):
                likes = 0.2 + 0.3 * taste + 0.2 * (now > 0 and paid[now - 1])
                chances.append([likes, 1 - likes])
                delay = min(now - last[arm], rested) if arm in last else rested
                mean = means[taste][arm, delay - 1]
                chance *= chances[-1][arm] * (mean if reward else 1 - mean)
                last[arm] = now
            log = Log(
                user=[0] * rounds,
                time=range(rounds),
                arm=arms,
                reward=paid,
                propensities=chances,
                arms=[0, 1],
                max_delay=rested - 1,
                from_start=True,
            )
            log.shares = np.array([0.5, 0.5])  # of all that happens; any will do
            weights = weights_of(log, np.empty((0, 0)) if chosen_only else np.array(chances))
            cells = log.arms, log.delays - 1
            np.add.at(totals, cells, chance * weights)
            np.add.at(rewards, cells, chance * weights * log.rewards)
    np.testing.assert_allclose(totals, [[3, 2, 4], [3, 2, 4]])
    np.testing.assert_allclose(rewards / totals, (means[0] + means[1]) / 2)
