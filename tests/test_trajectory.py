"""Accounts of what was played, against counting pull by pull."""

import tracemalloc
import zipfile
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

from fallow import Block, Instance, LowSwitch, Trajectory, catalog, simulate, trajectory_file
from fallow.errors import InputError
from fallow.learners import UCB1, Follow
from fallow.planners import ghost
from fallow.trajectory import RunTrajectory


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


@given(instances, st.data())
def test_arms_and_counts_equal_counting_pull_by_pull(
    instance: Instance, data: st.DataObject
) -> None:
    blocks = data.draw(scripts(instance.arms))
    horizon = data.draw(st.integers(1, sum(block.pulls for block in blocks)))
    run = simulate(instance, Scripted(blocks), horizon, seed=0)
    pulls = pulls_of(blocks, horizon)
    assert run.arms().tolist() == pulls
    start = data.draw(st.integers(0, horizon))
    stop = data.draw(st.integers(start, horizon))
    assert run.arms(start, stop).tolist() == pulls[start:stop]
    counted = [pulls[:stop].count(arm) for arm in range(instance.arms)]
    assert run.counts(stop).tolist() == counted
    assert run.counts().tolist() == [pulls.count(arm) for arm in range(instance.arms)]


@given(instances, st.data())
def test_rewards_that_were_kept_are_those_that_were_told(
    instance: Instance, data: st.DataObject
) -> None:
    """Pull by pull, from rested arms, with the random numbers of the seed; blocks add them up."""
    blocks = data.draw(scripts(instance.arms))
    horizon = data.draw(st.integers(1, sum(block.pulls for block in blocks)))
    learner = Scripted(blocks)
    run = simulate(instance, learner, horizon, seed=5, keep_rewards=True)
    pulls = pulls_of(blocks, horizon)
    expected = reference.played(instance.means.tolist(), pulls)
    generator = np.random.default_rng(5)
    drawn = [float(generator.random() < mean) for mean in expected]
    assert run.arms().tolist() == pulls
    assert run.rewards().tolist() == drawn
    assert run.rewards(1, horizon).tolist() == drawn[1:]
    np.testing.assert_allclose(run.expected_reward(), sum(expected), rtol=0, atol=1e-12)
    now = 0
    for block, outcome in zip(blocks, learner.outcomes, strict=False):
        length = len(block.arms)
        plays = np.reshape(drawn[now : now + block.pulls], (-1, length))
        assert list(outcome.first) == plays[0].tolist()
        assert list(outcome.rest) == plays[1:].sum(axis=0).tolist()
        now += block.pulls
    assert horizon - now < blocks[min(len(learner.outcomes), len(blocks) - 1)].pulls


def test_kept_rewards_do_not_change_a_run_of_single_pulls() -> None:
    instance = catalog.figure2()
    plain = simulate(instance, UCB1(7), 500, seed=3)
    kept = simulate(instance, UCB1(7), 500, seed=3, keep_rewards=True)
    assert plain.arms().tolist() == kept.arms().tolist()


def test_rewards_that_were_not_kept_are_not_made_up() -> None:
    run = simulate(catalog.figure3(), Scripted([Block((0,))]), 10, seed=0)
    with pytest.raises(ValueError, match=r"rewards must have been kept .* keep_rewards=True"):
        run.rewards()
    with pytest.raises(ValueError, match=r"checkpoints must be None with keep_rewards"):
        simulate(catalog.figure3(), UCB1(2), 10, seed=0, checkpoints=[5], keep_rewards=True)
    with pytest.raises(ValueError, match=r"horizon must be at most 10,000,000 with keep_rewards"):
        simulate(catalog.figure3(), UCB1(2), 10**8, seed=0, keep_rewards=True)


def test_a_horizon_of_a_million_billions_tells_its_pulls() -> None:
    run = simulate(catalog.figure3(), Scripted([Block((0, 1), 10), Block((0,), 2**50)]), 10**15, 0)
    assert run.counts().tolist() == [10**15 - 10, 10]
    assert run.counts(at=15).tolist() == [8, 7]
    assert run.arms(17, 22).tolist() == [1, 0, 1, 0, 0]
    assert run.arms(10**15 - 2).tolist() == [0, 0]
    with pytest.raises(ValueError, match=r"stop - start must be at most 100,000,000, got"):
        run.arms()


