"""The whole service from one seed, and whether the simulator would find known bugs."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from simulation.faults import SERVED, faults
from simulation.oracle import BrokenError
from simulation.world import World

# Processes that died leave coroutines behind, which Python closes when it comes across them.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.usefixtures("dead_coroutines"),
]
CHUNK = 30
CHUNKS = 100 if os.environ.get("FALLOW_NIGHTLY") else 10
MOST_SEEDS = 1_000
"""Seeds within which a bug must be found."""
FIRST = {"9: decisions behind the retirement of their arm": 140}
"""A seed to begin with, where those before it are known not to find the bug."""


@pytest.fixture
def dead_coroutines() -> Iterator[None]:
    """Close them here, and not in some later test that knows nothing of them."""
    yield
    SERVED.clear()
    gc.collect()


@pytest.mark.parametrize("first", range(0, CHUNK * CHUNKS, CHUNK))
def test_nothing_is_broken_whatever_fails(first: int) -> None:
    """Replay one seed alone with `python -m simulation SEED 1`, in the folder of the tests."""
    for seed in range(first, first + CHUNK):
        try:
            World(seed).run()
        except BrokenError as broken:
            raise AssertionError(f"seed {seed}: {broken}") from broken


def test_a_seed_determines_everything() -> None:
    one, other = World(7), World(7)
    one.run()
    other.run()
    assert one.requests == other.requests
    assert [each.events for each in one.oracles.values()] == [
        each.events for each in other.oracles.values()
    ]


@pytest.mark.parametrize("fault", faults())
def test_known_bugs_are_found(fault: str) -> None:
    SERVED.clear()
    with ExitStack() as stack:
        for put_back in faults()[fault]:
            stack.enter_context(put_back)
        for seed in range(FIRST.get(fault, 0), MOST_SEEDS):
            try:
                World(seed).run()
            except BrokenError:
                return
    raise AssertionError(f"{fault}: not found in {MOST_SEEDS} seeds")
