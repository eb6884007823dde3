"""Logs from arrays: what is wrong with their rows, and the delays of their plays."""

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_tiers import bits

from fallow import Log
from fallow.logs.clock import BINS

FEW: dict[str, Any] = {"user": [1, 2], "time": [1, 2], "arm": ["a", "b"], "reward": [0, 1]}


class Row(NamedTuple):
    user: int | str | None
    time: int | None
    arm: str | None
    reward: float | None

    @property
    def place(self) -> tuple[object, ...]:
        return self.user, self.time, self.arm


FEW_TIMES = st.sampled_from([*range(10), None])


def some_rows(times: st.SearchStrategy[int | None] = FEW_TIMES) -> st.SearchStrategy[list[Row]]:
    row = st.builds(
        Row,
        st.sampled_from([1, 1, 1, 1, 2, 2, 3, None]),
        times,
        st.sampled_from([*"aaabbbccd", None]),
        st.sampled_from([0, 0.5, 1, None]),
    )
    # One of them has a reward for sure, as a log must.
    return st.lists(row, min_size=5, max_size=40).map(lambda rows: [*rows, Row(4, 5, "a", 1)])


def log_of(rows: list[Row], **settings: Any) -> Log:
    columns: dict[str, Any] = dict(
        zip(Row._fields, map(list, zip(*rows, strict=True)), strict=True)
    )
    return Log(**columns, **settings)


def plays_of(rows: list[Row]) -> list[Row]:
    """Return what is left of the rows, by definition, as they were given."""
    plays: list[Row] = []
    for row in rows:
        if None not in row.place and row not in plays:
            plays.append(row)
    return plays


def contradicts(play: Row, plays: list[Row]) -> bool:
    return any(other.place == play.place and other != play for other in plays)


def in_order(plays: list[Row]) -> list[Row]:
    return sorted(plays, key=lambda play: (play.user, play.time))


def everything(log: Log) -> dict[str, object]:
    """Return all that a log knows, in a form that can be compared."""
    return {name: bits(getattr(log, name)) for name in (*vars(log), "plays", "users")}


@given(some_rows())
def test_rows_are_counted_by_definition(rows: list[Row]) -> None:
    plays = plays_of(rows)
    log = log_of(rows)
    assert log.plays == len(plays)
    found = log.counts
    assert found.rows == len(rows)
    assert found.missing == sum(None in row.place for row in rows)
    assert found.repeated == found.rows - found.missing - len(plays)
    assert found.contradictory == sum(contradicts(play, plays) for play in plays)
    assert found.without_reward == sum(
        play.reward is None and not contradicts(play, plays) for play in plays
    )
    assert found.tied == sum(
        any(other.place[:2] == play.place[:2] and other.arm != play.arm for other in plays)
        for play in plays
    )
    assert found.unsorted == sum(
        any(
            other.user == play.user and (other.time or 0) > (play.time or 0)
            for other in plays[:index]
        )
        for index, play in enumerate(plays)
    )
    rewards = [
        np.nan if play.reward is None or contradicts(play, plays) else play.reward
        for play in in_order(plays)
    ]
    np.testing.assert_array_equal(log.rewards, rewards)
    assert [log.names[arm] for arm in log.arms] == [play.arm for play in in_order(plays)]


@pytest.mark.parametrize("from_start", [False, True])
@given(some_rows(), st.integers(1, 6))
def test_delays_in_rounds_by_definition(from_start: bool, rows: list[Row], max_delay: int) -> None:
    plays = in_order(plays_of(rows))
    log = log_of(rows, max_delay=max_delay, from_start=from_start)
    for index, play in enumerate(plays):
        before = [other for other in plays[:index] if other.user == play.user]
        arms = [other.arm for other in before[::-1]]
        assert log.windows[index] == min(len(before), max_delay)
        assert log.whole[index] == (from_start or len(before) >= max_delay)
        if play.arm in arms:
            gap = 1 + arms.index(play.arm)
            assert (log.gaps[index], log.delays[index]) == (gap, min(gap, max_delay + 1))
        else:
            is_rested = from_start or len(before) >= max_delay
            assert (log.gaps[index], log.delays[index]) == (0, is_rested * (max_delay + 1))
    assert log.counts.unknown == np.count_nonzero(log.delays == 0)
    assert log.spans.tolist() == list(range(1, max_delay + 2))
    assert log.max_delay == max_delay


