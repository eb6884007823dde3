"""Cycles that sample every arm at every delay."""

from functools import lru_cache

from fallow.errors import InputError

MAX_PULLS = 2**24
"""Pulls that it may take to sample every arm at every delay once."""


def check_pulls(arms: int, max_delay: int) -> None:
    """Check that every arm can be sampled at every delay in a reasonable time."""
    pulls = (max_delay + 1) * (arms + max_delay + 1)
    if pulls > MAX_PULLS:
        raise InputError(
            "max_delay",
            f"must leave at most {MAX_PULLS:,} pulls to sample every arm at every delay once",
            f"{max_delay:,} for {arms:,} arms",
        )


@lru_cache(maxsize=1)  # asked for at every block
def sampling_cycles(arms: int, max_delay: int) -> tuple[tuple[int, ...], ...]:
    """Return cycles that, repeated, pull every arm at every delay up to max_delay + 1.

    A cycle of as many different arms as the delay samples all of them at once. Where there are too
    few arms, one arm repeats itself to fill the cycle, and is sampled in a second one.

    Examples
    --------
    >>> sampling_cycles(arms=2, max_delay=2)
    ((0,), (1,), (0, 1), (0, 1, 1), (1, 0, 0))
    """
    cycles: list[tuple[int, ...]] = []
    for delay in range(1, max_delay + 2):
        if delay <= arms:
            for first in range(0, arms, delay):
                cycles.append(tuple((first + place) % arms for place in range(delay)))
        elif arms > 1:
            filling = delay - arms + 1
            cycles.append((*range(arms - 1), *[arms - 1] * filling))
            cycles.append((arms - 1, *[0] * (delay - 1)))
    return tuple(cycles)
