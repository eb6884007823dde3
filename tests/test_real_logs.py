"""Two real logs, which are not shipped: what they say, and that the pages on them say so."""

import os
from pathlib import Path

import numpy as np
import polars
import pytest
from helpers import run_command, runner

from fallow import Log
from fallow.logs import CannotSay, fit, plan_and_value, rest_matters, value
from reproduction.cli import app
from reproduction.logs import movielens, task_switching
from reproduction.logs.history import by_cells, by_history

ROOT = Path(__file__).parent.parent
GIVEN = os.environ.get("FALLOW_DATA")
BLOCKS, ROUND_ROBIN = task_switching.BLOCKS, task_switching.ROUND_ROBIN


@pytest.fixture(scope="module")
def folder() -> Path:
    """Where the logs are; whoever names a folder that is not there gets an error."""
    folder = Path(GIVEN) if GIVEN else ROOT.parent / "shared" / "data"
    if not GIVEN and not folder.is_dir():
        pytest.skip("the real logs are not shipped: FALLOW_DATA names their folder")
    return folder


@pytest.fixture(scope="module")
def tasks(folder: Path) -> Log:
    return task_switching.read(folder)


@pytest.fixture(scope="module")
def ratings(folder: Path) -> polars.DataFrame:
    return movielens.read(folder)


def test_repeating_a_task_helps_in_the_next_round_only(tasks: Log) -> None:
    verdict = rest_matters(tasks)
    assert verdict.verdict == "repeating helps"
    assert verdict.lasts == 1
    assert -0.045 < verdict.interval[0] < verdict.interval[1] < -0.025
    assert {arm.verdict for arm in verdict.arms} == {"repeating helps"}
    assert all(fit(tasks).falls)


def test_blocks_of_a_task_are_better_than_taking_turns(tasks: Log) -> None:
    blocks, turns = by_cells(tasks, BLOCKS), by_cells(tasks, ROUND_ROBIN)
    assert value(tasks, BLOCKS.tolist()).mean == pytest.approx(blocks.mean, abs=1e-12)
    assert value(tasks, ROUND_ROBIN.tolist()).mean == pytest.approx(turns.mean, abs=1e-12)
    gain = blocks.above(turns)
    assert 0.02 < gain.low < gain.value < gain.high < 0.042


def test_longer_history_adds_to_blocks_and_not_to_taking_turns(tasks: Log) -> None:
    for rounds in (2, 3, 4):
        assert by_history(tasks, BLOCKS, rounds).above(by_cells(tasks, BLOCKS)).low > 0
    for rounds in range(1, task_switching.HISTORY + 1):
        more = by_history(tasks, ROUND_ROBIN, rounds).above(by_cells(tasks, ROUND_ROBIN))
        assert more.low < 0 < more.high


def test_ratings_do_not_tell_whether_rest_matters(ratings: polars.DataFrame) -> None:
    log = movielens.log_of(ratings)
    verdict = rest_matters(log)
    assert verdict.verdict == "cannot say"
    assert "propensities" in verdict.missing
    across, within = verdict.comparisons
    assert across.low < 0 < across.high
    assert within.low > 0
    assert verdict.interval == (across.low, within.high)
    with pytest.raises(CannotSay, match="propensities"):
        plan_and_value(log)


def test_what_is_taken_off_ratings_decides_what_they_say(ratings: polars.DataFrame) -> None:
    _, within = rest_matters(movielens.log_of(ratings)).comparisons
    found = [rest_matters(log).comparisons for log in movielens.adjusted(ratings).values()]
    films, session, both = [tuple(map(movielens.on_scale_of_ratings, pair)) for pair in found]
    assert films[0].high < 0 < films[1].value < 0.55 * within.value
    assert min(session[0].low, session[1].low) > 0
    assert both[0].value < 0 < both[1].low
    for _, slope in (films, session, both):
        assert slope.low > 0


def test_ratings_rise_with_rest_until_genres_are_told_apart(ratings: polars.DataFrame) -> None:
    log = movielens.log_of(ratings)
    genres = np.bincount(log.arms, log.rewards) / np.bincount(log.arms)
    soon, rested = log.delays == 1, log.delays == log.max_delay + 1
    rise = log.rewards[rested].mean() - log.rewards[soon].mean()
    of_genres = genres[log.arms[rested]].mean() - genres[log.arms[soon]].mean()
    assert rise > 0.01
    assert abs(rise - of_genres) < 0.002


def test_the_pages_are_what_the_command_writes(folder: Path, tmp_path: Path) -> None:
    run_command("logs", str(folder), "--out", str(tmp_path), app=app)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(written) == 4
    for name, content in written.items():
        assert (ROOT / "docs" / "explanation" / "logs" / name).read_bytes() == content, name


def test_a_folder_without_the_logs_is_named(tmp_path: Path) -> None:
    missing = runner.invoke(app, ["logs", str(tmp_path)])
    assert missing.exit_code == 2
    assert f"{task_switching.FILE} must be a file" in missing.stderr
    path = tmp_path / task_switching.FILE
    path.parent.mkdir()
    path.write_bytes(b"no Parquet")
    damaged = runner.invoke(app, ["logs", str(tmp_path)])
    assert damaged.exit_code == 2
    assert f"{task_switching.FILE} must be a Parquet file" in damaged.stderr


def test_plays_alike_are_those_that_a_loop_finds() -> None:
    draw = np.random.default_rng(0)
    users, rounds = 7, 40
    arms, rewards = draw.integers(0, 2, (users, rounds)), draw.random((users, rounds))
    user, time = np.divmod(np.arange(users * rounds), rounds)
    log = Log(
        user=user, time=time, arm=arms.ravel(), reward=rewards.ravel(), max_delay=3, random=True
    )
    cycle = [0, 0, 1]
    means = []
    for position in range(3):
        recent = [cycle[(position - lag) % 3] for lag in range(3)]
        means.append(
            np.mean(
                [
                    rewards[who, now]
                    for who in range(users)
                    for now in range(2, rounds)
                    if [arms[who, now - lag] for lag in range(3)] == recent
                ]
            )
        )
    told = by_history(log, np.array(cycle), 2)
    assert told.mean == pytest.approx(np.mean(means))
    assert told.moves.sum() == pytest.approx(0)
    assert np.abs(told.moves).min() > 0
