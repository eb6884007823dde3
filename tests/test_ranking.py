"""Ranking policies, Theorem 2 and its repair."""

import time

import pytest
import reference
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import b2dep_instances, generic_instances, instances

from fallow import Block, Instance, Outcome, catalog, gain, optimal, simulate
from fallow.planners import ghost, guarantee, ranking_gains, theorem2_index, transition_totals


@given(instances)
def test_ranking_gains_match_the_definition_and_the_evaluator(instance: Instance) -> None:
    table = instance.means.tolist()
    for m, value in enumerate(ranking_gains(instance), start=1):
        assert value == pytest.approx(reference.ranking_gain(table, m), abs=1e-12)
        assert value == pytest.approx(gain(instance, instance.order[:m]), abs=1e-12)


@given(instances)
def test_transition_totals_match_their_definition(instance: Instance) -> None:
    table = instance.means.tolist()
    ranked = reference.by_baseline(table)
    totals = transition_totals(instance)
    for n in range(1, instance.arms + 1):
        for m in range(1, instance.arms + 1):
            total = 0.0
            for j in range(1, m + 1):
                delay = n if j <= n else n + m
                total += reference.mean_at(table, ranked[j - 1], delay)
            assert totals[n - 1, m - 1] == pytest.approx(total, abs=1e-12)


class InTurn:
    """Plays two blocks in turn."""

    def __init__(self, blocks: tuple[Block, Block]) -> None:
        self.blocks = blocks
        self.earned: list[float] = []

    def ask(self) -> Block:
        return self.blocks[len(self.earned) % 2]

    def tell(self, block: Block, outcome: Outcome) -> None:
        self.earned.append(sum(outcome.first))


@given(instances, st.data())
def test_transition_totals_are_what_alternating_plays_earn(
    instance: Instance, data: st.DataObject
) -> None:
    n, m = (data.draw(st.integers(1, instance.arms)) for _ in range(2))
    order = tuple(instance.order.tolist())
    learner = InTurn((Block(order[:n]), Block(order[:m])))
    simulate(instance, learner, 2 * (n + m), seed=0, rewards="none")
    _, _, after_m, after_n = learner.earned
    totals = transition_totals(instance)
    assert after_n == pytest.approx(totals[n - 1, m - 1], abs=1e-12)
    assert after_m == pytest.approx(totals[m - 1, n - 1], abs=1e-12)
    assert sum(totals[[n - 1, m - 1], [m - 1, n - 1]]) / (n + m) == pytest.approx(
        gain(instance, order[:n] + order[:m]), abs=1e-12
    )


@given(instances)
def test_ghost_is_the_best_ranking_policy_with_fewest_arms(instance: Instance) -> None:
    gains = ranking_gains(instance)
    best = ghost(instance)
    assert best.gain == pytest.approx(gains.max(), abs=1e-12)
    arms = len(best.cycle)
    assert best.cycle == tuple(instance.order[:arms])
    assert (gains[: arms - 1] < gains.max() - 1e-12).all()


def test_many_equal_arms_have_equal_ranking_gains() -> None:
    """A sum of so many times 0.1 drifts by more than the tolerance for ties."""
    instance = Instance.b2dep([0.1] * 100_000, [2] * 100_000, [0, 0])
    assert set(ranking_gains(instance).tolist()) == {0.1}
    assert ghost(instance).cycle == (0,)


def test_ranking_a_hundred_thousand_arms_is_quick() -> None:
    """Quadratic work takes more than ten times as long."""
    instance = catalog.random_geometric(arms=100_000, max_delay=5)
    start = time.perf_counter()
    ranking_gains(instance)
    guarantee(instance)
    theorem2_index(instance)
    assert time.perf_counter() - start < 1


def test_equal_ranking_policies_leave_ghost_with_the_smaller() -> None:
    assert ghost(catalog.figure3()).cycle == (0,)
    # Both earn 0.15, but (0.2 + 0.1) / 2 is computed as 0.15000000000000002.
    assert ghost(Instance([[0.15, 0.2], [0.0, 0.1]])).cycle == (0,)


@given(instances)
def test_theorem2_index_matches_its_definition(instance: Instance) -> None:
    assert theorem2_index(instance) == reference.theorem2_index(instance.means.tolist())


@given(b2dep_instances())
def test_guarantee_matches_its_definition(instance: Instance) -> None:
    table = instance.means.tolist()
    found = guarantee(instance)
    assert found.arms == reference.repaired_index(table)
    kept = [
        reference.mean_at(table, arm, found.arms) / table[arm][-1] if table[arm][-1] > 0 else 1.0
        for arm in reference.by_baseline(table)[: found.arms]
    ]
    assert found.factor == pytest.approx(min(kept), abs=1e-12)


@given(b2dep_instances(3, 4))
def test_the_repaired_guarantee_holds(instance: Instance) -> None:
    promised = guarantee(instance).factor * reference.optimum(instance.means.tolist())
    assert ghost(instance).gain >= promised - 1e-12


@given(generic_instances())
def test_theorem2_holds_as_printed_when_delays_are_equal(instance: Instance) -> None:
    delay = instance.max_delay
    f = [1 - mean / instance.baselines[0] for mean in instance.means[0, :-1]]
    assume(min(f) > 0)  # else arm 0 has a shorter delay, and f is not all seen in its means
    equal = Instance.b2dep(instance.baselines, [delay] * instance.arms, f)
    r_0 = theorem2_index(equal)
    lost = f[r_0 - 1] if r_0 <= delay else 0
    assert ghost(equal).gain >= (1 - lost) * optimal(equal).gain - 1e-12


def test_guarantee_needs_means_that_never_fall() -> None:
    instance = Instance([[0.5, 0.5], [0.9, 0.5]])
    with pytest.raises(ValueError, match=r"never fall .* got a fall for arm 1 after delay 1"):
        guarantee(instance)


def test_the_example_after_theorem2_as_printed_is_monotone() -> None:
    assert ranking_gains(catalog.non_monotone()) == pytest.approx([1 / 2, 5 / 8, 13 / 18])


def test_the_example_after_theorem2_with_constant_decay_is_not() -> None:
    gains = ranking_gains(catalog.non_monotone_constant())
    assert gains == pytest.approx([1 / 2, 5 / 12, 13 / 18])
    assert gains[1] < gains[0] < gains[2]


def test_theorem2_fails_when_delays_differ() -> None:
    instance = catalog.theorem2_counterexample()
    assert theorem2_index(instance) == 3
    assert ghost(instance).gain == pytest.approx(2 / 3)
    assert optimal(instance).gain == pytest.approx(0.7475)
    assert gain(instance, [1, 0, 1, 2]) == pytest.approx(0.7475)
    # f(3) = 0, so Theorem 2 as printed promises the whole optimum; the repair promises nothing.
    assert guarantee(instance) == (2, 0)


def test_theorem2_fails_mildly() -> None:
    instance = catalog.theorem2_mild_counterexample()
    assert theorem2_index(instance) == 3
    assert ghost(instance).gain == pytest.approx(0.8)
    assert optimal(instance).gain >= 0.825 - 1e-12
    assert gain(instance, [1, 0, 1, 2]) == pytest.approx(0.825)
