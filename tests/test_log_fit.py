"""Fitted tables: what they are where the log is large or noise-free, and how far off on average."""

import numpy as np
import pytest

from benchmarks.log_tables import null_table, strong_table
from fallow import Instance, Log, gain, optimal, plan
from fallow.logs import fit, rest_matters, simulate_log, value
from fallow.logs.simulated import true_means
from fallow.logs.tables import TRUSTS, choose, fitted


def noise_free(means: list[list[float]], rounds: int = 400, users: int = 30) -> Log:
    """Return a log of even choice in which every play pays its mean."""
    table = np.array(means)
    arms = np.random.default_rng(0).integers(len(table), size=(users, rounds))
    log = Log(
        user=np.repeat(np.arange(users), rounds),
        time=np.tile(np.arange(rounds), users),
        arm=arms.ravel(),
        reward=np.zeros(users * rounds),
        random=True,
        from_start=True,
        max_delay=table.shape[1] - 1,
    )
    log.rewards = table[log.arms, log.delays - 1]
    return log


def test_without_noise_the_table_is_found() -> None:
    means = [[0.1, 0.4, 0.8], [0.5, 0.5, 0.5], [0.0, 0.0, 0.9]]
    found = fit(noise_free(means))
    np.testing.assert_allclose(found.means, means, atol=2e-3)
    np.testing.assert_allclose(found.cells.means, means)
    assert not any(found.falls)
    assert found.instance.names == ("0", "1", "2")


def test_recovery_says_what_the_row_says() -> None:
    first, flat, last = fit(noise_free([[0.2, 0.5, 0.8], [0.5] * 3, [0.0, 0.81, 0.9]])).recovery
    assert first.level.value == pytest.approx(0.8, abs=2e-3)
    assert first.drop.value == pytest.approx(0.75, abs=5e-3)
    assert (first.half_life.value, first.recovered.value) in {(2, 3), (3, 3)}  # 0.5 is the middle
    assert last.recovered.value in (2, 3)
    assert last.drop.value == pytest.approx(1, abs=5e-3)
    assert flat.drop.value == pytest.approx(0, abs=1e-2)


def test_payoffs_that_fall_are_seen_to_fall() -> None:
    rising = strong_table(0).means
    log = simulate_log(Instance(rising[:, ::-1]), users=100, rounds=100)
    found = fit(log)
    assert all(found.falls)
    assert (np.diff(found.means, axis=1) <= 1e-12).all()
    assert found.recovery[0].drop.value < 0


def test_each_arm_has_its_own_direction_where_that_is_clear() -> None:
    means = [[0.2, 0.5, 0.8], [0.3, 0.4, 0.7], [0.2, 0.6, 0.6], [0.8, 0.3, 0.3]]
    found = fit(simulate_log(Instance(means), users=200, rounds=50))
    assert found.falls == (False, False, False, True)
    assert found.recovery[3].drop.high < 0
    np.testing.assert_allclose(found.means, means, atol=0.06)
    flat = fit(simulate_log(null_table(3), users=100, rounds=50))
    assert len(set(flat.falls)) == 1  # noise is not clear


def test_few_plays_are_drawn_to_the_shape_that_all_arms_share() -> None:
    """The last arm was played three times; its row is its level times the others' shape."""
    counts, sums = np.full((4, 3), 1e6), np.tile([2e5, 4e5, 8e5], (4, 1))
    counts[3], sums[3] = [0, 0, 3], [0, 0, 3]
    row = fitted(counts, sums, trust=1e4, falls=np.zeros(4, bool))[3]
    np.testing.assert_allclose(row / row[-1], [0.25, 0.5, 1], rtol=1e-3)
    level = (3 + sums.sum() / counts.sum()) / (3 + 1)
    assert row[-1] == pytest.approx(min(level, 1), rel=1e-2)


def test_trust_in_the_shape_is_chosen_by_users_left_out() -> None:
    """Arms that share a shape are trusted to; arms whose shapes have nothing in common are not."""
    generator = np.random.default_rng(0)
    alike = np.linspace(0.3, 0.9, 6)[:, np.newaxis] * [0.3, 0.5, 0.7, 1.0]
    unlike = np.array([[0.1, 0.1, 0.1, 0.9], [0.9] * 4, [0.1, 0.9, 0.9, 0.9]] * 2)
    trusts = []
    for means in (alike, unlike):
        counts = np.full((50, 6, 4), 4.0)
        sums = generator.binomial(4, np.tile(means, (50, 1, 1))).astype(float)
        trusts.append(choose(counts, sums))
    assert trusts[0][0] > trusts[1][0]
    assert not trusts[0][1].any()
    assert trusts[1][0] in TRUSTS[:3]


def test_an_arm_that_was_never_played_has_the_average_row() -> None:
    rows = simulate_log(strong_table(1), users=30, rounds=50)
    log = Log(
        user=np.repeat(np.arange(30), 50),
        time=np.tile(np.arange(50), 30),
        arm=rows.arms,
        reward=rows.rewards,
        arms=[*range(10), "new"],
        max_delay=8,
    )
    found = fit(log)
    assert 0 < found.means[10, -1] < 1
    assert found.cells.rows[10].sum() == 0
    assert np.isnan(found.cells.means[10]).all()
    assert "new" in plan(found.instance).method or found.instance.names[10] == "new"


