"""Schedules from where you are: against all schedules there are, closed forms and their bound."""

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import coarse_tables, instances, tables

import fallow
from fallow import Instance, catalog, optimal, plan
from fallow.kernels import schedule as kernels
from fallow.planners import schedule_search
from fallow.planners.problem import problem_of
from fallow.planners.schedule_search import RoundsAhead

Delays = list[int | None]
searched = partial(fallow.schedule, max_states=0)


@st.composite
def starts(draw: st.DrawFn, arms: int) -> Delays:
    """Delays of which no two are equal, as one arm is pulled a round."""
    places = draw(st.permutations(range(1, arms + 5)))
    return [draw(st.sampled_from([delay, None])) for delay in places[:arms]]


@st.composite
def problems(draw: st.DrawFn) -> tuple[Instance, Delays, int]:
    """Few enough arms and rounds to try every schedule."""
    instance = draw(st.one_of(tables(3, 4), coarse_tables(3, 3)))
    return instance, draw(starts(instance.arms)), draw(st.integers(1, 8))


def random_start(instance: Instance, seed: int) -> Delays:
    rounds = np.random.default_rng(seed).permutation(instance.max_delay + instance.arms)
    return [int(delay) + 1 for delay in rounds[: instance.arms]]


def played(table: Any, start: Delays, pulls: list[int]) -> list[Any]:
    """The reward of each pull."""
    last = {arm: -delay for arm, delay in enumerate(start) if delay is not None}
    rewards = []
    for now, arm in enumerate(pulls):
        tau = now - last[arm] if arm in last else len(table[arm])
        rewards.append(reference.mean_at(table, arm, tau))
        last[arm] = now
    return rewards


def best_total(table: Any, start: Delays, rounds: int) -> Any:
    """The most that any schedule earns, of all that there are."""
    if rounds == 0:
        return 0
    totals = []
    for arm, row in enumerate(table):
        reward = reference.mean_at(table, arm, start[arm] or len(row))
        after = [None if delay is None else delay + 1 for delay in start]
        after[arm] = 1
        totals.append(reward + best_total(table, after, rounds - 1))
    return max(totals)


def exactly(instance: Instance) -> Any:
    return [[Fraction(mean) for mean in row] for row in instance.means.tolist()]