@pytest.mark.parametrize("from_start", [False, True])
@given(some_rows(), st.floats(0.5, 15))
def test_delays_in_time_by_definition(from_start: bool, rows: list[Row], max_delay: float) -> None:
    plays = in_order(plays_of(rows))
    log = log_of(rows, clock="time", max_delay=max_delay, from_start=from_start)
    elapsed_times = []
    for index, play in enumerate(plays):
        times = [
            (float((play.time or 0) - (other.time or 0)), other.arm)
            for other in plays[:index]
            if other.user == play.user
        ][::-1]
        assert log.windows[index] == sum(elapsed <= max_delay for elapsed, _ in times)
        gap = next((gap for gap, (_, arm) in enumerate(times, 1) if arm == play.arm), 0)
        assert log.gaps[index] == gap
        if gap:
            elapsed_times.append((times[gap - 1][0], log.delays[index]))
        else:
            is_rested = from_start or bool(times and times[-1][0] > max_delay)
            assert log.delays[index] == is_rested * (BINS + 1)
            assert log.whole[index] == is_rested
    above = min((elapsed for elapsed, _ in elapsed_times if elapsed > 0), default=np.inf)
    shorter = [max(elapsed, above) for elapsed, _ in elapsed_times]
    shorter = [elapsed for elapsed in shorter if elapsed < max_delay]
    first = min(max_delay / 2, np.quantile(shorter, 0.1) if shorter else max_delay)
    edges = [0, *(first * (max_delay / first) ** (step / 7) for step in range(8)), np.inf]
    for elapsed, delay in elapsed_times:
        assert edges[delay - 1] * (1 - 1e-9) <= elapsed <= edges[delay] * (1 + 1e-9)
        assert (delay <= BINS) == (elapsed <= max_delay)
    assert log.max_delay == BINS
    assert log.spans.shape == (BINS + 1,)
    for delay in range(1, BINS + 2):
        inside = [each or min(above, first) for each, at in elapsed_times if at == delay]
        if inside:
            assert log.spans[delay - 1] == pytest.approx(np.exp(np.mean(np.log(inside))))
        elif 1 < delay <= BINS:
            assert log.spans[delay - 1] == pytest.approx(np.sqrt(edges[delay - 1] * edges[delay]))
    assert (np.diff(log.spans) > 0).all()


@given(some_rows())
def test_at_most_a_tenth_of_the_delays_are_longer_than_the_longest(rows: list[Row]) -> None:
    log = log_of(rows)
    known = log.gaps[log.gaps > 0]
    assert np.count_nonzero(known > log.max_delay) <= known.size / 10
    assert log.max_delay == 1 or np.count_nonzero(known >= log.max_delay) > known.size / 10


def test_the_longest_delay_that_nobody_asked_for_has_a_limit_in_rounds() -> None:
    columns: dict[str, Any] = {"user": [1] * 150, "time": range(150), "reward": [1] * 150}
    assert Log(arm=[*range(50)] * 3, **columns).max_delay == 30


def test_the_longest_delay_has_40_plays_an_arm_if_any_has() -> None:
    """Two arms in pairs: half of the plays come after one round, and half after three."""
    for arms, after_three, longest in (
        ([0, 0, 1, 1] * 100, 198, 3),
        ([0, 0, 1, 1] * 20 + [1] * 60 + [0] * 59, 38, 1),
        ([0, 0, 1, 1] * 10, 18, 3),  # nor are there 40 after one round
    ):
        log = Log(user=np.ones(len(arms)), time=range(len(arms)), arm=arms, reward=arms)
        assert np.bincount(log.gaps)[3] == after_three
        assert log.max_delay == longest


def test_a_tenth_of_the_elapsed_times_are_longer_than_the_longest_delay() -> None:
    time = np.cumsum(range(101))
    log = Log(user=[1] * 101, time=time, arm=[1] * 101, reward=[1] * 101, clock="time")
    assert np.bincount(log.delays)[BINS + 1] == 10


