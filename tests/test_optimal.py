"""The exact optimum against two oracles, its proof, and the numbering of delay vectors."""

import subprocess
import sys
from fractions import Fraction
from math import comb, perm
from typing import Any

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import coarse_tables, generic_instances, instances, tables, tiny_instances

from fallow import Instance, catalog, decay, gain, optimal, plan, upper_bound
from fallow.kernels import policies, states
from fallow.planners import greedy
from fallow.planners.optimal import reachable_states
from fallow.planners.plan import optimum_or_bound

MEMORY = """
import fallow
from fallow import kernels
def peak():
    return 1024 * int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
kernels.compile_all()
fallow.optimal(fallow.Instance.blocking([1, 0.9, 0.8], [2, 2, 2]))
before = peak()
fallow.optimal(fallow.Instance.blocking([0.9 - 0.1 * arm for arm in range(8)], [7] * 8))
print(peak() - before)
"""


@given(tiny_instances)
def test_optimum_matches_karps_algorithm(instance: Instance) -> None:
    best = optimal(instance)
    assert best.gain == pytest.approx(reference.optimum(instance.means.tolist()), abs=1e-10)
    assert best.gain == gain(instance, best.cycle)


@given(tiny_instances)
def test_the_residual_proves_optimality(instance: Instance) -> None:
    best = optimal(instance)
    assert 0 <= best.residual < 1e-11
    assert best.upper_bound >= reference.optimum(instance.means.tolist()) - 1e-14


def test_means_that_hardly_differ_are_told_apart() -> None:
    """Shrinking all means towards 1/2 changes no comparison, so the best cycles stay the best."""
    for seed in range(30):
        instance = catalog.random_table(arms=5, max_delay=5, seed=seed)
        best = optimal(Instance(0.5 + 1e-9 * instance.means))
        assert best.residual < 2e-12
        assert gain(instance, best.cycle) == pytest.approx(optimal(instance).gain, rel=1e-3)


@given(
    st.one_of(tables(3, 3), coarse_tables(3, 2)),
    st.sampled_from([0, -40, -1000, -1022, -1050, -1072, -1074]),
)
def test_plans_are_right_at_any_scale(instance: Instance, exponent: int) -> None:
    """In exact arithmetic, down to means that are the smallest number there is."""
    small = Instance(np.ldexp(instance.means, exponent))
    table: Any = [[Fraction(mean) for mean in row] for row in small.means.tolist()]
    optimum = reference.optimum(table)
    best, heuristic = optimal(small), plan(small, max_states=0)
    assert reference.cycle_gain(table, list(best.cycle)) >= optimum * (1 - Fraction(1, 10**11))
    for found in (best, heuristic):
        assert 0 <= found.certificate <= 1
        assert found.upper_bound >= optimum
    assert upper_bound(small) >= optimum
    if small.means.max() > 1e-290:
        assert best.residual < 1e-11 * small.means.max()


@pytest.mark.parametrize("exponent", [-40, -400, -1000])
def test_a_smaller_scale_changes_no_plan(exponent: int) -> None:
    for seed in range(10):
        instance = catalog.random_table(arms=5, max_delay=5, seed=seed)
        small = Instance(np.ldexp(instance.means, exponent))
        for max_states in (0, 10_000):
            assert plan(small, max_states).cycle == plan(instance, max_states).cycle


def test_means_around_the_tolerance_are_told_apart() -> None:
    table = np.array([[0, 0.1, 0.1], [0.6, 0.7, 1], [0, 0.4, 0.8]])
    small = optimal(Instance(1e-12 * table))
    assert small.gain / 1e-12 == pytest.approx(optimal(Instance(table)).gain)


def test_the_bound_holds_however_early_the_search_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """After one sweep the plan is that of the index, which is far from the optimum on some."""
    draws = [Instance(np.random.default_rng(seed).random((3, 4))) for seed in range(30)]
    optima = [optimal(instance).gain for instance in draws]
    monkeypatch.setattr(policies, "improve", lambda *_: 0)
    plans = [optimal(instance) for instance in draws]
    assert all(found.upper_bound >= best for found, best in zip(plans, optima, strict=True))
    assert any(found.gain < 0.99 * best for found, best in zip(plans, optima, strict=True))


@pytest.mark.parametrize(
    "table",
    [[[0.4, 1.0], [0.8, 0.3]], [[0.8, 0.3], [0.7, 0.9]], [[0.2, 0.8, 0.9], [0.9, 0.2, 0.6]]],
)
def test_the_proof_allows_for_rounding(table: list[list[float]]) -> None:
    """Here max (TV - V), as computed, is by one rounding unit too small."""
    assert optimal(Instance(table)).residual >= 0


@settings(max_examples=25)
@given(tables(max_arms=3, max_delay=5))
def test_optimum_is_never_below_brute_force(instance: Instance) -> None:
    assert optimal(instance).gain >= reference.best_cycle_gain(instance.means.tolist(), 6) - 1e-12


