"""Tallies: exact where they can be, within their bound where not, whoever counted."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallow import RankingUCB, catalog
from fallow.arrays import FloatArray
from fallow.files import seal, unseal
from fallow.intervals import moments
from fallow.studies import Study, estimate
from fallow.studies.batch import Failure
from fallow.studies.formats import pack_tally, parse_tally
from fallow.studies.tally import BLOCK_RUNS, LISTED_FAILURES, Tally, measure, tally

GENERATOR = np.random.default_rng(5)
VALUES: FloatArray = GENERATOR.gamma(2.0, size=(20_000, 2, 1, 3)) * [1.0, 1e6, 1e-6]
OWNER = {"owner": "me"}
SHAPE = (2, 1, 3)
SHARES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


def in_parts(borders: Sequence[int], values: FloatArray = VALUES) -> Tally:
    whole = Tally()
    for start, stop in pairwise(borders):
        runs = range(start, stop)
        whole = whole.extend(tally(runs, runs, values[start:stop]))
    return whole


@given(st.sets(st.integers(1, 4999), max_size=12), st.sampled_from([3000, 4096, 5000]))
def test_the_tally_does_not_depend_on_who_counted(borders: set[int], runs: int) -> None:
    """However runs are split into tasks, the file is the same, bit for bit."""
    inner = sorted(border for border in borders if border < runs)
    parts = in_parts([0, *inner, runs])
    assert pack_tally(parts, OWNER) == pack_tally(in_parts([0, runs]), OWNER)
    assert len(parts) == parts.stop == runs


@given(st.integers(2, 4998), st.integers(1, 4999))
def test_parts_of_parts_extend_to_the_same(first: int, second: int) -> None:
    """A worker's own tally may start anywhere and be put together from others."""
    first, second = sorted((first, max(second, 1)))
    head, rest = in_parts([0, first]), Tally()
    for start, stop in ((first, second), (second, 5000)):
        if start < stop:
            rest = rest.extend(tally(range(start, stop), range(start, stop), VALUES[start:stop]))
    assert pack_tally(head.extend(rest), OWNER) == pack_tally(in_parts([0, 5000]), OWNER)


@pytest.mark.parametrize("runs", [1, 2, 7, BLOCK_RUNS - 1, BLOCK_RUNS])
def test_few_runs_are_exact(runs: int) -> None:
    found = in_parts([0, runs])
    mean, half_width = estimate(VALUES[:runs])
    np.testing.assert_array_equal(found.moments().estimate().mean, mean)
    np.testing.assert_array_equal(found.moments().estimate().half_width, half_width)
    exact = np.sort(VALUES[:runs], axis=0)[[max(math.ceil(q * runs - 1e-9), 1) - 1 for q in SHARES]]
    np.testing.assert_array_equal(found.quantiles(SHARES), exact)


