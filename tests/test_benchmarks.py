"""The comparison of measured ratios with stored ones."""

from pathlib import Path

import pytest

from benchmarks.ratios import REPEATS, STORED, Ratio, in_turns, load, regressed, save


def ratios(**medians: float) -> dict[str, Ratio]:
    return {name: Ratio(name, value, value, value) for name, value in medians.items()}


def test_a_loss_of_more_than_30_percent_is_reported() -> None:
    stored = ratios(worse=2.0, slightly=2.0, same=50.0, better=0.01)
    now = ratios(worse=2.0 * 0.69, slightly=2.0 * 0.71, same=50.0, better=0.02)
    assert regressed(stored, now) == ["worse"]


def test_a_ratio_that_is_no_longer_measured_is_reported() -> None:
    assert regressed(ratios(gone=1.0, kept=1.0), ratios(kept=1.0, new=0.1)) == ["gone"]


def test_a_ratio_is_the_median_over_pairs() -> None:
    ratio = Ratio.of("pairs", baseline=[2.0, 30.0, 4.0], times=[1.0, 3.0, 4.0])
    assert (ratio.low, ratio.median, ratio.high) == (1.0, 2.0, 10.0)


def test_work_is_done_in_turns() -> None:
    done: list[str] = []
    times = in_turns({"a": lambda: done.append("a"), "b": lambda: done.append("b")}, warm=True)
    assert done == ["a", "b"] * REPEATS
    assert [len(taken) for taken in times.values()] == [REPEATS, REPEATS]


def test_short_work_is_repeated_and_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that only the work moves, so that a busy machine does not count."""
    now = [0.0]
    monkeypatch.setattr("benchmarks.ratios.time.perf_counter", lambda: now[0])

    def nap() -> None:
        now[0] += 0.001

    (taken,) = in_turns({"nap": nap}).values()
    assert now[0] > 5 * REPEATS * 0.001
    assert taken == pytest.approx([0.001] * REPEATS)


def test_ratios_are_saved_in_order_with_three_digits(tmp_path: Path) -> None:
    path = tmp_path / "ratios.json"
    save([Ratio("b", 1234.5, 1000.4, 2000.6), Ratio("a", 0.123456, 0.1, 0.2)], path)
    assert list(load(path)) == ["a", "b"]
    assert load(path)["b"] == Ratio("b", 1230.0, 1000.0, 2000.0)
    assert load(path)["a"].median == pytest.approx(0.123)


def test_stored_ratios_can_be_compared() -> None:
    stored = load()
    assert STORED.exists()
    assert stored
    assert all(0 < ratio.low <= ratio.median <= ratio.high for ratio in stored.values())
    assert regressed(stored, stored) == []