@given(instances)
def test_reachable_states_are_counted_exactly(instance: Instance) -> None:
    # An arm that is rested from its last differing delay on needs no larger cap than that.
    width = instance.delays.max() + 1
    capped = [
        [mean if tau <= delay else row[-1] for tau, mean in enumerate(row[:width], start=1)]
        for row, delay in zip(instance.means.tolist(), instance.delays, strict=True)
    ]
    vectors = {
        tuple(min(tau, delay + 1) for tau, delay in zip(vector, instance.delays, strict=True))
        for vector in reference.reachable_vectors(capped)
    }
    assert reachable_states(instance) == len(vectors)


@given(st.integers(1, 12), st.integers(1, 12))
def test_equal_delays_have_a_closed_form_size(arms: int, delay: int) -> None:
    """Choose which of the ages 2 .. d are taken, then who stands there and at age 1."""
    expected = sum(comb(delay - 1, taken) * perm(arms, taken + 1) for taken in range(delay))
    assert reachable_states(Instance.blocking([1] * arms, [delay] * arms)) == expected


@pytest.mark.parametrize(("arms", "delay", "expected"), [(1, 10**6, 1), (2, 10**6, 2 * 10**6)])
def test_states_of_long_delays_are_counted(arms: int, delay: int, expected: int) -> None:
    assert reachable_states(Instance.blocking([1] * arms, [delay] * arms)) == expected


def test_one_arm_is_pulled_for_ever_however_long_its_delay() -> None:
    instance = Instance.b2dep([1], [10**6], decay.geometric(0.999_999))
    best = plan(instance)
    assert (best.cycle, best.method, best.gain) == ((0,), "optimal", instance.means[0, 0])
    assert best.certificate == pytest.approx(1)


@pytest.mark.slow
def test_memory_is_what_the_docstring_says() -> None:
    """8 arms with delays of 7 have 301,064 delay vectors, each 44 + 8 x 8 bytes; 4 MB to spare."""
    run = subprocess.run([sys.executable, "-c", MEMORY], check=True, capture_output=True, text=True)
    assert 10e6 < float(run.stdout) < 301_064 * (44 + 8 * 8) + 4e6


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5))
def test_numbers_and_delay_vectors_are_in_bijection(delays: list[int]) -> None:
    space = states.number_vectors(np.array(delays))
    vectors = set()
    for number in range(space.completions[-1, 0]):
        ages = states.ages_of(number, space)
        pulled = [age for age in ages if age != states.RESTED]
        assert all(age <= delay for age, delay in zip(ages, delays, strict=True))
        assert len(set(pulled)) == len(pulled)
        assert states.number_of(ages, space) == number
        vectors.add(tuple(ages))
    assert len(vectors) == space.completions[-1, 0]


def test_too_many_states_name_the_size_and_the_limit() -> None:
    instance = Instance.blocking([1] * 10, [8] * 10)
    with pytest.raises(ValueError, match=r"at least 10,473,760, .* got 1,000,000; plan"):
        optimal(instance, max_states=1_000_000)


def test_a_size_beyond_all_numbers_is_still_an_error() -> None:
    instance = Instance.blocking([1] * 200, [200] * 200)
    with pytest.raises(ValueError, match=r"at most 4,294,967,296 bytes, got about 1e\+300 of"):
        optimal(instance)


def test_many_arms_are_refused_before_their_table_is_built() -> None:
    """Each of 30,000 delay vectors would hold 30,000 delays, and as many successors: 7 GB."""
    instance = Instance.blocking(np.linspace(1, 0.5, 30_000), [1] * 30_000)
    with pytest.raises(ValueError, match="got 30,000 of 30,000 arms; plan without the optimum"):
        optimal(instance)
    assert plan(instance).method != "optimal"
    assert optimum_or_bound(instance) == upper_bound(instance)


def test_many_arms_with_short_delays_are_within_reach() -> None:
    instance = Instance.blocking(np.linspace(1, 0.5, 100), [1] * 100)
    assert reachable_states(instance) == 100
    assert optimal(instance).gain == pytest.approx((1 + instance.baselines[1]) / 2)


@given(generic_instances())
def test_without_decay_the_best_arm_is_pulled_for_ever(instance: Instance) -> None:
    bandit = Instance.b2dep(instance.baselines, [3] * instance.arms, [0, 0, 0])
    assert optimal(bandit).cycle == (instance.order[0],)


@pytest.mark.parametrize("epsilon", [0.4, 0.1, 0.001])
def test_the_greedy_trap_has_its_closed_form_ratio(epsilon: float) -> None:
    """The paper prints a ratio of at most 2/3; it is 1/(3/2 - epsilon), which is above."""
    instance = catalog.greedy_trap(epsilon)
    assert greedy(instance).gain == pytest.approx(0.5)
    assert optimal(instance).gain == pytest.approx((3 / 2 - epsilon) / 2)
    assert greedy(instance).gain / optimal(instance).gain > 2 / 3


@pytest.mark.parametrize("delays", [[134, 65, 148], [68, 191, 153]])
def test_long_cycles_do_not_keep_the_search_going(delays: list[int]) -> None:
    """Rounding over thousands of rounds must not pass for an improvement, sweep after sweep."""
    instance = Instance.b2dep([0.9, 0.5, 0.2], delays, decay.constant(0.9))
    assert optimal(instance).residual < 1e-9