@given(some_rows(st.integers(0, 10**6)), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows: list[Row], shuffler: Any) -> None:
    there = [row for row in rows if row.user]
    rows = list({(row.user, row.time): row for row in there}.values())
    shuffled = list(rows)
    shuffler.shuffle(shuffled)
    for clock in ("rounds", "time"):
        one, other = (log_of(each, clock=clock, max_delay=1000) for each in (rows, shuffled))
        assert one.counts._replace(unsorted=0) == other.counts._replace(unsorted=0)
        other.counts = one.counts
        assert everything(one) == everything(other)
    assert log_of(in_order(rows)).counts.unsorted == 0


@given(some_rows())
def test_the_names_of_users_do_not_matter(rows: list[Row]) -> None:
    names: dict[object, str | None] = {None: None, 1: "ann", 2: "bob", 3: "cyd", 4: "dan"}
    renamed = [row._replace(user=names[row.user]) for row in rows]
    assert everything(log_of(rows)) == everything(log_of(renamed))


def test_arms_are_sorted_as_numbers_or_as_text_or_given() -> None:
    columns: dict[str, Any] = {"user": [1, 1, 1], "time": [1, 2, 3], "reward": [0, 1, 1]}
    for arm in ([10, 9, 9], ["10", "9", "9"], np.array([10, 9, 9.0])):
        log = Log(arm=arm, **columns)
        assert (log.names, log.arms.tolist()) == (("9", "10"), [1, 0, 0])
    assert Log(arm=["10", "9", "x"], **columns).names == ("10", "9", "x")
    log = Log(arm=[10, 9, 9], arms=[11, np.int64(10), 9], **columns)
    assert (log.names, log.arms.tolist()) == (("11", "10", "9"), [1, 2, 2])
    np.testing.assert_array_equal(log.shares, [0, 1 / 3, 2 / 3])


def test_times_are_the_same_however_they_are_written() -> None:
    begin = datetime(2026, 1, 31, 12, 0, 0)
    moments = [begin + timedelta(seconds=seconds) for seconds in (0, 1, 5, 9, 30)]
    zoned = [moment.replace(tzinfo=UTC) for moment in moments]
    stamps = np.array(moments, "datetime64[ns]")
    numbers = ([0, 1, 5, 9, 30], np.array([0, 1, 5, 9, 30], np.uint8), [0.5, 1.5, 5.5, 9.5, 30.5])
    dates = (moments, zoned, stamps, stamps.astype("datetime64[s]"), np.array(moments, object))
    expected = None
    for unit, times in (("units of time", numbers), ("seconds", dates)):
        for time in times:
            log = Log(user=[1] * 5, time=time, arm=[1] * 5, reward=[0, 1, 1, 0, 1], clock="time")
            assert log.unit == unit
            log.unit = ""
            expected = expected or everything(log)
            assert everything(log) == expected
    assert Log(user=[1], time=[begin], arm=[1], reward=[0]).unit == "rounds"


def test_times_need_not_fit_a_float() -> None:
    now = np.datetime64("2026-01-31").astype("datetime64[ns]").astype(np.int64)
    for time in (now + np.arange(4), np.array([-(2**63), 0, 2**62, 2**63 - 1])):
        log = Log(user=[1] * 4, time=time, arm=range(4), reward=[0.25, 0.5, 0.75, 1])
        assert log.counts.tied == 0
        assert log.rewards.tolist() == [0.25, 0.5, 0.75, 1]


def test_what_numpy_has_for_missing_is_missing() -> None:
    nan, never = float("nan"), np.datetime64("NaT")
    log = Log(
        user=np.array([1, nan, 1, 1, 1]),
        time=np.array(["2026-01-31", "2026-01-31", never, "2026-02-01", "2026-02-02"], "M8[D]"),
        arm=["a", "a", "a", None, "a"],
        reward=[True, False, True, True, None],
    )
    assert log.counts[:5] == (5, 3, 0, 0, 1)


def test_rewards_are_scaled() -> None:
    log = Log(**{**FEW, "reward": [-1, 3], "scale": np.array([-1, 4])})
    np.testing.assert_array_equal(log.rewards, [0, 0.8])


def chances(log: Log) -> list[float]:
    assert log.propensity is not None
    return list(log.propensity)