def entered(instance: Instance, start: Delays, cycle: tuple[int, ...], rounds: int) -> float:
    """What a cycle earns when it is entered at the best of all positions."""
    twice = list(cycle) * (rounds // len(cycle) + 2)
    paths = [twice[place : place + rounds] for place in range(len(cycle))]
    return max(math.fsum(played(instance.means.tolist(), start, path)) for path in paths)


@settings(deadline=None, max_examples=60)
@given(problems())
def test_schedules_against_all_there_are(problem: tuple[Instance, Delays, int]) -> None:
    instance, start, rounds = problem
    best = best_total(exactly(instance), start, rounds)
    exact, heuristic = (find(instance, rounds, start) for find in (fallow.schedule, searched))
    assert exact.method == "exact"
    assert exact.total == pytest.approx(float(best), rel=1e-14)
    assert best <= exact.upper_bound <= best * (1 + Fraction(1, 10**13))
    assert heuristic.method != "exact"
    assert heuristic.total <= best * (1 + Fraction(1, 10**15))
    assert heuristic.upper_bound >= best


@settings(deadline=None, max_examples=40)
@given(problems(), st.sampled_from([-40, -1000, -1050, -1074]))
def test_bounds_hold_at_any_scale(problem: tuple[Instance, Delays, int], exponent: int) -> None:
    instance, start, rounds = problem
    small = Instance(np.ldexp(instance.means, exponent))
    best = best_total(exactly(small), start, rounds)
    for find in (fallow.schedule, searched):
        found = find(small, rounds, start)
        assert found.upper_bound >= best
        assert 0 <= found.certificate <= 1
    assert fallow.schedule(small, rounds, start).total == pytest.approx(float(best), rel=1e-11)


@pytest.mark.parametrize("find", [fallow.schedule, searched])
@given(st.data(), instances, st.integers(1, 30))
def test_a_schedule_earns_what_it_says(
    find: Any, data: Any, instance: Instance, rounds: int
) -> None:
    start = data.draw(starts(instance.arms))
    found = find(instance, rounds, start)
    assert len(found.arms) == rounds
    assert found.names == tuple(instance.names[arm] for arm in found.arms)
    assert list(found.rewards) == played(instance.means.tolist(), start, list(found.arms))
    assert found.total == math.fsum(found.rewards)
    last = {arm: -delay for arm, delay in enumerate(start) if delay is not None}
    for now, arm in enumerate(found.arms):
        assert found.delays[now] == (now - last[arm] if arm in last else None)
        last[arm] = now


@pytest.mark.parametrize("rounds", [1, 3, 17, 90])
@pytest.mark.parametrize("max_states", [0, 200_000])
def test_no_cycle_is_better_wherever_it_is_entered(rounds: int, max_states: int) -> None:
    for seed in range(3):
        for instance in (
            catalog.random_table(arms=7, max_delay=6, seed=seed),
            Instance(np.random.default_rng(seed).random((4, 6))),
        ):
            start = random_start(instance, seed)
            cycle = plan(instance, max_states).cycle
            found = fallow.schedule(instance, rounds, start, max_states=max_states)
            assert found.total >= entered(instance, start, cycle, rounds) - 1e-12


def test_a_search_comes_close_to_the_best_and_its_bound_to_both() -> None:
    shares, certificates = [], []
    for seed in range(12):
        instance = catalog.random_table(arms=6, max_delay=7, seed=seed)
        start = random_start(instance, seed)
        best, found = (find(instance, 10, start) for find in (fallow.schedule, searched))
        shares.append(found.total / best.total)
        certificates.append(found.certificate)
    assert min(shares) > 0.999
    assert np.mean(certificates) > 0.98  # one price for all rounds proves .96


def test_prices_of_rounds_lead_to_better_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = [catalog.random_table(arms=20, max_delay=20, seed=seed) for seed in range(4)]
    totals = [fallow.schedule(instance, 50).total for instance in drawn]
    monkeypatch.setattr(schedule_search, "DESCENTS", 0)
    with_one_price = [fallow.schedule(instance, 50).total for instance in drawn]
    assert all(many >= one for many, one in zip(totals, with_one_price, strict=True))
    assert sum(totals) > sum(with_one_price)


@pytest.mark.parametrize("find", [fallow.schedule, searched])
@given(st.data(), instances)
def test_one_round_goes_to_the_best_arm_now(find: Any, data: Any, instance: Instance) -> None:
    start = data.draw(starts(instance.arms))
    table = instance.means.tolist()
    now = [played(table, start, [arm])[0] for arm in range(instance.arms)]
    assert find(instance, 1, start).total == max(now)


@pytest.mark.parametrize("find", [fallow.schedule, searched])
@pytest.mark.parametrize("rounds", [1, 2, 4, 7, 12])
def test_blocking_arms_that_just_fit_have_a_closed_form(find: Any, rounds: int) -> None:
    """Four arms that block for three rounds: all in turn, the best ones first in a broken turn."""
    baselines = [0.3, 0.9, 0.8, 0.6]
    found = find(Instance.blocking(baselines, [3] * 4), rounds)
    turns, left = divmod(rounds, 4)
    best_first = sorted(baselines, reverse=True)
    assert found.total == pytest.approx(turns * sum(baselines) + sum(best_first[:left]))
    assert found.certificate == pytest.approx(1)


def test_what_comes_after_the_rounds_does_not_count() -> None:
    """At the end the better arm is pulled again, though a plan for ever would let it rest."""
    instance = Instance([[0.6, 1.0], [0.5, 0.5]])
    assert plan(instance).cycle in [(0, 1), (1, 0)]
    for find in (fallow.schedule, searched):
        assert find(instance, 2, [1, 2]).arms == (1, 0)
        assert find(instance, 2).arms == (0, 0)


@pytest.mark.parametrize("find", [fallow.schedule, searched])
def test_names_and_order_of_arms_do_not_matter(find: Any) -> None:
    for seed in range(8):
        instance = catalog.random_table(arms=5, max_delay=4, seed=seed)
        generator = np.random.default_rng(seed)
        order = generator.permutation(5)
        start = random_start(instance, seed)
        found = find(instance, 15, start)
        other = find(Instance(instance.means[order]), 15, [start[arm] for arm in order])
        assert other.total == pytest.approx(found.total, rel=1e-12)
        assert other.upper_bound == pytest.approx(found.upper_bound, rel=1e-3)


def test_many_rounds_come_close_to_the_plan() -> None:
    instance = catalog.random_table(arms=12, max_delay=12, seed=4)
    forever = plan(instance)
    start = random_start(instance, 4)
    for rounds in (100, 1000, 10_000, 100_000):
        found = fallow.schedule(instance, rounds, start)
        assert abs(found.total / rounds - forever.gain) < instance.arms / rounds
        assert found.total / rounds <= found.upper_bound / rounds
        assert found.certificate > forever.certificate - 2 * instance.arms / rounds


def test_the_exact_plan_proves_long_schedules() -> None:
    """The price of a pull alone leaves a gap here, however many the rounds."""
    instance = catalog.random_table(arms=7, max_delay=7, seed=0)
    assert plan(instance).method == "optimal"
    assert plan(instance, max_states=0, effort=0).certificate < 0.99
    found = fallow.schedule(instance, 20_000)
    assert found.method != "exact"
    assert found.certificate > 0.999


def test_the_same_problem_has_the_same_answer() -> None:
    instance = catalog.random_table(arms=10, max_delay=10, seed=3)
    start = random_start(instance, 3)
    assert fallow.schedule(instance, 40, start) == fallow.schedule(instance, 40, start)


def test_past_pulls_and_delays_say_the_same() -> None:
    instance = Instance(np.random.default_rng(5).random((3, 6)), names=["a", "b", "c"])
    start: Delays = [2, 4, None]
    found = fallow.schedule(instance, 9, start)
    assert found == fallow.schedule(instance, 9, {"b": 4, "a": 2})
    assert found == fallow.schedule(instance, 9, since=["b", "a", "b", None, "a", None])
    assert found == fallow.schedule(instance, 9, ["b", "a", "b", None, "a", None])
    assert found == fallow.schedule(instance, 9, since=[0, 1, 1, None, 0, None])
    assert fallow.schedule(instance, 9, since=np.array([0, 1, 0])) == fallow.schedule(
        instance, 9, np.array([1, 2, 99])
    )


def test_arms_that_rested_long_may_have_equal_delays() -> None:
    instance = Instance.blocking([1, 0.5], [3, 3])
    assert fallow.schedule(instance, 4, [4, 4]).rewards == fallow.schedule(instance, 4).rewards


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rounds": 0}, "rounds must be a whole number >= 1, got 0"),
        ({"rounds": 10**6 + 1}, "rounds must be at most 1,000,000, got 1,000,001"),
        ({"max_states": -1}, "max_states must be a whole number >= 0, got -1"),
        ({"delays": [1]}, "delays must be one for each arm, got 1 for 2 arms; past pulls are"),
        ({"delays": [0, 1]}, "the delay of 'hymn' must be a whole number >= 1, got 0"),
        ({"delays": {"waltz": 1.5}}, "the delay of 'waltz' must be a whole number >= 1, got 1.5"),
        ({"delays": {"walz": 1}}, "of delays must be the name of an arm, got 'walz'; did you mean"),
        ({"delays": {3: 1}}, "a key of delays must be the name of an arm, got 3"),
        ({"delays": "12"}, "delays must be a list with one for each arm, or delays by name, got"),
        ({"delays": [2, 2]}, "must differ, since .* got 2 for both 'hymn' and 'waltz'"),
        ({"since": "hymn"}, "since must be a list of arms by name or index, oldest first, got"),
        ({"since": ["hymn", "him"]}, r"since\[1\] must be the name of an arm, got 'him'"),
        ({"since": [0, 2]}, r"since\[1\] must be at most 1, got 2"),
        ({"since": [True]}, r"since\[0\] must be a whole number >= 0, got True"),
        ({"since": [], "delays": [1, 2]}, "delays must be left out where since is given, got both"),
    ],
)
def test_mistakes_name_argument_rule_and_value(arguments: dict[str, Any], message: str) -> None:
    songs = Instance.blocking([1, 0.5], [2, 2], names=["hymn", "waltz"])
    with pytest.raises(ValueError, match=message):
        fallow.schedule(songs, **{"rounds": 3, **arguments})


