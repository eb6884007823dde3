"""Tallies: exact where they can be, within their bound where not, whoever counted."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallow.arrays import FloatArray
from fallow.intervals import moments
from fallow.studies import estimate
from fallow.studies.batch import Failure
from fallow.studies.tally import BLOCK, FAILURES, Tally, tally

GENERATOR = np.random.default_rng(5)
VALUES: FloatArray = GENERATOR.gamma(2.0, size=(20_000, 2, 1, 3)) * [1.0, 1e6, 1e-6]
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
    assert parts.to_bytes("me") == in_parts([0, runs]).to_bytes("me")
    assert len(parts) == parts.stop == runs


@given(st.integers(2, 4998), st.integers(1, 4999))
def test_parts_of_parts_extend_to_the_same(first: int, second: int) -> None:
    """A worker's own tally may start anywhere and be put together from others."""
    first, second = sorted((first, max(second, 1)))
    head, rest = in_parts([0, first]), Tally()
    for start, stop in ((first, second), (second, 5000)):
        if start < stop:
            rest = rest.extend(tally(range(start, stop), range(start, stop), VALUES[start:stop]))
    assert head.extend(rest).to_bytes("") == in_parts([0, 5000]).to_bytes("")


@pytest.mark.parametrize("runs", [1, 2, 7, BLOCK - 1, BLOCK])
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
    bound = math.log2(runs / BLOCK) / (2 * BLOCK)
    for share, found in zip(SHARES, in_parts([0, runs], values).quantiles(SHARES), strict=True):
        ranks = (values <= found).mean(axis=0)
        assert np.abs(ranks - share).max() <= bound + 1 / runs


def test_the_size_hardly_grows_with_the_runs() -> None:
    """A tally holds one block for each doubling of the runs, not the runs."""
    sizes = [len(in_parts([0, runs]).to_bytes("")) for runs in (BLOCK - 1, 20_000 - 20_000 % BLOCK)]
    assert sizes[1] < 5 * sizes[0]
    assert len(in_parts([0, 16_384]).to_bytes("")) < 1.2 * sizes[0]


def test_failed_runs_have_no_values() -> None:
    """Runs 3, 600 and a whole block fail; the others are counted as if alone."""
    numbers = [run for run in range(4 * BLOCK) if run not in (3, 600) and run // BLOCK != 2]
    failures = [Failure(run, "x") for run in range(4 * BLOCK) if run not in numbers]
    found = tally(range(4 * BLOCK), numbers, VALUES[numbers], failures)
    assert (len(found), found.failed, len(found.failures)) == (4 * BLOCK, BLOCK + 2, FAILURES)
    assert found.failures[0] == Failure(3, "x")
    alone = moments(VALUES[numbers])
    assert found.moments().count == alone.count == 3 * BLOCK - 2
    np.testing.assert_allclose(found.moments().mean, alone.mean, rtol=1e-13)
    np.testing.assert_allclose(found.moments().squares, alone.squares, rtol=1e-11)
    ranks = (VALUES[numbers] <= found.quantiles([0.5])[0]).mean(axis=0)
    assert np.abs(ranks - 0.5).max() < 0.01
    again = Tally.from_bytes(found.to_bytes("me"), "me")
    assert again.to_bytes("me") == found.to_bytes("me")
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
    content = in_parts([0, 700]).to_bytes("mine")
    with pytest.raises(ValueError, match="one that belongs to another spec"):
        Tally.from_bytes(content, "yours")
    middle = len(content) // 2
    changed = bytes([content[middle] ^ 1])
    for damaged in (content[:-10], b"", content[:middle] + changed + content[middle + 1 :]):
        with pytest.raises(ValueError, match="a damaged file"):
            Tally.from_bytes(damaged, "mine")
