"""The ledger against counting pull by pull, on small random runs."""

import numpy as np
import pytest

from fallow.kernels import ledger


@pytest.mark.parametrize("seed", range(60))
def test_runs_are_accounted_as_if_pull_by_pull(seed: int) -> None:
    """Also with a checkpoint before the first round, and when the runs come in two parts."""
    generator = np.random.default_rng(seed)
    means = generator.random((3, 4))
    played = [generator.integers(0, 3, length).tolist() for length in (1, 2, 3, 5)]
    numbers = generator.integers(0, 4, 8).astype(np.int32)
    pulls = generator.integers(1, 25, 8)
    horizon = int(pulls.sum())
    checkpoints = np.flatnonzero(generator.random(horizon + 1) < generator.random() ** 3)

    starts = np.cumsum([0, *map(len, played)])
    cycles = ledger.Cycles(np.concatenate(played), starts)
    book = ledger.Ledger(np.full(3, -4), np.zeros((3, 4), int), np.array([0, 0, -1, 0]))
    rewards, switches = np.zeros(len(checkpoints)), np.zeros(len(checkpoints), int)
    for part in (slice(5), slice(5, 8)):
        runs = numbers[part], pulls[part]
        ledger.account(means, cycles, *runs, book, checkpoints, rewards, switches)

    last, counts, changes = [-4] * 3, np.zeros((3, 4), int), 0
    expected = {0: (0.0, 0)}
    now = 0
    for run, number in enumerate(numbers):
        changes += run > 0 and number != numbers[run - 1]
        for pull in range(pulls[run]):
            arm = played[number][pull % len(played[number])]
            counts[arm, min(now - last[arm], 4) - 1] += 1
            last[arm] = now
            now += 1
            expected[now] = (counts * means).sum(), changes
    assert book.last.tolist() == last
    assert book.counts.tolist() == counts.tolist()
    assert book.totals.tolist() == [horizon, changes, numbers[-1], len(checkpoints)]
    totals = np.array([expected[checkpoint] for checkpoint in checkpoints.tolist()])
    np.testing.assert_allclose(np.column_stack([rewards, switches]), totals.reshape(-1, 2))