# Where arms, delays or rounds are too many


@settings(deadline=None, max_examples=60)
@given(problems())
def test_the_bound_of_many_rounds_holds_for_few(problem: tuple[Instance, Delays, int]) -> None:
    instance, start, rounds = problem
    best = best_total(exactly(instance), start, rounds)
    rested = instance.max_delay + 1
    capped = np.array([min(delay or rested, rested) for delay in start])
    ahead = RoundsAhead(problem_of(instance), capped, rounds)
    price, _ = ahead.one_price()
    assert ahead.bound_by_price(price) >= best
    assert ahead.bound_by_gain(optimal(instance).upper_bound) >= best


def test_work_beyond_its_limits_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = catalog.random_table(arms=8, max_delay=6, seed=1)
    start = random_start(instance, 1)
    best = searched(instance, 60, start)
    monkeypatch.setattr(schedule_search, "MAX_PRICING_WORK", 0)
    monkeypatch.setattr(schedule_search, "MAX_VALUES_TO_GO", 0)
    looser = searched(instance, 60, start)
    assert best.upper_bound < looser.upper_bound < 1.1 * best.upper_bound
    assert looser.total > 0.98 * best.total
    monkeypatch.setattr(schedule_search, "MAX_BEAM_WORK", 0)
    monkeypatch.setattr(schedule_search, "MAX_IMPROVING_WORK", 0)
    least = searched(instance, 60, start)
    assert least.method.startswith("cycle")
    assert best.total >= least.total
    assert least.total >= entered(instance, start, plan(instance, 0).cycle, 60) - 1e-12


