"""Accounts of what was played, against counting pull by pull."""

from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
import reference
from helpers import Scripted
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import instances

from fallow import Block, Instance, LowSwitch, Trajectory, catalog, simulate
from fallow.learners import Follow
from fallow.planners import ghost


def pulls_of(blocks: list[Block], horizon: int) -> list[int]:
    pulls: list[int] = []
    for block in blocks:
        pulls += list(block.arms) * block.plays
    while len(pulls) < horizon:
        pulls += list(blocks[-1].arms)
    return pulls[:horizon]


@st.composite
def scripts(draw: st.DrawFn, arms: int) -> list[Block]:
    cycle = st.lists(st.integers(0, arms - 1), min_size=1, max_size=6)
    blocks = draw(st.lists(st.tuples(cycle, st.integers(1, 9)), min_size=1, max_size=6))
    return [Block(tuple(arms), plays) for arms, plays in blocks]


@settings(max_examples=2000)
@given(instances, st.data())
def test_totals_equal_counting_pull_by_pull(instance: Instance, data: st.DataObject) -> None:
    """Repeated arms in a block, and blocks that start from any delays, at every single round."""
    blocks = data.draw(scripts(instance.arms))
    horizon = data.draw(st.integers(1, sum(block.pulls for block in blocks)))
    run = simulate(instance, Scripted(blocks), horizon, seed=0)
    rewards = reference.played(instance.means.tolist(), pulls_of(blocks, horizon))
    at = np.arange(horizon + 1)
    expected = np.concatenate([[0], np.cumsum(rewards)])
    np.testing.assert_allclose(run.expected_reward(at), expected, rtol=0, atol=1e-12)


@given(instances, st.data())
def test_a_single_total_equals_counting_pull_by_pull(
    instance: Instance, data: st.DataObject
) -> None:
    """Without a checkpoint in between, blocks are entered whole, however many plays they have."""
    blocks = data.draw(scripts(instance.arms))
    horizon = data.draw(st.integers(1, sum(block.pulls for block in blocks)))
    run = simulate(instance, Scripted(blocks), horizon, seed=0)
    rewards = reference.played(instance.means.tolist(), pulls_of(blocks, horizon))
    assert float(run.expected_reward(horizon)) == pytest.approx(sum(rewards), abs=1e-12)


@given(instances, st.data())
def test_switches_count_changes_of_the_cycle(instance: Instance, data: st.DataObject) -> None:
    blocks = data.draw(scripts(instance.arms))
    horizon = sum(block.pulls for block in blocks)
    run = simulate(instance, Scripted(blocks), horizon, seed=0)
    expected, previous, count = [0], blocks[0].arms, 0
    for block in blocks:
        count += block.arms != previous
        previous = block.arms
        expected += [count] * block.pulls
    assert run.switches(np.arange(horizon + 1)).tolist() == expected


@given(instances, st.data())
def test_checkpoints_tell_what_the_whole_trajectory_tells(
    instance: Instance, data: st.DataObject
) -> None:
    blocks = data.draw(scripts(instance.arms))
    horizon = sum(block.pulls for block in blocks)
    at = sorted(data.draw(st.sets(st.integers(0, horizon), min_size=1)))
    whole = simulate(instance, Scripted(blocks), horizon, seed=0)
    sampled = simulate(instance, Scripted(blocks), horizon, seed=0, checkpoints=at)
    assert sampled.expected_reward(at).tolist() == whole.expected_reward(at).tolist()
    assert sampled.switches(at).tolist() == whole.switches(at).tolist()


def test_a_horizon_of_a_million_billions_does_not_drift() -> None:
    instance = Instance.b2dep([0.7, 0.1], [1, 1], [0.3])
    horizon = 10**15
    run = simulate(instance, Scripted([Block((0, 1), 10), Block((0,), 2**50)]), horizon, seed=0)
    # Twenty rounds at rest, one more pull of arm 0 at delay 2, then always at delay 1.
    expected = 10 * 0.8 + 0.7 + (horizon - 21) * 0.49
    assert float(run.expected_reward(horizon)) == pytest.approx(expected, rel=1e-15)
    assert float(run.regret(0.49, horizon)) == pytest.approx(-(10 * 0.8 + 0.7 - 21 * 0.49), abs=0.2)


