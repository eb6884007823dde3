"""Logs from files: the same as from arrays, whatever the format."""

import json
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from test_log import everything

from fallow import Log

NAMES: dict[str, Any] = {"user": "who", "time": "at", "arm": "what", "reward": "paid"}
BEGIN = datetime(2026, 1, 31, 12)
GENERATOR = np.random.default_rng(1)
ROWS = 300
PLAYS: dict[str, list[Any]] = {
    "who": [f"user {user}" for user in GENERATOR.integers(20, size=ROWS)],
    "at": [BEGIN + timedelta(seconds=int(each)) for each in GENERATOR.integers(10**5, size=ROWS)],
    "what": [f"arm {arm}" for arm in GENERATOR.integers(5, size=ROWS)],
    "paid": GENERATOR.integers(2, size=ROWS).tolist(),
    "chance": GENERATOR.uniform(0.1, 1, size=ROWS).tolist(),
}
for column, row in (("who", 3), ("at", 50), ("what", 70), ("paid", 90), ("paid", 100)):
    PLAYS[column][row] = None


def write_jsonl(frame: polars.DataFrame, path: Path) -> None:
    lines = (json.dumps(row, default=str) for row in frame.iter_rows(named=True))
    path.write_text("\n".join(lines) + "\n")


WRITERS: dict[str, Callable[[polars.DataFrame, Path], None]] = {
    ".parquet": polars.DataFrame.write_parquet,
    ".csv": polars.DataFrame.write_csv,
    ".jsonl": write_jsonl,
    ".ndjson": write_jsonl,
}


