"""The flagship learner: what it decides by, how long it plays, and what it comes to."""

import json
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learner_contract import Spy

from fallow import (
    BayesRotation,
    Block,
    Instance,
    Outcome,
    Rotation,
    catalog,
    optimal,
    replicate,
    simulate,
)
from fallow.learners.bayes_rotation import GROWTH
from fallow.learners.cell_rewards import Cells
from fallow.planners.plan import optimum_or_bound
from fallow.studies import estimate


def shares(
    family: Callable[[int], Instance], max_delay: int | None, rounds: list[int], runs: int
) -> list[float]:
    """Return the mean share of the optimum, or of its bound, at some rounds."""
    study = replicate(
        family,
        lambda instance, _: BayesRotation(instance.arms, max_delay),
        rounds[-1],
        runs,
        seed=23,
        checkpoints=rounds,
        references={"optimum": optimum_or_bound},
    )
    return [float(mean) for mean in estimate(study.share(study.learners[0])).mean]


@pytest.mark.parametrize(
    ("family", "max_delay", "least"),
    [
        (catalog.figure2, 6, [0.96, 0.99]),
        (lambda seed: catalog.random_geometric(seed=seed), 6, [0.90, 0.965]),
        (catalog.blocking_small, 10, [0.90, 0.97]),
        (catalog.falling, 6, [0.92, 0.975]),
        (catalog.figure2, None, [0.95, 0.985]),
    ],
)
def test_it_comes_near_the_optimum_of_unlike_families(
    family: Callable[[int], Instance], max_delay: int | None, least: list[float]
) -> None:
    """Means over 8 runs; those over 30 lie 3 to 8 standard errors of 8 above."""
    found = shares(family, max_delay, [1000, 10_000], runs=8)
    assert all(share > reach for share, reach in zip(found, least, strict=True)), found


def test_on_non_monotone_arms_it_finds_what_pays_at_one_delay_only() -> None:
    """Rotation gets 0.46 here; of 24 runs the mean is 0.89 with a standard error of 0.04."""
    instance = catalog.trick_csbog()
    earned = [
        float(simulate(instance, BayesRotation(5, 9), 3600, seed).expected_reward(3600))
        for seed in range(8)
    ]
    assert np.mean(earned) / 3600 > 0.65 * optimal(instance).gain


@pytest.mark.parametrize(("arms", "delay", "least"), [(3, 2, 0.7), (9, 8, 0.5)])
def test_without_a_bound_it_does_not_lock_in_where_pulls_pay_nothing(
    arms: int, delay: int, least: float
) -> None:
    """Shares from round 10,000 to 20,000; Rotation once earned nothing for ever."""
    instance = Instance.blocking([0.05] * arms, [delay] * arms)
    rounds = [10_000, 20_000]
    for seed in range(2):
        run = simulate(instance, BayesRotation(arms), rounds[-1], seed, checkpoints=rounds)
        earned = float(np.diff(run.expected_reward(rounds))[0])
        assert earned / 10_000 > least * optimal(instance).gain


def test_first_pulls_show_that_a_bound_is_too_short() -> None:
    """Ten arms that pay after 50 rounds only; two doublings of 30 would be one too many."""
    learner = BayesRotation(10)
    simulate(Instance.blocking([1.0] * 10, [50] * 10), learner, 3000, seed=0)
    assert learner.bound == 60


def test_longer_rests_among_many_arms_are_no_first_pulls() -> None:
    """Every later pull pays nothing, after a rest beyond all delays that are told apart."""
    learner = BayesRotation(200)
    for first in range(0, 200, 100):
        learner._learn(Block(tuple(range(first, first + 100))), Outcome([1.0] * 100, [0.0] * 100))
    for _ in range(3):
        learner._learn(Block(tuple(range(200))), Outcome([0.0] * 200, [0.0] * 200))
    assert learner.bound == 240  # the first of 30, 60, 120, ... beyond 200


