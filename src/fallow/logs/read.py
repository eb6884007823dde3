"""The rows of a log from a file; with `frames` the only place that imports polars."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray
from fallow.errors import InputError
from fallow.extras import needed_by
from fallow.logs.columns import Names, in_order, names_of, numbers_of, times_of
from fallow.logs.rows import Rows

if TYPE_CHECKING:
    from polars import DataFrame, DataType, Expr, LazyFrame, Series

SUFFIXES = (".parquet", ".csv", ".jsonl", ".ndjson")
PARQUET = b"PAR1"
"""How such a file begins."""
LOOKED_AT = 10_000
"""Rows that tell what the columns of a text file hold."""
EVENT = {"seq", "kind", "id", "user", "arm", "reward", "at"}
"""Columns by which the log of a live campaign is known."""
DATE = r"^\d{4}-\d{2}-\d{2}([T ]|$)"
"""How dates that are text begin; nobody knows whether 01/02 is in January or in February."""


def read_rows(
    path: str | Path,
    columns: Mapping[str, str],
    propensities: str | Sequence[str] | None,
    clock: str,
) -> Rows:
    """Return the rows of a file; `columns` has the names of its columns by what they hold.

    There may be many rows, so users and arms become numbers while they are read, in one pass.
    """
    with needed_by("a log's file"):
        import polars
    if not isinstance(path, str | PathLike):
        raise InputError(
            "path",
            "must be that of a file",
            f"a {type(path).__name__}; give its columns to Log(user=..., time=..., arm=..., "
            "reward=...) instead",
        )
    path = Path(path)
    checks.one_of("the ending of a log's file", path.suffix, SUFFIXES)
    if not path.is_file():
        raise FileNotFoundError(f"{path} must be a log's file, got none of that name")
    if isinstance(propensities, str):
        chances = {"propensities": propensities}
    else:
        chances = {f"propensities[{arm}]": name for arm, name in enumerate(propensities or ())}
    try:
        frame = _collect(path, {**columns, **chances}, clock)
        table = None if propensities is None else _table(frame.select(list(chances)))
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{path}", f"must be a log that can be read, got: {reason}") from None
    users = _names("user", frame.drop_in_place("user"))
    arms = _names("arm", frame.drop_in_place("arm"))
    times = times_of(frame.drop_in_place("time").to_numpy())
    return Rows(
        user=users.codes,
        time=times.since,
        arm=arms.codes,
        reward=frame.drop_in_place("reward").to_numpy(),
        propensity=frame["propensity"].to_numpy() if "propensity" in frame.columns else None,
        propensities=table,
        names=arms.known,
        unit=times.unit,
    )


def _collect(path: Path, columns: Mapping[str, str], clock: str) -> DataFrame:
    """Return columns by what they hold, those of users and arms as categories."""
    import polars

    lazy = _scan(path, columns)
    if set(lazy.collect_schema()) >= EVENT:
        lazy = _plays(lazy, clock)
        if "propensity" in lazy.collect_schema():
            columns = {"propensity": "propensity", **columns}
    schema = lazy.collect_schema()
    header = schema.names()
    if path.suffix == ".csv" and len(header) == 1 and re.search("[;\t|]", header[0]):
        raise InputError(f"the separator of {path}", "must be a comma", f"the header {header[0]!r}")
    for argument, name in columns.items():
        checks.one_of(f"the column of {argument}", name, schema)
    if lazy.head(1).collect().is_empty():
        raise InputError("a log", "must have rows", "none")
    wanted = [_column(argument, name, schema[name]) for argument, name in columns.items()]
    time = columns["time"]
    frame = lazy.select(*wanted, no_time=polars.col(time).is_null()).collect(engine="streaming")
    unreadable = frame["time"].is_null() & ~frame.drop_in_place("no_time")
    if unreadable.any():
        value = lazy.select(time).slice(unreadable.arg_max() or 0, 1).collect().item()
        raise InputError(
            "the column of time",
            "must hold numbers or dates; write them as 2026-01-31 12:00:00",
            f"{value!r} in {time!r}",
        )
    return frame


def _scan(path: Path, columns: Mapping[str, str]) -> LazyFrame:
    import polars

    if path.suffix == ".parquet":
        return polars.scan_parquet(path, glob=False)
    with path.open("rb") as file:
        if file.read(len(PARQUET)) == PARQUET:
            raise InputError(f"{path}", f"must be {path.suffix}", "Parquet; name it .parquet")
    scan = polars.scan_csv if path.suffix == ".csv" else polars.scan_ndjson
    guess = scan(path, infer_schema_length=LOOKED_AT).collect_schema()
    better: dict[str, Any] = {}
    for argument, name in columns.items():
        if guess.get(name) != polars.Int64 or argument == "time":
            continue
        # What was whole so far may be a number with a fraction, or in a CSV file a name.
        if argument not in ("user", "arm"):
            better[name] = polars.Float64()
        elif path.suffix == ".csv":
            better[name] = polars.String()
    return scan(path, infer_schema_length=LOOKED_AT, schema_overrides=better)


def _plays(lazy: LazyFrame, clock: str) -> LazyFrame:
    """Return one row per play from the events of a live campaign; the latest reward counts.

    Where rounds are counted, the number of the event is its time, as in `Campaign.log`: clocks of
    several processes may differ.
    """
    import polars

    kind = polars.col("kind")
    rewarded = lazy.filter(kind.is_in(["feedback", "default"])).sort("seq")
    rewards = rewarded.unique("id", keep="last").select("id", "reward")
    cancelled = lazy.filter(kind == "cancel").select("id")
    shown = lazy.filter(kind == "decision").drop("reward").join(cancelled, on="id", how="anti")
    plays = shown.join(rewards, on="id", how="left")
    return plays.sort("seq").with_columns(time="seq" if clock == "rounds" else "at")


def _column(argument: str, name: str, kind: DataType) -> Expr:
    import polars

    column = polars.col(name).alias(argument)
    is_text = kind in (polars.String, polars.Categorical, polars.Enum)
    if argument in ("user", "arm"):
        if is_text or kind.is_integer():
            return column.cast(polars.String).cast(polars.Categorical)
        return column
    if argument == "time":
        return _moments(name).alias(argument) if is_text else column
    if argument == "propensities" and kind.is_nested():
        return column
    if not (kind.is_numeric() or kind in (polars.Boolean, polars.Null)):
        raise InputError(argument, "must be a column of numbers", f"{name!r} of {kind}")
    return column.cast(polars.Float64)


def _moments(name: str) -> Expr:
    """Return dates that are text as such, null where they are not readable."""
    import polars

    text = polars.col(name).cast(polars.String)
    dates = polars.when(text.str.contains(DATE)).then(text)
    return dates.str.to_datetime(time_zone="UTC", strict=False)


def _names(argument: str, column: Series) -> Names:
    import polars

    if column.dtype != polars.Categorical:
        return names_of(argument, column.to_numpy())
    distinct = column.drop_nulls().unique()
    names = distinct.cast(polars.String).to_list()
    numbers = distinct.to_physical().to_numpy().astype(np.int64)
    missing = int(numbers.max(initial=-1)) + 1
    return in_order(names, numbers, column.to_physical().fill_null(missing).to_numpy())


def _table(columns: DataFrame) -> FloatArray:
    """Return propensities as rows x arms, from a column an arm or a single one of lists."""
    import polars

    if columns.width != 1 or not columns.dtypes[0].is_nested():
        return numbers_of("propensities", columns.to_numpy(), 2)
    lists = columns.to_series()
    if isinstance(lists.dtype, polars.List):
        lengths = lists.list.len().drop_nulls().unique().sort().to_list()
        if len(lengths) != 1:
            raise InputError("propensities", "must be equally long lists", f"lengths {lengths}")
        lists = lists.list.to_array(lengths[0])
    return numbers_of("propensities", lists.to_numpy(), 2)
