"""What the benchmark check reports, and that all it times has a stored ratio."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks import check
from benchmarks.pairs import PAIRS, Pair
from benchmarks.ratios import REPEATS, Ratio, in_turns

Noise = Callable[[int], list[float]]


def reported(speed: float, noise: Noise) -> bool:
    """Return whether work that had speed 1 is reported, given as few slices as are ever taken."""

    def measure(_: str, __: float) -> float:
        return check.ratio(noise(check.FEWEST), [t / speed for t in noise(check.FEWEST)])

    found = check.checked({"work": 1.0}, measure)
    return check.is_slower(1.0, found["work"])


def quiet(slices: int) -> list[float]:
    return [1.0] * slices


@pytest.mark.parametrize(
    ("speed", "expected"), [(0.5, True), (0.69, True), (0.71, False), (1.0, False), (2.0, False)]
)
def test_a_loss_of_more_than_30_percent_is_reported(speed: float, expected: bool) -> None:
    assert reported(speed, quiet) is expected


@pytest.mark.parametrize("factor", [0.1, 1.0, 10.0])
def test_what_slows_down_both_sides_alike_changes_nothing(factor: float) -> None:
    def alike(slices: int) -> list[float]:
        return [factor] * slices

    assert not reported(1.0, alike)
    assert reported(0.5, alike)


def test_noise_of_each_slice_is_not_reported_but_half_the_speed_is() -> None:
    """Every slice takes 20 % longer on average, exponentially distributed, as delays only add.

    The shortest of three delays is exponential with mean 1/15. So one measurement of unchanged work
    is 30 % low with probability e^(-15 * 0.43) / 2.43 = 7e-4, all four with 2e-13. Work of half the
    speed passes in one with e^(-15 * 0.4) / 2.4 = 1e-3, so it is missed with at most 4e-3.
    """
    generator = np.random.default_rng(0)

    def delayed(slices: int) -> list[float]:
        times: list[float] = (1 + generator.exponential(0.2, slices)).tolist()
        return times

    checks = 2000
    assert sum(reported(1.0, delayed) for _ in range(checks)) == 0
    assert sum(reported(0.5, delayed) for _ in range(checks)) > 0.99 * checks


def test_what_seems_slow_is_measured_again_longer_and_after_all_others() -> None:
    ratios = {"fine": [1.0], "unlucky": [0.5, 0.6, 0.9], "slow": [0.5, 0.5, 0.6, 0.6]}
    left = {name: iter(values) for name, values in ratios.items()}
    calls: list[tuple[str, float]] = []

    def measure(name: str, seconds: float) -> float:
        calls.append((name, seconds))
        return next(left[name])

    stored = dict.fromkeys(ratios, 1.0)
    assert check.checked(stored, measure) == ratios
    first, second, third, fourth = check.EFFORTS
    assert first < second < third < fourth
    assert calls == [
        *((name, first) for name in ("fine", "unlucky", "slow")),
        *((name, second) for name in ("unlucky", "slow")),
        *((name, third) for name in ("unlucky", "slow")),
        ("slow", fourth),
    ]


def pretend(monkeypatch: pytest.MonkeyPatch, costs: dict[str, tuple[float, float]]) -> None:
    """Let the only pairs cost so many seconds on a clock that they alone move."""
    now = [0.0]

    def spend(seconds: float) -> Callable[[], None]:
        def work() -> None:
            now[0] += seconds

        return work

    pairs = {name: Pair(*map(spend, both)) for name, both in costs.items()}
    monkeypatch.setattr(check, "processor_seconds", lambda: now[0])
    monkeypatch.setattr(check, "PAIRS", pairs)


def test_baseline_and_work_take_turns_in_slices_of_equal_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []

    def work(name: str) -> Callable[[], None]:
        return lambda: done.append(name)

    def clock() -> float:
        return 0.25 * done.count("short") + done.count("long")

    monkeypatch.setattr(check, "processor_seconds", clock)
    assert check.measured(Pair(work("short"), work("long")), seconds=2 * check.FEWEST) == 0.25
    one_slice = [*["short"] * 4, "long"]
    assert done == [*["short", "long"] * 2, *one_slice * check.FEWEST]


def run_check(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["check", *arguments])
    return check.main()


def test_the_check_names_what_is_slow_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(check, "STORED", tmp_path / "ratios.json")
    check.STORED.write_text("{}")
    pretend(monkeypatch, {"b": (0.001, 0.004), "a": (0.0003, 0.0001)})
    assert run_check(monkeypatch, "--save") == 0
    assert check.load() == {"b": 0.25, "a": 3.0}
    assert run_check(monkeypatch) == 0
    pretend(monkeypatch, {"b": (0.001, 0.004), "a": (0.0003, 0.0002)})
    capsys.readouterr()
    assert run_check(monkeypatch) == 1
    *rows, last = capsys.readouterr().out.splitlines()
    assert [row.split() for row in rows[1:]] == [
        ["b", "0.25", "0.25", "+0%", "once"],
        ["a", "3", "1.5", "-50%", "4", "times"],
    ]
    assert last == "more than 30% slower against its baseline, each time: a"


def test_single_pairs_can_be_stored_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "STORED", tmp_path / "ratios.json")
    check.STORED.write_text('{"kept": 9.0, "gone": 1.0}')
    pretend(monkeypatch, {"new": (0.002, 0.001), "kept": (0.002, 0.001)})
    run_check(monkeypatch, "--save", "new")
    assert check.load() == {"new": 2.0, "kept": 9.0}


def test_a_pair_has_a_stored_ratio_and_a_stored_ratio_has_a_pair() -> None:
    """`python -m benchmarks.check --save NAME` stores that of a new pair."""
    assert list(check.load()) == list(PAIRS)
    assert all(ratio > 0 for ratio in check.load().values())


def test_a_ratio_is_the_median_over_pairs() -> None:
    ratio = Ratio.of([2.0, 30.0, 4.0], [1.0, 3.0, 4.0])
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