def test_fits_are_near_and_plans_on_them_near_the_optimum() -> None:
    """Ten logs of 10,000 plays: error .037 and share .98 on average, .002 and .004 by chance."""
    errors, shares = [], []
    for seed in range(10):
        instance = strong_table(seed)
        truth = true_means(instance)
        found = fit(simulate_log(instance, 100, 100, seed=100 + seed))
        errors.append(np.sqrt(((found.means - truth) ** 2).mean()))
        exact = Instance(truth)
        best = optimal(exact).gain if seed < 2 else plan(exact, max_states=0).upper_bound
        shares.append(gain(exact, plan(found.instance, max_states=0).cycle) / best)
    assert np.mean(errors) < 0.045
    assert np.mean(shares) > 0.95


def test_intervals_cover_the_truth_of_their_cells() -> None:
    """At 95 %, of 90 cells in each of 10 logs; cells of one log are not quite independent."""
    covered = []
    for seed in range(10):
        instance = strong_table(seed)
        found = fit(simulate_log(instance, 200, 100, "taste", seed=seed))
        near = np.abs(found.cells.means - true_means(instance, "taste")) < found.half_widths
        covered.append(near[found.cells.effective > 30].mean())
    assert 0.90 < np.mean(covered) < 0.98


def test_the_table_has_a_row_for_each_cell() -> None:
    found = fit(simulate_log(null_table(0), users=20, rounds=20))
    assert found.table.shape == (90, 7)
    assert found.table["rows"].sum() == 400
    assert found.table.columns == ["arm", "delay", "mean", "low", "high", "rows", "effective"]
    inside = found.table.filter(found.table["low"] > found.table["high"])
    assert inside.is_empty()


def test_a_fit_is_the_same_each_time() -> None:
    log = simulate_log(strong_table(3), users=40, rounds=30)
    once, twice = fit(log), fit(log)
    np.testing.assert_array_equal(once.means, twice.means)
    assert once.recovery == twice.recovery


def timed(slope: float) -> Log:
    """Return a log by time, a play an hour on average; rewards rise with the log of the rest."""
    generator = np.random.default_rng(0)
    users, plays = 100, 100
    arms = generator.integers(3, size=users * plays)
    log = Log(
        user=np.repeat(np.arange(users), plays),
        time=np.cumsum(generator.exponential(3600, (users, plays)), axis=1).ravel(),
        arm=arms,
        reward=np.zeros(arms.size),
        max_delay=24 * 3600,
        clock="time",
        from_start=True,
        random=True,
    )
    log.rewards = 0.2 + slope * np.log(log.spans[log.delays - 1] / log.spans[0])
    return log


def test_a_log_by_elapsed_time_is_planned_in_rounds() -> None:
    """A round of two hours reads the means off at two, four and more hours."""
    log = timed(0.1)
    found = fit(log, round_length=7200)
    assert found.instance.max_delay == int(log.spans[-1] // 7200)
    expected = 0.2 + 0.1 * np.log(7200 * 3 / log.spans[0])
    np.testing.assert_allclose(found.instance.means[:, 2], expected, atol=5e-3)
    assert fit(log).instance.max_delay == int(log.spans[-1] // log.pace)
    assert log.pace == pytest.approx(3600 * np.log(2), rel=0.05)  # the median of the exponential


def test_times_to_recover_are_read_off_between_delays() -> None:
    """Half of the drop is made up for in the middle between the first and the longest, in logs."""
    log = timed(0.1)
    middle = np.sqrt(log.spans[0] * log.spans[-1])
    for arm in fit(log).recovery:
        assert arm.half_life.value == pytest.approx(middle, rel=0.05)
        assert arm.recovered.value <= log.longest == 24 * 3600


def test_a_log_by_elapsed_time_has_verdict_and_value() -> None:
    """Without noise the slope is exact, and a cycle pays what its nearest delays pay."""
    log = timed(0.1)
    verdict = rest_matters(log)
    assert verdict.verdict == "rest helps"
    assert verdict.slope == pytest.approx(0.1)
    assert rest_matters(timed(-0.02)).verdict == "repeating helps"
    for rounds, cycle in ((2, [0, 1]), (3, [0, 1, 2])):
        nearest = np.abs(np.log(log.spans / (3600 * rounds))).argmin()
        expected = 0.2 + 0.1 * np.log(log.spans[nearest] / log.spans[0])
        assert value(log, cycle, round_length=3600).mean == pytest.approx(expected)


def test_few_plays_have_no_interval_and_plays_all_alike_a_wide_one() -> None:
    """Nine plays of one cell are too few; of ten that all paid 0, one of twelve might have paid."""
    for plays, error in ((9, np.inf), (10, np.sqrt(11 / 12 * 1 / 12 / 12))):
        log = Log(
            user=np.repeat(np.arange(plays), 2),
            time=np.tile([0, 1], plays),
            arm=np.zeros(2 * plays),
            reward=np.zeros(2 * plays),
            max_delay=1,
        )
        assert fit(log).cells.errors[0, 0] == pytest.approx(error)


def test_a_round_length_needs_a_log_by_time() -> None:
    with pytest.raises(ValueError, match=r"round_length must be at least .*, got 1e-09"):
        fit(timed(0.1), round_length=1e-9)
    with pytest.raises(ValueError, match=r"round_length must come with a log by elapsed time"):
        fit(simulate_log(null_table(0), users=20, rounds=20), round_length=3)
