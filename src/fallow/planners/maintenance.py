"""Periodic maintenance scheduling (PMSP), decided through the optimum (paper, Theorem 1).

Machine i must be serviced exactly every l_i rounds, one machine a round. A schedule is a sequence,
repeated without end, of machines numbered from 1; 0 is a round without service.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fallow import checks
from fallow.errors import InputError
from fallow.instance import Instance
from fallow.planners.optimal import optimal


def instance(intervals: Sequence[int]) -> Instance:
    """Return the instance of the paper's reduction (supplement, proof of Theorem 1).

    Machine i is an arm that pays 1 when at least l_i rounds have passed since its last pull and 0
    before, so d_i = l_i - 1, mu_i = 1, f = 1; one more arm, idle, always pays 0. A schedule exists
    if and only if the optimum is sum_i 1 / l_i.

    Parameters
    ----------
    intervals
        The service intervals l_i >= 1, in rounds, with sum_i 1 / l_i <= 1.

    Examples
    --------
    >>> instance([2, 3]).means
    array([[0., 1., 1.],
           [0., 0., 1.],
           [0., 0., 0.]])
    """
    lengths = _checked_intervals(intervals)
    checks.table_size(len(lengths) + 1, max(lengths))
    delays = np.arange(1, max(lengths) + 1)
    machines = [np.where(delays >= length, 1.0, 0.0) for length in lengths]
    names = [f"machine {machine}" for machine in range(1, len(lengths) + 1)]
    return Instance([*machines, np.zeros(len(delays))], [*names, "idle"])


def schedule(intervals: Sequence[int], max_states: int = 20_000_000) -> tuple[int, ...] | None:
    """Return a schedule, or None if there is none: every optimal cycle would be one.

    Examples
    --------
    >>> schedule([2, 4, 4])
    (1, 2, 1, 3)
    >>> schedule([2, 3]) is None
    True
    """
    lengths = _checked_intervals(intervals)
    cycle = optimal(instance(lengths), max_states).cycle
    # Arm i is machine i + 1; the last arm is idle.
    services = tuple((arm + 1) % (len(lengths) + 1) for arm in cycle)
    return services if is_schedule(lengths, services) else None


def is_schedule(intervals: Sequence[int], services: Sequence[int]) -> bool:
    """Tell whether repeating the services keeps every machine's interval exactly.

    Examples
    --------
    >>> is_schedule([2, 4, 4], [1, 2, 1, 3])
    True
    >>> is_schedule([2, 4, 4], [1, 2, 1, 0])
    False
    """
    lengths = _checked_intervals(intervals)
    rounds = np.array(checks.whole_numbers("services", services, minimum=0))
    if rounds.max() > len(lengths):
        raise InputError("services", f"must be from 0 to {len(lengths)}", f"{rounds.max()}")
    for machine, length in enumerate(lengths, start=1):
        times = np.flatnonzero(rounds == machine)
        gaps = np.diff(times, append=times[:1] + len(rounds))
        if not times.size or (gaps != length).any():
            return False
    return True


def _checked_intervals(intervals: Sequence[int]) -> list[int]:
    lengths = checks.whole_numbers("intervals", intervals, minimum=1)
    load = sum(Fraction(1, length) for length in lengths)
    if load > 1:
        raise InputError("intervals", "must have sum of 1 / interval <= 1", f"{load} for {lengths}")
    return lengths