def test_many_runs_keep_mean_and_variance() -> None:
    """Against two passes over all values; exact sums would differ by rounding only."""
    found = in_parts([0, *range(17, 20_000, 777), 20_000]).moments()
    assert found.count == 20_000
    np.testing.assert_allclose(found.mean, VALUES.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(found.squares / 19_999, VALUES.var(axis=0, ddof=1), rtol=1e-11)


@pytest.mark.parametrize("order", ["drawn", "rising", "falling", "zigzag"])
def test_ranks_of_quantiles_are_within_the_bound(order: str) -> None:
    """Also for runs that come in an unlucky order."""
    values = VALUES if order == "drawn" else np.sort(VALUES, axis=0)
    if order == "falling":
        values = values[::-1]
    if order == "zigzag":
        values = np.concatenate([values[::2], values[1::2][::-1]])
    runs = len(values)
    bound = math.log2(runs / BLOCK_RUNS) / (2 * BLOCK_RUNS)
    for share, found in zip(SHARES, in_parts([0, runs], values).quantiles(SHARES), strict=True):
        ranks = (values <= found).mean(axis=0)
        assert np.abs(ranks - share).max() <= bound + 1 / runs


def test_the_size_hardly_grows_with_the_runs() -> None:
    """A tally holds one block for each doubling of the runs, not the runs."""
    sizes = [
        len(pack_tally(in_parts([0, runs]), OWNER))
        for runs in (BLOCK_RUNS - 1, 20_000 - 20_000 % BLOCK_RUNS)
    ]
    assert sizes[1] < 5 * sizes[0]
    assert len(pack_tally(in_parts([0, 16_384]), OWNER)) < 1.2 * sizes[0]


def test_failed_runs_have_no_values() -> None:
    """Runs 3, 600 and a whole block fail; the others are counted as if alone."""
    numbers = [
        run for run in range(4 * BLOCK_RUNS) if run not in (3, 600) and run // BLOCK_RUNS != 2
    ]
    failures = [Failure(run, "x") for run in range(4 * BLOCK_RUNS) if run not in numbers]
    found = tally(range(4 * BLOCK_RUNS), numbers, VALUES[numbers], failures)
    assert (len(found), found.failed, len(found.failures)) == (
        4 * BLOCK_RUNS,
        BLOCK_RUNS + 2,
        LISTED_FAILURES,
    )
    assert found.failures[0] == Failure(3, "x")
    alone = moments(VALUES[numbers])
    assert found.moments().count == alone.count == 3 * BLOCK_RUNS - 2
    np.testing.assert_allclose(found.moments().mean, alone.mean, rtol=1e-13)
    np.testing.assert_allclose(found.moments().squares, alone.squares, rtol=1e-11)
    ranks = (VALUES[numbers] <= found.quantiles([0.5])[0]).mean(axis=0)
    assert np.abs(ranks - 0.5).max() < 0.01
    again = parse_tally(pack_tally(found, OWNER), OWNER, SHAPE, 4 * BLOCK_RUNS)
    assert pack_tally(again, OWNER) == pack_tally(found, OWNER)
    assert again.failures == found.failures


def test_quantiles_of_the_few_that_did_not_fail() -> None:
    """One run in 500 succeeds: all their values are kept, so that quantiles are exact."""
    numbers = list(range(0, 20_000, 500))
    found = tally(range(20_000), numbers, VALUES[numbers], [Failure(1, "x")] * 19_960)
    exact = np.sort(VALUES[numbers], axis=0)[[math.ceil(q * 40 - 1e-9) - 1 for q in SHARES]]
    np.testing.assert_array_equal(found.quantiles(SHARES), exact)


def test_a_tally_of_failures_alone_counts_them() -> None:
    found = tally(range(2), [], VALUES[:0], [Failure(0, "x"), Failure(1, "y")])
    assert (len(found), found.failed, found.moments().count) == (2, 2, 0)
    following = found.extend(tally(range(2, 4), [2, 3], VALUES[2:4]))
    np.testing.assert_array_equal(following.moments().mean, VALUES[2:4].mean(axis=0))


def test_another_or_a_damaged_tally_is_refused() -> None:
    content = pack_tally(in_parts([0, 700]), OWNER)
    with pytest.raises(ValueError, match="owner must be you, got 'me'"):
        parse_tally(content, {"owner": "you"}, SHAPE, 700)
    middle = len(content) // 2
    changed = bytes([content[middle] ^ 1])
    for damaged in (content[:-10], b"", content[:middle] + changed + content[middle + 1 :]):
        with pytest.raises(ValueError, match="got a damaged file"):
            parse_tally(damaged, OWNER, SHAPE, 700)
    with pytest.raises(ValueError, match="runs must be at most 600, got 700"):
        parse_tally(content, OWNER, SHAPE, 600)
    few = pack_tally(in_parts([0, 7]), OWNER)
    with pytest.raises(ValueError, match="numbers must end with the last segment, got 21 more"):
        parse_tally(few, OWNER, (1, 1, 3), 700)
    with pytest.raises(ValueError, match="numbers must be 63 more, got 42"):
        parse_tally(few, OWNER, (3, 1, 3), 700)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (["format"], 2, "format must be 1, got 2"),
        (["runs"], 2**61, r"runs must be at most 20,000"),
        (["runs"], 699, "numbers must be|values must be at most 187"),
        (["failed"], 1, "failed must be 0, got 1"),
        (["failures"], [[0, "x"]], "the number of failures must be 0, got 1"),
        (["failures"], [[700, "x"]], "the run of a failure must be at most 699, got 700"),
        (["failures"], 5, "failures must be a list, got 5"),
        (["segments"], [], r"segments must be a list of 2, got \[\]"),
        (["segments", 0, "values"], 10**9, "values must be at most 512"),
        (["segments", 0, "weight"], 0, "weight must be a whole number >= 1, got 0"),
        (["segments", 0, "count"], 513, "count must be at most 512, got 513"),
        (["segments", 0, "count"], None, "count must be a whole number >= 512, got None"),
        (["segments", 1, "values"], math.inf, "it must be JSON, got Infinity, which is no number"),
        (["segments", 1], [1], r"a segment must be a table, got \[1\]"),
        (["more"], 1, "header must hold format, owner, runs, failed, failures, segments, got"),
    ],
)
def test_sizes_in_a_sealed_tally_are_checked(
    place: list[str | int], value: object, message: str
) -> None:
    """Anyone can compute a digest, so what could crash, hang or fill the memory is refused."""
    line, _, body = unseal(pack_tally(in_parts([0, 700]), OWNER)).partition(b"\n")
    header = json.loads(line)
    inner = header
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(ValueError, match=message):
        parse_tally(seal(json.dumps(header).encode() + b"\n" + body), OWNER, SHAPE, 20_000)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, math.nan, "values must be from -1e"),
        (0, 1e200, "values must be from -1e"),
        (512 * 6, math.nan, "mean must be from"),
        (512 * 6 + 6, -1.0, "squares must be from 0"),
        (514 * 6, math.inf, "values must be from"),
    ],
)
def test_numbers_that_cannot_be_added_up_are_refused(
    place: int, value: float, message: str
) -> None:
    line, _, body = unseal(pack_tally(in_parts([0, 700]), OWNER)).partition(b"\n")
    numbers = np.frombuffer(body).copy()
    assert len(numbers) == 6 * (512 + 1 + 1 + 188)
    numbers[place] = value
    with pytest.raises(ValueError, match=message):
        parse_tally(seal(line + b"\n" + numbers.tobytes()), OWNER, SHAPE, 700)


def test_regrets_whose_squares_overflow_are_refused() -> None:
    study = Study(catalog.figure3(), {"a": lambda *_: RankingUCB([0, 1])}, 100, seed=0)
    result = replace(study.play(0), gains={"ghost": np.ones(1), "optimum": np.ones(1)})
    assert np.isfinite(measure(result, [0, 1e90])).all()
    for cost in (1e100, 1e308):
        with pytest.raises(ValueError, match=r"at most 1e\+100, got .* with switching costs 0, "):
            measure(result, [0, cost])