def test_propensities_come_from_one_of_three_places() -> None:
    columns = {**FEW, "user": [1, 1], "time": [2, 1]}
    assert Log(**columns).propensity is None
    assert chances(Log(**columns, propensity=[0.25, 0.5])) == [0.5, 0.25]
    table = Log(**columns, propensities=[[0.1, 0.2, 0.7], [0.3, 0.4, 0.3]], arms=["c", "b", "a"])
    assert chances(table) == [0.4, 0.7]
    np.testing.assert_array_equal(table.propensities, [[0.3, 0.4, 0.3], [0.1, 0.2, 0.7]])
    by_share = Log(user=[1] * 3, time=[1, 2, 3], arm=["a", "b", "a"], reward=[1] * 3, random=True)
    assert chances(by_share) == [2 / 3, 1 / 3, 2 / 3]
    assert by_share.propensities is None


def test_rows_that_differ_in_propensity_alone_contradict_each_other() -> None:
    columns: dict[str, Any] = {"user": [1] * 4, "time": [1, 1, 1, 2], "arm": [1] * 4}
    log = Log(**columns, reward=[1] * 4, propensity=[0.5, 0.25, 0.5, 0.5])
    assert (log.counts.repeated, log.counts.contradictory) == (1, 2)
    table = [[0.5, 0.5], [0.25, 0.75], [0.5, 0.5], [1, 0]]
    log = Log(**columns, reward=[1] * 4, propensities=table, arms=[1, 2])
    assert (log.counts.repeated, log.counts.contradictory) == (1, 2)
    np.testing.assert_array_equal(log.rewards, [np.nan, np.nan, 1])


def test_the_propensity_of_a_row_that_is_left_out_may_be_missing() -> None:
    for left_out in (None, 0):
        log = Log(**{**FEW, "user": [1, None]}, propensity=[0.5, left_out])
        assert chances(log) == [0.5]


def test_propensities_that_were_not_those_of_the_draw_are_refused() -> None:
    """In another order, or one for all: arms then come up far more often than they say."""
    chances = np.array([0.1, 0.3, 0.6])
    arms = np.random.default_rng(0).choice(3, size=500, p=chances)
    columns: dict[str, Any] = {"user": [1] * 500, "time": range(500), "reward": arms / 2}
    Log(**columns, arm=arms, propensities=np.tile(chances, (500, 1)))
    Log(**columns, arm=arms, propensity=chances[arms])
    with pytest.raises(ValueError, match=r"got '[02]' played (less|more) often than they say"):
        Log(**columns, arm=arms, propensities=np.tile(chances[::-1], (500, 1)))
    with pytest.raises(ValueError, match="got '2' played more often than they say, by"):
        Log(**columns, arm=arms, propensity=np.full(500, 0.2))
    with pytest.raises(ValueError, match="divide them by 100"):
        Log(**columns, arm=arms, propensities=100 * np.tile(chances, (500, 1)))
    with pytest.raises(ValueError, match="arms must be given, in the order of the columns"):
        Log(**columns, arm=np.array(["a", "b", "c"])[arms], propensities=[chances] * 500)


