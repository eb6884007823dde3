"""The upper bound: against the optimum, and against linear programming duality."""

import gc
from weakref import ref

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from strategies import instances, tables, tiny_instances

from fallow import Instance, upper_bound
from fallow.kernels.bounds import best_delays, clearing_price
from fallow.limits import no_limits


@given(tiny_instances)
def test_no_policy_exceeds_the_bound(instance: Instance) -> None:
    assert upper_bound(instance) >= reference.optimum(instance.means.tolist()) - 1e-15


@given(instances)
def test_the_bound_is_the_relaxed_one_and_never_above_that_of_blocks(instance: Instance) -> None:
    """The minimum over prices is taken at every kink of the convex function."""
    table = instance.means.tolist()
    width = len(table[0])
    delays = range(1, width + 1)

    def relaxed(price: float) -> float:
        surplus = [max([0.0] + [(row[t - 1] - price) / t for t in delays]) for row in table]
        return float(price + sum(surplus))

    kinks = [mean for row in table for mean in row] + [-float(width)]
    for row in table:
        for t in delays:
            kinks += [(u * row[t - 1] - t * row[u - 1]) / (u - t) for u in delays if u > t]
    best = [[max(row[:t]) for t in delays] for row in table]
    firsts = sorted((row[-1] for row in best), reverse=True)
    blocks = [firsts[0]]
    for rounds in range(2, width + 1):
        repeat = max(row[rounds - 2] for row in best)
        padded = (firsts + [0.0] * rounds)[:rounds]
        blocks.append(sum(max(first, repeat) for first in padded) / rounds)
    assert upper_bound(instance) == pytest.approx(min(map(relaxed, kinks)), abs=1e-12)
    assert upper_bound(instance) <= min(blocks) + 1e-12


def test_an_ordinary_bandit_is_bounded_by_its_best_arm() -> None:
    instance = Instance.b2dep([0.3, 0.7, 0.5], [2, 3, 1], [0, 0, 0])
    assert upper_bound(instance) == pytest.approx(0.7, abs=1e-12)


def test_one_arm_is_bounded_by_its_mean_at_delay_one() -> None:
    assert upper_bound(Instance([[0.25, 1.0]])) == pytest.approx(0.25, abs=1e-12)


def test_arms_enough_to_rest_all_of_them_reach_the_bound() -> None:
    instance = Instance.blocking(np.full(6, 0.8), np.full(6, 5))
    assert upper_bound(instance) == pytest.approx(0.8, abs=1e-12)


@pytest.mark.parametrize("arms", range(1, 9))
@pytest.mark.parametrize("mean", [0.1, 0.3, 0.7, 0.9])
def test_the_bound_allows_for_rounding(arms: int, mean: float) -> None:
    """Of equal means that never change, some would be computed too small."""
    instance = Instance.b2dep([mean] * arms, [arms] * arms, [0] * arms)
    assert upper_bound(instance) >= mean


@given(tables(), st.sampled_from([0, -1, -300, -1060]))
def test_no_lower_price_clears(instance: Instance, exponent: int) -> None:
    means = np.ldexp(instance.means, exponent)
    limits = no_limits(len(means))
    price = clearing_price(means, limits)
    _, rates = best_delays(means, price, limits)
    assert rates.sum() <= 1
    _, more = best_delays(means, np.nextafter(price, -np.inf), limits)
    assert more.sum() > 1 or price == np.nextafter(-1, 0)


def test_a_bound_keeps_no_instance_alive() -> None:
    instance = Instance([[0.5, 0.25]])
    upper_bound(instance)
    alive = ref(instance)
    del instance
    gc.collect()
    assert alive() is None