@pytest.fixture(params=WRITERS)
def write(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    """Return what writes columns to a file, in each of the formats."""

    def write_columns(columns: dict[str, Any]) -> Path:
        path = tmp_path / f"plays{request.param}"
        WRITERS[request.param](polars.DataFrame(columns, strict=False), path)
        return path

    return write_columns


Write = Callable[[dict[str, Any]], Path]


def from_arrays(columns: dict[str, Any], **settings: Any) -> Log:
    arrays = {argument: columns[name] for argument, name in NAMES.items()}
    return Log(**arrays, **settings)


@pytest.mark.parametrize("clock", ["rounds", "time"])
def test_a_file_is_the_same_as_arrays(write: Write, clock: str) -> None:
    read = Log.read(write(PLAYS), **NAMES, propensity="chance", clock=clock)
    expected = from_arrays(PLAYS, propensity=PLAYS["chance"], clock=clock)
    assert everything(read) == everything(expected)
    assert (read.counts.missing, read.counts.without_reward) == (3, 2)


def test_users_and_arms_may_be_numbers(write: Write) -> None:
    columns = {
        **PLAYS,
        "who": [None if row == 7 else 2**62 + row % 13 for row in range(ROWS)],
        "what": [None if row == 9 else row % 11 for row in range(ROWS)],
        "at": [row * 7 % 100 for row in range(ROWS)],
    }
    read = Log.read(write(columns), **NAMES)
    assert read.names == tuple(map(str, range(11)))
    assert read.users == 13
    assert everything(read) == everything(from_arrays(columns))


def test_whole_numbers_with_a_point_are_whole(write: Write) -> None:
    columns = {**PLAYS, "what": [None if row == 9 else float(row % 11) for row in range(ROWS)]}
    assert everything(Log.read(write(columns), **NAMES)) == everything(from_arrays(columns))


def test_truth_values_are_rewards(write: Write) -> None:
    columns = {**PLAYS, "paid": [row % 3 == 0 for row in range(ROWS)]}
    assert everything(Log.read(write(columns), **NAMES)) == everything(from_arrays(columns))


def test_propensities_stand_in_a_column_an_arm(write: Write) -> None:
    table = np.random.default_rng(2).dirichlet([1] * 5, ROWS)
    arms = [f"arm {arm}" for arm in (4, 2, 0, 1, 3)]
    columns = {**PLAYS, **{f"p{arm}": table[:, arm].tolist() for arm in range(5)}}
    names = [f"p{arm}" for arm in range(5)]
    read = Log.read(write(columns), **NAMES, propensities=names, arms=arms)
    assert everything(read) == everything(from_arrays(PLAYS, propensities=table, arms=arms))


@pytest.mark.parametrize("kind", [polars.List(polars.Float64), polars.Array(polars.Float64, 5)])
def test_propensities_stand_in_a_column_of_lists(kind: Any, tmp_path: Path) -> None:
    table = np.random.default_rng(2).dirichlet([1] * 5, ROWS)
    frame = polars.DataFrame(PLAYS).with_columns(
        polars.Series("chances", table.tolist(), dtype=kind)
    )
    arms = [f"arm {arm}" for arm in range(5)]
    expected = from_arrays(PLAYS, propensities=table, arms=arms)
    for suffix in (".parquet", ".jsonl"):
        path = tmp_path / f"plays{suffix}"
        WRITERS[suffix](frame, path)
        read = Log.read(path, **NAMES, propensities="chances", arms=arms)
        assert everything(read) == everything(expected)


@pytest.mark.parametrize(
    "kinds",
    [
        [polars.Datetime("ns")],
        [polars.Datetime("ms", "Europe/Paris")],
        [polars.String],
        [polars.String, polars.Categorical],
    ],
)
def test_times_of_a_file_come_in_many_kinds(kinds: list[Any], tmp_path: Path) -> None:
    frame = polars.DataFrame(PLAYS)
    for kind in kinds:
        frame = frame.with_columns(polars.col("at").cast(kind))
    frame.write_parquet(tmp_path / "plays.parquet")
    read = Log.read(tmp_path / "plays.parquet", **NAMES, clock="time")
    assert everything(read) == everything(from_arrays(PLAYS, clock="time"))


@pytest.mark.parametrize("zone", ["Z", "+00:00", ".000+0000"])
def test_times_of_a_zone_may_be_text(write: Write, zone: str) -> None:
    times = [moment and f"{moment.isoformat()}{zone}" for moment in PLAYS["at"]]
    read = Log.read(write({**PLAYS, "at": times}), **NAMES, clock="time")
    assert everything(read) == everything(from_arrays(PLAYS, clock="time"))


def test_days_are_times(write: Write) -> None:
    columns = {**PLAYS, "at": [BEGIN.date() + timedelta(days=row % 50) for row in range(ROWS)]}
    read = Log.read(write(columns), **NAMES, clock="time")
    assert everything(read) == everything(from_arrays(columns, clock="time"))


def test_names_of_a_csv_file_may_begin_as_numbers(tmp_path: Path) -> None:
    path = tmp_path / "plays.csv"
    lines = [f"{row % 3},{row},007,{row % 2}" for row in range(20_000)]
    path.write_text("\n".join(["who,at,what,paid", *lines, "ann,3,7,0.5"]))
    log = Log.read(path, **NAMES)
    assert (log.names, log.users) == (("007", "7"), 4)
    assert log.rewards[-1] == 0.5


def test_rewards_of_json_lines_may_begin_as_whole_numbers(tmp_path: Path) -> None:
    path = tmp_path / "plays.jsonl"
    line = '{"who": "ann", "at": %d, "what": 1, "paid": %s}\n'
    path.write_text("".join(line % (row, 1) for row in range(20_000)) + line % (20_001, 0.5))
    assert Log.read(path, **NAMES).rewards[-1] == 0.5


def test_one_column_may_be_used_twice(write: Write) -> None:
    log = Log.read(write(PLAYS), **{**NAMES, "arm": "who"})
    assert log.names == tuple(sorted({name for name in PLAYS["who"] if name}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reward": "payed"}, "column of reward must be one of .* 'payed'; did you mean 'paid'"),
        ({"propensity": "none"}, "the column of propensity must be one of who, at, what"),
        ({"propensities": ["chance", "p"]}, r"the column of propensities\[1\] must be one of"),
        ({"propensities": ["chance"]}, "arms must be given, in the order of the columns"),
        ({"propensities": []}, "columns must be equally long"),
        ({"time": "who"}, "column of time must hold numbers or dates; .*, got 'user .*' in 'who'"),
        ({"clock": "day"}, "clock must be one of rounds, time"),
        ({"propensity": "chance", "random": True}, "got propensity and random"),
    ],
)
def test_what_a_file_does_not_have_is_refused(
    write: Write, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        Log.read(write(PLAYS), **{**NAMES, **change})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("date", ["01/02/2026", "1.2.2026", "2026-02-31", "2026/01/02", "Jan 1"])
def test_dates_are_never_guessed(write: Write, date: str) -> None:
    """Nobody knows whether 01/02 is in January or in February."""
    for rows in (range(ROWS), (ROWS - 1,)):
        times = [moment and moment.isoformat() for moment in PLAYS["at"]]
        for row in rows:
            times[row] = date
        with pytest.raises(ValueError, match="write them as 2026-01-31 12:00:00, got ") as refused:
            Log.read(write({**PLAYS, "at": times}), **NAMES)
        assert str(refused.value).endswith(f"{date!r} in 'at'")


def test_columns_of_another_kind_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "plays.parquet"
    frame = polars.DataFrame({**PLAYS, "lists": [[0.5]] * (ROWS - 1) + [[0.5, 0.5]]})
    frame.with_columns(like=polars.lit("yes"), clicked=polars.lit(True)).write_parquet(path)
    for change, message in (
        ({"reward": "like"}, "reward must be a column of numbers, got 'like' of String"),
        ({"reward": "at"}, "reward must be a column of numbers, got 'at' of Datetime"),
        ({"reward": "lists"}, "reward must be a column of numbers, got 'lists' of List"),
        ({"arm": "clicked"}, "arm must be all text or all whole numbers, got bool"),
        ({"user": "chance"}, "user must be all text or all whole numbers, got 0"),
        ({"time": "clicked"}, "time must be all numbers or all datetimes, got bool"),
        ({"propensities": "lists"}, r"must be equally long lists, got lengths \[1, 2\]"),
    ):
        with pytest.raises(ValueError, match=message):
            Log.read(path, **{**NAMES, **change})


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"ending of a log's file must be one of \.parquet, "):
        Log.read(tmp_path / "plays.xlsx", **NAMES)
    for suffix in WRITERS:
        path = tmp_path / f"plays{suffix}"
        with pytest.raises(FileNotFoundError, match="must be a log's file, got none"):
            Log.read(path, **NAMES)
        for content in (b"", b"\xff\x00 no log \xff", b"who,at\n1,2,3,4\n"):
            path.write_bytes(content)
            with pytest.raises(ValueError, match=r"must be .* got") as refused:
                Log.read(path, **NAMES)
            assert "\n" not in str(refused.value)


def test_what_is_wrong_with_a_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "plays.csv"
    frame = polars.DataFrame(PLAYS)
    for separator in ";\t":
        frame.write_csv(path, separator=separator)
        with pytest.raises(ValueError, match=r"plays\.csv must be a comma, got the header 'who"):
            Log.read(path, **NAMES)
    frame.write_parquet(path)
    with pytest.raises(ValueError, match=r"must be \.csv, got Parquet; name it \.parquet"):
        Log.read(path, **NAMES)


def test_a_file_without_rows_is_refused(tmp_path: Path) -> None:
    for suffix in (".csv", ".parquet"):
        path = tmp_path / f"plays{suffix}"
        WRITERS[suffix](polars.DataFrame(PLAYS).head(0), path)
        with pytest.raises(ValueError, match="a log must have rows, got none"):
            Log.read(path, **NAMES)


def test_a_table_is_no_path() -> None:
    table: Any = polars.DataFrame(PLAYS)
    with pytest.raises(ValueError, match=r"got a DataFrame; give its columns to Log\(user=\.\.\."):
        Log.read(table, **NAMES)


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_a_file_that_was_cut_is_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"plays{suffix}"
    WRITERS[suffix](polars.DataFrame(PLAYS), path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2 - 3])
    with pytest.raises(ValueError, match=r"plays\.[a-z]+ must be a log that can be read, got: "):
        Log.read(path, **NAMES)


def test_arrays_do_not_need_the_library_that_reads_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    assert from_arrays(PLAYS).plays == ROWS - 3
    with pytest.raises(ModuleNotFoundError, match=r'needs polars: pip install "fallow\[data\]"'):
        Log.read(tmp_path / "plays.csv", **NAMES)
