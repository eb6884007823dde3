"""The catalog: what the paper states of each instance."""

from inspect import signature
from typing import Any

import numpy as np
import pytest

from fallow import catalog, optimal
from fallow.arrays import FloatArray, IntArray
from fallow.planners import ranking_gains


def test_every_entry_has_its_arms_and_delays() -> None:
    sizes = {
        "figure2": (7, 6),
        "figure3": (2, 2),
        "greedy_trap": (2, 1),
        "non_monotone": (3, 2),
        "non_monotone_constant": (3, 2),
        "theorem2_counterexample": (3, 2),
        "theorem2_mild_counterexample": (3, 5),
        "maintenance": (4, 3),
        "random_geometric": (7, 6),
        "random_power": (7, 6),
        "random_table": (7, 6),
        "random_blocking": (7, 6),
        "falling": (7, 6),
        "mixed": (7, 6),
        "drifting": (7, 6),
        "blocking_small": (20, 10),
        "blocking_large": (20, 20),
        "blocking_fixed": (20, 10),
        "recovering": (10, 29),
        "published_blocking": (20, 9),
        "published_recovering": (10, 30),
        "trick_og": (2, 1),
        "trick_csbog": (5, 9),
    }
    found = {name: catalog.build(name) for name in catalog.ENTRIES}
    assert {name: (entry.arms, entry.max_delay) for name, entry in found.items()} == sizes


def test_figure2_draws_delays_uniformly_from_one_to_six() -> None:
    # Each of 6 values has mean 700/6 and sd 9.9 in 700 draws: 60 away is a chance below 1e-8.
    delays = np.concatenate([_figure2_delays(seed) for seed in range(100)])
    counts = np.bincount(delays, minlength=7)
    assert counts[0] == 0
    assert len(counts) == 7
    assert (abs(counts[1:] - 700 / 6) < 60).all()


