"""Results and logs as frames of polars and of pandas, with the same rows."""

from typing import Any

import numpy as np
import polars
import pytest

from fallow import Log, RankingUCB, catalog, replicate

ROWS: dict[str, Any] = {
    "user": ["ann", "ann", "bob", "ann"],
    "time": [1, 3, 1, 2],
    "arm": ["hymn", "hymn", "waltz", "waltz"],
    "reward": [1, 0, None, 0.5],
}


def frames() -> dict[str, polars.DataFrame]:
    pi_ucb = {"pi_ucb": lambda instance, _: RankingUCB(instance.order)}
    result = replicate(catalog.figure3(), pi_ucb, 100, runs=3, seed=0, workers=1)
    return {"result": result.frame(), "log": Log(**ROWS, max_delay=2).frame()}


def test_a_log_has_a_row_a_play_in_the_order_of_users_and_time() -> None:
    rows = Log(**ROWS, max_delay=2).frame().rows()
    assert rows[:3] == [(0, "hymn", 0, 1.0), (0, "waltz", 0, 0.5), (0, "hymn", 2, 0.0)]
    assert rows[3][:3] == (1, "waltz", 0)
    assert np.isnan(rows[3][3])


def test_delays_are_those_of_the_log() -> None:
    arms = ["hymn", "waltz", "waltz", "waltz", "hymn"]
    log = Log(user=[0] * 5, time=range(5), arm=arms, reward=[1] * 5, max_delay=2)
    assert log.frame()["delay"].to_list() == [0, 0, 1, 1, 3]  # the last one is rested


def test_propensities_are_there_where_they_are_known() -> None:
    known = Log(**ROWS, max_delay=2, propensity=[0.5, 0.25, 1, 0.75]).frame()
    assert known["propensity"].to_list() == [0.5, 0.75, 0.25, 1.0]
    assert "propensity" not in Log(**ROWS, max_delay=2).frame().columns


@pytest.mark.parametrize("kind", ["result", "log"])
def test_pandas_has_the_same_rows(kind: str) -> None:
    rows = frames()[kind]
    found = rows.to_pandas()
    assert type(found).__module__.startswith("pandas")
    assert list(found.columns) == rows.columns
    for name in rows.columns:
        assert str(found[name].to_list()) == str(rows[name].to_list())