def test_arms_that_never_wear_out_are_told_apart_however_many() -> None:
    """All of them have one delay vector together, so only the arms are many."""
    means = np.full((40_000, 1), 0.5)
    means[39_999] = 0.75
    found = fallow.schedule(Instance(means), 50)
    assert set(found.arms) == {39_999}
    assert found.certificate == pytest.approx(1)


def test_many_arms_and_long_delays_are_scheduled() -> None:
    for instance in (
        catalog.random_table(arms=3000, max_delay=3, seed=0),
        catalog.random_table(arms=3, max_delay=30_000, seed=0),
    ):
        found = fallow.schedule(instance, 12)
        assert found.certificate > 0.99


# Kernels


def alone(row: list[float], start: int, prices: list[float], pulled: bool = False) -> float:
    """The most that an arm earns beyond prices; once it was pulled, it may stay unpulled."""
    if not prices:
        return 0 if pulled else -math.inf
    now = row[min(start, len(row)) - 1] - prices[0] + alone(row, 1, prices[1:], True)
    return max(now, alone(row, start + 1, prices[1:], pulled))


def test_the_relaxed_problem_against_all_schedules_of_an_arm() -> None:
    for seed in range(60):
        generator = np.random.default_rng(seed)
        instance = Instance(generator.random((3, generator.integers(1, 5))).round(1))
        prices = generator.random(generator.integers(1, 8)).round(1)
        delays = generator.integers(1, instance.max_delay + 2, 3)
        values, counts = kernels.relaxed_schedule(
            instance.means, instance.delays + 1, delays, prices
        )
        ways = [
            alone(row, start, prices.tolist())
            for row, start in zip(instance.means.tolist(), delays.tolist(), strict=True)
        ]
        assert values == pytest.approx(ways)
        assert 0 <= counts.min() <= counts.max() <= 3
        # More pulls of a round, at a higher price, earn so much less; it is a subgradient.
        for place in range(len(prices)):
            dearer = prices.copy()
            dearer[place] += 1e-7
            changed, _ = kernels.relaxed_schedule(
                instance.means, instance.delays + 1, delays, dearer
            )
            lost = np.maximum(values, 0).sum() - np.maximum(changed, 0).sum()
            assert lost <= 1e-7 * counts[place] + 1e-12
        to_go = kernels.values_to_go(instance.means, prices)
        assert to_go[-1, np.arange(3), delays - 1] == pytest.approx(np.maximum(values, 0))


def test_prices_of_rounds_lower_the_bound_of_one_price() -> None:
    lower = 0
    for seed in range(20):
        instance = catalog.random_table(arms=5, max_delay=5, seed=seed)
        delays = np.array(random_start(instance, seed)).clip(max=6)
        ahead = RoundsAhead(problem_of(instance), delays, 8)
        price, _ = ahead.one_price()
        one = ahead.bound_by_prices(np.full(8, price))
        for near in (price - 0.01, price + 0.01):  # the best price for all rounds
            other = ahead.bound_by_prices(np.full(8, near))
            assert one <= other + 1e-9
        best = fallow.schedule(instance, 8, delays)
        prices = ahead.round_prices(price, best.total)
        assert prices is not None
        many = ahead.bound_by_prices(prices)
        assert best.total <= many <= one
        lower += many < 0.99 * one
    assert lower >= 5  # none if the prices stay as they are


def test_local_search_ends_where_no_move_helps() -> None:
    for seed in range(150):
        generator = np.random.default_rng(seed)
        arms, rounds = generator.integers(1, 5), generator.integers(1, 13)
        means = generator.random((arms, generator.integers(1, 7)))
        delays = generator.integers(1, means.shape[1] + 1, arms)
        path = generator.integers(0, arms, rounds)

        def total(pulls: list[int], table: Any = means, start: Any = delays) -> float:
            return math.fsum(played(table.tolist(), start.tolist(), pulls))

        found = kernels.improve_path(means, path, delays, 10**9).tolist()
        assert total(found) >= total(path.tolist()) - 1e-12
        for place in range(rounds):
            for arm in range(arms):
                assert total([*found[:place], arm, *found[place + 1 :]]) <= total(found) + 1e-9
                if rounds - place <= 2 * means.shape[1]:
                    moved = [*found[:place], *found[place + 1 :], int(arm)]
                    assert total(moved) <= total(found) + 1e-9
            for other in range(place + 1, min(place + means.shape[1] + 1, rounds)):
                swapped = found.copy()
                swapped[place], swapped[other] = found[other], found[place]
                assert total(swapped) <= total(found) + 1e-9
        assert kernels.improve_path(means, path, delays, -1).tolist() == path.tolist()