def _figure2_delays(seed: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    # The arm with baseline 0 shows no delay in its means, so the draw is repeated here.
    instance = catalog.figure2(seed)
    drawn = np.random.default_rng(seed).integers(1, 7, 7)
    assert instance.delays[:-1].tolist() == drawn[:-1].tolist()
    return drawn


def test_figure2_is_the_papers() -> None:
    instance = catalog.figure2(seed=4)
    assert sorted(instance.baselines * 15) == pytest.approx([0, 5, 10, 12, 13, 14, 15])
    assert instance.means[0, 0] == pytest.approx(1 - 0.999)


def test_figure2_gap_is_a_tenth_on_average() -> None:
    """Section 8 says 0.1 on average; over all 6^7 draws it is 0.08495, which rounds to that."""
    baselines = np.array([15, 14, 13, 12, 10, 5, 0])[:, np.newaxis] / 15

    def gains_of(delays: IntArray) -> FloatArray:
        """Return g(1), ..., g(7) by definition, one column for each draw of the delays."""
        tired = [(m <= delays[:m]) * 0.999**m for m in range(1, 8)]
        return np.array(
            [((1 - lost) * baselines[: len(lost)]).mean(axis=0) for lost in tired], np.float64
        )

    drawn = [catalog.figure2(seed) for seed in range(20)]
    delays = np.array([draw.delays for draw in drawn]).T
    expected = np.array([ranking_gains(draw) for draw in drawn]).T
    assert gains_of(delays) == pytest.approx(expected)
    every = np.indices((6,) * 7).reshape(7, -1) + 1
    second, best = np.sort(gains_of(every), axis=0)[-2:]
    assert np.mean(best - second) == pytest.approx(0.08495, abs=5e-6)


def test_figure2_ranking_policies_leave_a_sixth_of_the_optimum() -> None:
    draws = [catalog.figure2(seed) for seed in range(40)]
    shares = [ranking_gains(draw).max() / optimal(draw).gain for draw in draws]
    assert min(shares) < 0.75
    assert 0.75 < np.mean(shares) < 0.88
    assert max(shares) <= 1 + 1e-12


def test_figure3_policies_are_equal() -> None:
    assert ranking_gains(catalog.figure3()) == pytest.approx([0.7, 0.7])
    first, second = ranking_gains(catalog.figure3(epsilon=1 / 30))
    assert second > first


@pytest.mark.parametrize(
    ("name", "low", "high"), [("small", 1, 10), ("large", 11, 20), ("fixed", 10, 10)]
)
def test_blocking_families_have_their_gaps_and_delays(name: str, low: int, high: int) -> None:
    for seed in range(20):
        instance = catalog.build(f"blocking_{name}", {"seed": seed})
        gaps = -np.diff(instance.baselines)
        assert instance.arms == 20
        assert ((gaps >= 0.01) & (gaps <= 0.05)).all()
        assert low <= instance.delays.min() <= instance.delays.max() <= high
        assert set(np.unique(instance.means[:, 0])) == {0.0}


@pytest.mark.parametrize(("shortest", "longest"), [(1, 10), (11, 20), (10, 10)])
def test_published_blocking_arms_pay_every_so_many_rounds(shortest: int, longest: int) -> None:
    """An arm of delay D pays at delay D, where ours pays from D + 1 on."""
    waits = []
    for seed in range(40):
        instance = catalog.published_blocking(seed, shortest, longest)
        gaps = -np.diff(instance.baselines)
        assert ((gaps >= 0.01) & (gaps <= 0.05)).all()
        assert instance.means.shape == (20, longest)
        pays = instance.means > 0
        assert np.array_equal(pays, np.sort(pays, axis=1))
        assert np.array_equal(instance.means, pays * instance.baselines[:, np.newaxis])
        waits += [int(row.argmax()) + 1 for row in pays]
    # One of ten delays is missing from 800 draws with a chance below 1e-35.
    assert set(waits) == set(range(shortest, longest + 1))


def test_published_recovering_arms_start_at_zero() -> None:
    for seed in range(5):
        published, ours = catalog.published_recovering(seed), catalog.recovering(seed)
        assert np.array_equal(published.means[:, 1:], ours.means)
        assert (published.means[:, 0] < ours.means[:, 0]).all()


def test_low_rates_are_the_same_draws_on_a_smaller_scale() -> None:
    assert np.allclose(
        catalog.random_geometric(seed=4, highest=0.05).means,
        0.05 * catalog.random_geometric(seed=4).means,
    )
    blocking = catalog.random_blocking(arms=500, seed=4, highest=0.05)
    assert_spread_over(blocking.baselines.tolist(), 0, 0.05)
    assert set(np.unique(blocking.means[:, 0])) == {0.0}


def test_mixed_arms_fall_in_turn() -> None:
    rising, mixed = catalog.random_geometric(seed=3).means, catalog.mixed(seed=3).means
    assert np.array_equal(mixed[::2], rising[::2])
    assert np.array_equal(mixed[1::2], catalog.falling(seed=3).means[1::2])


def test_drifting_baselines_pass_through_all_draws() -> None:
    ends = catalog.drifting(0, seed=2), catalog.drifting(1, seed=2)
    stops = [catalog.drifting(share, seed=2, draws=5) for share in (0, 0.25, 0.5, 0.75, 1)]
    assert stops[0].baselines.tolist() == ends[0].baselines.tolist()
    assert stops[1].baselines.tolist() == ends[1].baselines.tolist()
    assert len({stop.baselines.tobytes() for stop in stops}) == 5
    between = catalog.drifting(0.625, seed=2, draws=5).baselines
    assert between == pytest.approx((stops[2].baselines + stops[3].baselines) / 2)
    delays = {tuple(stop.delays.tolist()) for stop in stops}
    assert len(delays) == 1


def assert_spread_over(values: list[float], low: float, high: float) -> None:
    """400 uniform draws all miss a given twentieth of the range with a chance of 1.2e-9."""
    assert len(values) >= 400
    assert low - 1e-6 <= min(values) < low + (high - low) / 20
    assert high - (high - low) / 20 < max(values) <= high + 1e-6


def test_random_decays_have_parameters_from_their_ranges() -> None:
    rates, exponents = [], []
    for seed in range(400):
        geometric = catalog.random_geometric(arms=20, seed=seed)
        rates.append(1 - geometric.means[0, 0] / geometric.baselines[0])
        power = catalog.random_power(arms=20, seed=seed)
        arm = int(power.delays.argmax())  # one that still lacks f(2) = 2^-exponent at delay 2
        exponents.append(-np.log2(1 - power.means[arm, 1] / power.baselines[arm]))
    assert_spread_over(rates, 0.5, 1)
    assert_spread_over(exponents, 0.1, 2)


def test_recovering_arms_rise_along_a_logistic_curve() -> None:
    """1 / mean = (1 + exp(-b (z - c))) / a, so its differences shrink by exp(-b) each time."""
    means = np.concatenate([catalog.recovering(seed).means for seed in range(40)])
    assert (np.diff(means, axis=1) > 0).all()
    differences = np.diff(1 / means, axis=1)
    ratios = differences[:, 1:10] / differences[:, :9]
    np.testing.assert_allclose(ratios, ratios[:, :1].repeat(9, axis=1), rtol=1e-6)
    ratio = ratios[:, 0]
    excess = differences[:, 0] / (ratio - 1)  # exp(-b (1 - c)) / a
    heights = 1 / (1 / means[:, -1] - excess * ratio**29)
    slopes = -np.log(ratio)
    assert_spread_over(heights.tolist(), 0.1, 1)
    assert_spread_over(slopes.tolist(), 0.1, 1)
    assert_spread_over((1 + np.log(excess * heights) / slopes).tolist(), 0.1, 30)


def test_seeds_are_reproducible_and_differ() -> None:
    random = [each for each in catalog.ENTRIES.values() if "seed" in signature(each).parameters]
    assert len(random) == 14
    for build in random:
        assert build(seed=1) == build(seed=1)
        assert build(seed=1) != build(seed=2)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("figur2", {}, "name must be one of .* got 'figur2'; did you mean 'figure2'?"),
        ("figure2", {"sed": 1}, "a parameter of figure2 must be one of seed, got 'sed'"),
        ("non_monotone", {"seed": 1}, "non_monotone must have no parameters, got 'seed'"),
        ("figure2", {"seed": -1}, "seed must be a whole number >= 0, got -1"),
        ("figure2", {"seed": 2**128}, r"seed must be at most about 3e\+38, got about 3e\+38"),
        ("random_table", {"arms": 10**9}, "arms must be at most 1,048,576, got 1,000,000,000"),
        ("random_power", {"max_delay": 10**400}, "max_delay must be at most 67,108,864, got about"),
        ("random_table", {"arms": 0}, "arms must be a whole number >= 1, got 0"),
        ("random_power", {"max_delay": 1.5}, "max_delay must be a whole number >= 1, got 1.5"),
        ("greedy_trap", {"epsilon": 0.7}, r"baselines must lie in \[0, 1\]"),
        ("random_blocking", {"highest": 1.5}, r"highest must be a number in \[0, 1\], got 1.5"),
        ("drifting", {"draws": 1}, "draws must be a whole number >= 2, got 1"),
        ("published_blocking", {"shortest": 0}, "shortest must be a whole number >= 1, got 0"),
        ("published_blocking", {"longest": 10**9}, "longest must be at most 67,108,864"),
        (
            "published_blocking",
            {"shortest": 5, "longest": 4},
            "longest must be a whole number >= 5, got 4",
        ),
        ("figure3", {"epsilon": "x"}, "epsilon must be a finite number, got 'x'"),
        ("greedy_trap", {"epsilon": "x"}, "epsilon must be a finite number, got 'x'"),
        ("maintenance", {"intervals": (1, 2)}, "sum of 1 / interval <= 1, got 3/2"),
    ],
)
def test_bad_calls_are_named(name: str, parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        catalog.build(name, parameters)


@pytest.mark.parametrize("wrong", [None, 5, "seed", [], b"x", float("nan")])
def test_what_is_no_name_or_no_parameters_is_named(wrong: Any) -> None:
    with pytest.raises(ValueError, match="name must be one of figure2"):
        catalog.build(wrong)
    for build in (catalog.build, catalog.source):
        with pytest.raises(ValueError, match=r"parameters.* must be values by name, got"):
            build("figure2", wrong)


def test_trick_csbog_pays_at_its_published_delays() -> None:
    """No policy of full periods is better: .95 every third round, .96 every ninth, .15 between."""
    instance = catalog.trick_csbog()
    assert instance.means[1].nonzero()[0].tolist() == [2]
    assert (np.diff(instance.means[2]) < 0).any()
    assert optimal(instance).gain == pytest.approx((3 * 0.95 + 0.96 + 5 * 0.15) / 9)