@pytest.mark.parametrize("plays", [2, 5, 100])
def test_random_choice_is_believed_unless_users_differ(plays: int) -> None:
    """With a few plays of each user and rare arms too; 60 logs at 8 deviations."""
    generator = np.random.default_rng(0)
    users = max(5000 // plays, 40)
    columns: dict[str, Any] = {
        "user": np.repeat(np.arange(users), plays),
        "time": np.tile(np.arange(plays), users),
        "reward": np.zeros(users * plays),
    }
    for seed in range(20):
        chances = np.random.default_rng(seed).dirichlet([0.3] * 8)
        Log(**columns, arm=generator.choice(8, size=users * plays, p=chances), random=True)
    own = generator.integers(8, size=users)
    arms = np.where(generator.random(users * plays) < 0.5, np.repeat(own, plays), 0)
    with pytest.raises(ValueError, match="random=True must hold, got users whose plays differ"):
        Log(**columns, arm=arms, random=True)


def test_what_is_given_stays_as_it_was() -> None:
    reward = np.array([1.0, 0.0, 1.0])
    table = np.asfortranarray(np.full((3, 2), 0.5))
    log = Log(user=[1] * 3, time=[2, 1, 1], arm=[1, 2, 2], reward=reward, propensities=table)
    assert log.counts.contradictory == 2
    assert reward.tolist() == [1, 0, 1]
    assert np.asarray(log.propensities).flags.c_contiguous


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"user": [1, "x"]}, "user must be all text or all whole numbers, got int and str"),
    ({"user": np.array([1, 1.5])}, r"user must be .* whole numbers, got 1\.5"),
    ({"arm": [True, False]}, "arm must be .* got bool"),
    ({"arm": np.array([1, 2], "m8[s]")}, "arm must be .* got timedelta64"),
    ({"user": [[1], [2]]}, "user must be a list, one entry a row"),
    ({"user": np.ma.masked_array([1, 2], [True, False])}, "user must have no mask"),
    ({"time": ["2026-01-31", "2026-02-01"]}, "time must be all numbers or all datetimes, got str"),
    ({"time": [1, datetime(2026, 1, 31)]}, "time must be .* got datetime and int"),
    ({"time": [1, np.inf]}, "time must be finite, got inf"),
    ({"reward": ["1", "0"]}, "reward must be numbers, got str"),
    ({"reward": [0, 5]}, r"reward must lie in \[0, 1\], got 5.0 in row 1, .*give their scale"),
    ({"reward": [0, 5], "scale": (1, 5)}, r"reward must lie in \[1, 5\], got 0.0 in row 0"),
    ({"reward": [None, np.nan]}, "a log must have rewards, got 2 plays without one"),
    ({"user": [None, 1], "arm": [1, None]}, "a log must have plays, got 2 rows without"),
    ({"user": [], "time": [], "arm": [], "reward": []}, "a log must have rows, got none"),
    ({"user": [1]}, "columns must be equally long, got 1 of user, 2 of time"),
    ({"propensity": [0.5]}, "columns must be equally long"),
    ({"arms": ["A", "b"]}, r"arms must hold all that were played, got none called 'a' \(1 such\)"),
    ({"arms": ["a", "b", "a"]}, "arms must differ, got 'a' twice"),
    ({"arms": ["a", 0.5]}, r"arms must be text or whole numbers, got 0\.5"),
    ({"arms": "ab"}, "arms must be a list of names"),
    ({"arm": ["a", "b" * 101]}, "the name of an arm must have at most 100 characters"),
    ({"arms": range(2**20 + 1), "arm": [1, 2]}, "arms must be at most 1,048,576"),
    ({"clock": "tme"}, "clock must be one of rounds, time, got 'tme'; did you mean 'time'"),
    ({"max_delay": 0}, "max_delay must be a whole number >= 1, got 0"),
    ({"max_delay": 1.5}, r"max_delay must be a whole number >= 1, got 1\.5"),
    ({"max_delay": 0, "clock": "time"}, "max_delay must be finite and above 0, got 0"),
    ({"clock": "time"}, "max_delay must be given"),
    ({"scale": (1, 1)}, r"scale must be \(low, high\), finite and low < high, got \(1, 1\)"),
    ({"scale": (0, np.inf)}, "scale must be"),
    ({"scale": (0, 1, 2)}, "scale must be"),
    ({"propensity": [0.5, 0]}, "propensity of the arm played must be above 0 .* 0.0 in row 1"),
    ({"propensity": [0.5, 1.5]}, "must be above 0 and at most 1, got 1.5 in row 1"),
    ({"propensity": [0.5, None]}, "propensity must be known of every play, got 1 plays without"),
    (
        {"propensities": [[1, 0], [1, 0]], "arms": ["a", "b"]},
        "propensity of the arm played .* got 0.0 in row 1",
    ),
    (
        {"propensities": [[0.5, 0.4], [0, 1]], "arms": ["a", "b"]},
        "propensities of a row must add up to 1, got 0.9",
    ),
    (
        {"propensities": [[-1, 2], [0, 1]], "arms": ["a", "b"]},
        r"propensities must lie in \[0, 1\], got -1.0 in row 0",
    ),
    (
        {"propensities": [[0.5, 0.5], [None, 1]], "arms": ["a", "b"]},
        "propensity must be known of every play, got 1",
    ),
    (
        {"propensities": [[0, 0, 1]] * 2, "arms": ["a", "b"]},
        "must have one column an arm, got 3 for 2 arms; give arms",
    ),
    ({"propensities": [0.5, 0.5]}, "propensities must be rows of numbers, one an arm"),
    ({"propensity": [1, 1], "random": True}, "got propensity and random; leave out"),
    ({"propensity": [1, 1], "propensities": [[1, 0], [0, 1]]}, "got propensity and propensities"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_what_is_no_log_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Log(**{**FEW, **change})