def test_rounds_outside_of_the_run_have_no_arms() -> None:
    run = simulate(catalog.figure3(), Scripted([Block((0,))]), 10, seed=0)
    for start, stop in ((-1, 3), (0, 11), (5, 4)):
        with pytest.raises(ValueError, match=r"(start|stop) must be (a whole number >=|at most)"):
            run.arms(start, stop)
    with pytest.raises(ValueError, match=r"at must be at most 10, got 11"):
        run.counts(11)
    sampled = simulate(catalog.figure3(), Scripted([Block((0,))]), 10, seed=0, checkpoints=[5])
    for ask in (sampled.arms, sampled.counts, sampled.rewards):
        with pytest.raises(ValueError, match=r"must be kept whole .* simulate without checkpoints"):
            ask()


def test_totals_are_those_of_the_end_unless_rounds_are_given() -> None:
    run = simulate(catalog.figure3(), Scripted([Block((0,)), Block((1,))]), 10, seed=0)
    assert run.expected_reward() == run.expected_reward(10)
    assert run.switches() == run.switches(10) == 1
    assert run.regret(0.7, switching_cost=2) == run.regret(0.7, 10, switching_cost=2)


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


def test_saved_and_loaded_runs_have_the_same_arms_names_and_rewards(tmp_path: Path) -> None:
    songs = Instance([[0.5], [0.4]], names=["hymn", 'Zoë\u202e\n"\\'])
    run = simulate(songs, Scripted([Block((0, 1), 3)]), 50, seed=0, keep_rewards=True)
    run.save(tmp_path / "run.npz")
    loaded = Trajectory.load(tmp_path / "run.npz")
    assert isinstance(loaded, RunTrajectory)
    assert loaded.names == songs.names
    assert loaded.arms().tolist() == run.arms().tolist()
    assert loaded.rewards().tolist() == run.rewards().tolist()
    assert 0 < loaded.rewards().sum() < 50


@pytest.mark.parametrize(
    ("name", "array", "rule"),
    [
        ("names", np.frombuffer(b"{", np.uint8), "names must be a list in JSON"),
        ("names", np.frombuffer(b"[1, 2]", np.uint8), "names must be strings, got 1 for arm 0"),
        ("names", np.frombuffer(b'["a"]', np.uint8), "names must be one for each arm, got 1"),
        ("names", np.zeros(2), "names must be of uint8"),
        ("drawn", np.zeros(9), "drawn must be one a round, or none, got 9"),
        ("drawn", np.full(10, 1.5), r"drawn must lie in \[0, 1\], got 1.5 in round 1"),
        ("drawn", np.full(10, np.nan), r"drawn must lie in \[0, 1\], got nan in round 1"),
    ],
)
def test_files_with_wrong_names_or_rewards_are_refused(
    tmp_path: Path, name: str, array: Any, rule: str
) -> None:
    path = tmp_path / "run.npz"
    simulate(catalog.figure3(), UCB1(2), 10, seed=0).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **{**arrays, name: array})
    with pytest.raises(ValueError, match=rule):
        Trajectory.load(path)


def test_a_small_file_cannot_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    simulate(catalog.figure3(), UCB1(2), 10, seed=0).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    numbers = 40_000_000
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                if name != "starts":
                    np.lib.format.write_array(member, array)
                    continue
                header = {"descr": "<i8", "fortran_order": False, "shape": (numbers,)}
                np.lib.format.write_array_header_1_0(member, header)
                for _ in range(numbers // 10**6):
                    member.write(bytes(8 * 10**6))
    assert path.stat().st_size < 2_000_000
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"arrays must have at most 268,435,456 bytes in all"):
            Trajectory.load(path)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_starts_are_checked_before_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    simulate(catalog.figure3(), UCB1(2), 10, seed=0).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    starts = np.arange(10**6)[::-1]
    wrong = {"starts": starts, "pulls": np.zeros(3)}
    np.savez_compressed(path, **{**arrays, **wrong})
    with pytest.raises(InputError, match=r"starts must rise, got 999999 and then 999998 at posit"):
        Trajectory.load(path)


def test_what_was_saved_can_be_loaded_however_well_it_compresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trajectory_file, "MAX_BYTES", 10_000)
    run = simulate(Instance([[0.0]]), Scripted([Block((0,), 1)]), 50_000, 0, keep_rewards=True)
    run.save(tmp_path / "run.npz")
    loaded = Trajectory.load(tmp_path / "run.npz")
    assert loaded.rewards().tolist() == [0.0] * 50_000


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
    assert run.frame()["round"].to_list() == list(range(1, 11))
    sampled = simulate(catalog.figure3(), Scripted([Block((0, 1))]), 10, 0, checkpoints=[0, 7])
    assert sampled.frame()["round"].to_list() == [0, 7]


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