def test_regret_charges_switches() -> None:
    run = simulate(catalog.figure3(), Scripted([Block((0,)), Block((1,))]), 10, seed=0)
    plain = run.regret(0.7, [1, 2, 10])
    assert (run.regret(0.7, [1, 2, 10], switching_cost=2) - plain).tolist() == [0, 2, 2]


@pytest.mark.parametrize("seed", range(5))
def test_regret_against_a_run_is_what_that_run_earned_beyond(seed: int) -> None:
    """G_t(ghost) - G_t(pi): less than regret against t g(r*) by ghost's own, at every round."""
    instance, horizon = catalog.figure2(seed), 3000
    plan = ghost(instance)
    best = simulate(instance, Follow(plan), horizon, seed=0)
    run = simulate(instance, LowSwitch(instance.order, horizon), horizon, seed=0)
    at = np.arange(horizon + 1)
    assert best.regret(best, at, switching_cost=5).tolist() == [0.0] * (horizon + 1)
    apart = run.regret(plan, at, switching_cost=2) - run.regret(best, at, switching_cost=2)
    np.testing.assert_allclose(apart, best.regret(plan, at), rtol=0, atol=1e-9)
    # Whole plays after the first, in which all arms are rested, earn m g(r*) each; in between,
    # no more than one play is gained or lost.
    length = len(plan.cycle)
    ahead = plan.gain * length - instance.baselines[list(plan.cycle)].sum()
    np.testing.assert_allclose(apart[length::length], ahead, rtol=0, atol=1e-9)
    assert np.abs(apart[length:] - ahead).max() <= length


def test_the_rounds_of_a_reference_must_be_its_own() -> None:
    learner = Scripted([Block((0,))])
    run, short = (simulate(catalog.figure3(), learner, rounds, seed=0) for rounds in (20, 10))
    assert run.regret(short, 10) == 0
    with pytest.raises(ValueError, match=r"reference must have played .*whole rounds from 0 to 10"):
        run.regret(short, [5, 11])
    sampled = simulate(catalog.figure3(), learner, 20, seed=0, checkpoints=[5, 20])
    assert run.regret(sampled, [5, 20]).tolist() == [0, 0]
    with pytest.raises(ValueError, match=r"at must be among the checkpoints .* got 7; add it"):
        run.regret(sampled, 7)


@pytest.mark.parametrize("checkpoints", [None, [0, 3, 50]])
def test_saved_and_loaded_trajectories_tell_the_same(
    tmp_path: Path, checkpoints: list[int] | None
) -> None:
    blocks = [Block((0, 1), 3), Block((1,), 5), Block((0, 0, 1), 20)]
    run = simulate(catalog.figure3(), Scripted(blocks), 50, seed=0, checkpoints=checkpoints)
    run.save(tmp_path / "run.npz")
    loaded = Trajectory.load(tmp_path / "run.npz")
    at = [0, 3, 50]
    assert type(loaded) is type(run)
    assert loaded.horizon == 50
    assert loaded.expected_reward(at).tolist() == run.expected_reward(at).tolist()
    assert loaded.switches(at).tolist() == run.switches(at).tolist()


def test_a_frame_has_one_row_a_round() -> None:
    run = simulate(catalog.figure3(), Scripted([Block((0, 1))]), 10, seed=0)
    frame = run.frame([2, 4])
    assert isinstance(frame, polars.DataFrame)
    assert frame.rows() == [
        (2, run.expected_reward(2), run.switches(2)),
        (4, run.expected_reward(4), run.switches(4)),
    ]


def test_rounds_that_are_not_there_are_named() -> None:
    learner = Scripted([Block((0,))])
    run = simulate(catalog.figure3(), learner, 10, seed=0)
    wrong: Any
    for wrong in (11, -1, [3, 12], 2.5):
        with pytest.raises(ValueError, match="at must be whole rounds from 0 to 10"):
            run.expected_reward(wrong)
    sampled = simulate(catalog.figure3(), learner, 10, seed=0, checkpoints=[5, 10])
    with pytest.raises(ValueError, match=r"at must be among the checkpoints .* got 7; add it"):
        sampled.switches([5, 7])