@pytest.mark.parametrize("make", [BayesRotation, Rotation])
def test_a_bound_grows_no_further_than_what_can_be_held(
    make: type[BayesRotation | Rotation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make, "_most_cells", 2 * 41)
    learner = make(2)
    learner._learn(Block((0, 1), 2**40), Outcome([0.0] * 2, [0.0] * 2))
    assert learner.bound == 40
    learner.ask()


def test_its_loss_falls_for_as_long_as_it_plays() -> None:
    instance = catalog.figure2(seed=0)
    rounds = [10**4, 10**6, 10**8, 10**10]
    run = simulate(instance, BayesRotation(7, 6), rounds[-1], seed=0, checkpoints=rounds)
    loss = 1 - run.expected_reward(rounds) / np.array(rounds) / optimal(instance).gain
    assert loss[-1] < 1e-6
    assert (loss[1:] < loss[:-1] / 5).all()


def grown(before: Cells, now: Cells) -> bool:
    return bool((now.counts >= before.counts + np.maximum(GROWTH * before.counts, 1)).any())


@pytest.mark.parametrize("cost", [0.0, 2.0])
def test_some_cell_grows_by_a_quarter_in_every_epoch(cost: float) -> None:
    """The proof of the bound on switches rests on it; an epoch has two blocks at most."""
    spy = Spy(BayesRotation(5, max_delay=4, switching_cost=cost))
    simulate(catalog.random_geometric(arms=5, max_delay=4, seed=1), spy, 50_000, seed=1)
    before, now = Cells(5, max_delay=4), Cells(5, max_delay=4)
    blocks = epochs = 0
    for block, outcome in zip(spy.blocks, spy.outcomes, strict=False):
        now.credit(block, outcome)
        blocks += 1
        if grown(before, now):
            before.counts[:] = now.counts
            blocks, epochs = 0, epochs + 1
        assert blocks < 2
    assert epochs > 50


@given(st.integers(0, 10**6), st.integers(100, 20_000))
def test_switches_never_exceed_the_proved_bound(seed: int, horizon: int) -> None:
    instance = catalog.random_table(arms=4, max_delay=3, seed=seed)
    run = simulate(instance, BayesRotation(4, max_delay=3), horizon, seed)
    assert run.switches(horizon) <= 2 * (4 * 4 * math.log(horizon, 1.25) + 1)


def test_regret_is_far_below_the_order_that_rotation_is_proved_to_have() -> None:
    """No bound is proved for it; sqrt(k (D + 1) T ln T) is Rotation's, and this is a third."""
    for seed in range(4):
        instance = catalog.random_geometric(seed=seed)
        arms, columns = instance.arms, instance.max_delay + 1
        for horizon in (10**3, 10**4, 10**5, 10**6):
            learner = BayesRotation(arms, instance.max_delay)
            run = simulate(instance, learner, horizon, seed, checkpoints=[horizon])
            regret = horizon * optimal(instance).gain - float(run.expected_reward(horizon))
            assert regret < math.sqrt(arms * columns * horizon * math.log(horizon)) / 3


def test_a_cost_makes_it_switch_less() -> None:
    def switches(cost: float) -> float:
        study = replicate(
            catalog.figure2, lambda *_: BayesRotation(7, 6, None, cost), 10**4, 6, seed=5
        )
        return float(study.switches[:, 0, -1].mean())

    free, cheap, dear = map(switches, (0.0, 1.0, 10.0))
    assert free > 1.5 * cheap > 1.5 * dear


def test_what_is_long_ago_counts_less() -> None:
    """The best of two arms changes; without memory the count of the past is in the way."""

    def second_half(memory: float | None) -> float:
        learner = BayesRotation(2, 1, memory)
        simulate(Instance([[0.8, 0.8], [0.2, 0.2]]), learner, 20_000, seed=1)
        after = simulate(Instance([[0.2, 0.2], [0.7, 0.7]]), learner, 5000, seed=2)
        return float(after.expected_reward(5000)) / 5000

    assert second_half(1000) > 0.6 > second_half(None)


def test_counts_fade_by_the_rounds_that_have_passed() -> None:
    cells = Cells(2, max_delay=1, memory=10)
    cells.credit(Block((0,)), Outcome([1.0], [0.0]))
    cells.credit(Block((1,), 5), Outcome([0.0], [2.0]))
    assert cells.counts[0, 1] == cells.sums[0, 1] == pytest.approx(math.exp(-0.5))
    assert cells.counts[1].tolist() == [4, 1]
    assert (cells.rounds, cells.remembered) == (6, 6)
    cells.credit(Block((1,), 100), Outcome([0.0], [2.0]))
    assert cells.remembered == 10


class SavedOnTheWay(Spy):
    """Keeps the state of the learner whenever it asks for a path that leads to a cycle."""

    states: list[str]

    def ask(self) -> Block:
        block = super().ask()
        if self.learner._then not in (None, block):
            self.states.append(json.dumps(self.learner.state()))
        return block


def test_a_cycle_that_was_to_follow_is_played_after_restoring() -> None:
    spy = SavedOnTheWay(BayesRotation(7, 6))
    spy.states = []
    simulate(catalog.random_geometric(seed=1), spy, 20_000, seed=0)
    assert len(spy.states) > 3
    for state in spy.states:
        restored = BayesRotation.from_state(json.loads(state))
        path = restored.ask()
        restored.tell(path, Outcome([0.5] * len(path.arms), [0.0] * len(path.arms)))
        assert restored.ask() == restored._then
        assert restored.ask().plays > 1
        place = spy.blocks.index(path)
        assert restored.ask() in spy.blocks[place + 1 :]


def test_indices_follow_what_was_earned() -> None:
    learner = BayesRotation(2, 1)
    before = learner.indices()
    block = learner.ask()
    learner.tell(block, Outcome([1.0] * len(block.arms), [0.0] * len(block.arms)))
    assert learner.indices()[block.arms[0], 1] > before[block.arms[0], 1]


def test_a_posterior_that_cannot_be_held_is_refused() -> None:
    with pytest.raises(ValueError, match=r"at most 524,288 cells, got 1,000 x 1,001"):
        BayesRotation(1000, max_delay=1000)


def test_a_memory_is_positive() -> None:
    with pytest.raises(ValueError, match="memory must be"):
        BayesRotation(2, memory=0)
