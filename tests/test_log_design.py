"""Simulated logs are what they claim to be, and experiments designed on them have their power."""

import json

import numpy as np
import pytest
from helpers import run_command, runner

from benchmarks.log_tables import strong_table
from fallow import Instance
from fallow.cli import app
from fallow.logs import design, rest_matters, simulate_log
from fallow.logs.design import _instance
from fallow.logs.simulated import BEHAVIOURS, HIGHEST, LOWEST, true_means


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_arms_come_up_with_their_propensities(behaviour: str) -> None:
    """Of 12,000 plays each arm's count is within 5 deviations: wrong once in 10^5 times."""
    log = simulate_log(strong_table(0), users=200, rounds=60, behaviour=behaviour)
    assert log.propensities is not None
    np.testing.assert_allclose(log.propensities.sum(axis=1), 1)
    assert log.propensities.min() >= 0.1 / 10 - 1e-12
    expected = log.propensities.sum(axis=0)
    spread = np.sqrt((log.propensities * (1 - log.propensities)).sum(axis=0))
    assert (np.abs(np.bincount(log.arms) - expected) < 5 * spread).all()


@pytest.mark.parametrize("behaviour", ["uniform", "momentum"])
def test_the_truth_is_what_users_get_on_average(behaviour: str) -> None:
    """Means near 0 and 1 are cut off, by moods more; 2,000 users tell that apart from the table."""
    instance = Instance([[0.05, 0.5, 0.97]] * 2)
    truth = true_means(instance, behaviour)
    shift = np.random.default_rng(1).normal(
        0, np.sqrt(0.0125 + 0.01 * (behaviour != "uniform")), 10**6
    )
    for place, mean in enumerate(instance.means[0]):
        assert truth[0, place] == pytest.approx(
            np.clip(mean + shift, LOWEST, HIGHEST).mean(), abs=1e-3
        )
    if behaviour == "uniform":
        log = simulate_log(instance, users=2000, rounds=50, seed=3)
        for delay in (1, 2, 3):
            mean = log.rewards[log.delays == delay].mean()
            assert mean == pytest.approx(truth[0, delay - 1], abs=0.02)  # 5 deviations


def test_a_greedy_product_takes_the_best_but_for_its_share_of_chance() -> None:
    log = simulate_log(strong_table(0), 30, 30, "taste", explore=0.2, greedy=True)
    assert log.propensities is not None
    assert set(np.unique(log.propensities.round(9))) == {0.02, 0.82}


def test_logs_are_the_same_for_the_same_seed() -> None:
    one, same, other = (simulate_log(strong_table(0), 10, 20, "all", seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.rewards, same.rewards)
    assert (one.arms != other.arms).any()
    assert (one.delays[one.starts[:-1]] == strong_table(0).max_delay + 1).all()  # all start rested


def test_the_share_that_is_chosen_has_the_power_that_is_asked_for() -> None:
    """On 60 other logs: of 80 % at least, fewer than 37 are seen once in 2,000 times."""
    found = design(arms=5, max_delay=4, effect=0.2, users=60, rounds=60, runs=60)
    assert found.share is not None
    assert found.propensity == found.share / 5
    assert [each.share for each in found.powers][-2] == found.share
    assert found.powers[-1].power.value < 0.8 <= found.powers[-2].power.value
    seen = 0
    for seed in range(1000, 1060):
        instance = _instance(5, 4, 0.2, seed)
        log = simulate_log(instance, 60, 60, "all", seed, found.share, greedy=True)
        seen += rest_matters(log).verdict == "rest helps"
    assert seen >= 37


def test_a_larger_effect_needs_less_and_a_tiny_one_too_much() -> None:
    calls: list[None] = []
    small, large = (
        design(5, 4, effect, users=60, rounds=40, runs=20, on_run=lambda: calls.append(None))
        for effect in (0.02, 0.25)
    )
    assert small.share is None
    assert "not even chance alone shows the effect" in str(small)
    assert large.share is not None
    assert large.share < 1
    assert len(calls) == 20 * (len(small.powers) + len(large.powers))


def test_designs_are_the_same_for_the_same_seed() -> None:
    one, same = (design(3, 2, 0.3, users=20, rounds=30, runs=10, seed=4) for _ in range(2))
    assert one == same


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arms": 1}, "arms must be a whole number >= 2"),
        ({"effect": 0}, "effect must be above 0 and at most 0.3"),
        ({"effect": 0.4}, "effect must be above 0 and at most 0.3"),
        ({"users": 9}, "users must be a whole number >= 10"),
        ({"rounds": 0}, "rounds must be a whole number >= 1"),
        ({"max_delay": 0}, "max_delay must be a whole number >= 1"),
    ],
)
def test_mistakes_are_named(change: dict[str, float], message: str) -> None:
    given = {"arms": 5, "max_delay": 4, "effect": 0.2, "users": 20, "rounds": 20, **change}
    with pytest.raises(ValueError, match=message):
        design(**given)  # type: ignore[arg-type]


def options(**given: float) -> list[str]:
    """Return arguments as they are typed."""
    return [word for name, value in given.items() for word in (f"--{name}", str(value))]


def test_a_design_is_told_as_text_and_as_json() -> None:
    found = design(5, 4, 0.2, users=60, rounds=60, runs=20)
    words = options(arms=5, **{"max-delay": 4}, effect=0.2, users=60, rounds=60, runs=20)
    lines = run_command("design", *words).splitlines()
    assert lines[-1] == str(found)
    shares = [f"{each.share:.0%}" for each in found.powers]
    assert [line.split()[0] for line in lines[1:-1]] == shares
    told = json.loads(run_command("design", *words, "--json"))
    assert (told["share"], told["propensity"]) == (found.share, found.propensity)
    assert [each["value"] for each in told["powers"]] == [each.power.value for each in found.powers]


def test_a_design_that_is_none_is_refused_in_one_line() -> None:
    words = options(arms=1, **{"max-delay": 4}, effect=0.2, users=60, rounds=60)
    result = runner.invoke(app, ["design", *words])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "fallow: --arms must be a whole number >= 2, got 1\n"
