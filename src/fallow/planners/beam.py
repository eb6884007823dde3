"""Beam search: many schedules side by side, the promising ones continued."""

import numpy as np

from fallow import checks
from fallow.instance import Instance
from fallow.kernels.bounds import best_delays
from fallow.kernels.cycles import best_part
from fallow.kernels.paths import beam_path, best_repeat, relaxed_values
from fallow.limits import rested_past
from fallow.planners.cycle import Plan, certify
from fallow.planners.feasible import StuckError, possible_problem
from fallow.planners.relaxed import relaxed

WIDTH = 64
"""Delay vectors that are kept of each round, unless asked otherwise."""
BRANCHES = 8
"""Arms tried next after each delay vector that is kept."""
MAX_WORK = 2**26
"""Looks at an arm after which the search is cut short, about a second."""
SORTING = 32
"""What keeping one delay vector more in a round costs beside its arms, in looks at an arm."""


def beam(instance: Instance, width: int = WIDTH) -> Plan:
    """Return the best cycle on the best path that a beam search finds.

    The search starts rested, keeps the `width` best delay vectors of each round, and judges them by
    their reward so far plus what each arm at its delay is worth in the relaxed problem behind
    `upper_bound`. Its cost grows with arms x delays x width; for very many arms and delays the beam
    is narrower.

    Examples
    --------
    >>> round(beam(Instance.b2dep([1, 0.99, 0.01], delays=[2, 1, 1], decay=[1, 1])).gain, 12)
    0.7475
    """
    width = checks.whole_number("width", width, minimum=1)
    arms, means, limits = possible_problem(instance)
    price = relaxed(instance).price
    # Arms worth their price, and a few more for the rounds in which all of those must rest.
    worth = ((means - price) / np.arange(1, means.shape[1] + 1)).max(axis=1)
    enough = len(arms) if limits.bind else (worth > 0).sum() + BRANCHES
    useful = np.argsort(-worth, kind="stable")[:enough]
    means, limits = means[useful], limits.of(useful)
    surplus, _ = best_delays(means, price, limits)
    values = relaxed_values(means, price, surplus, limits)[np.newaxis]  # for any rounds left
    # Long enough to settle in a cycle, but not for ever where arms and delays are many; where
    # even 4 times the longest delay would be too much, the beam is narrower.
    longest = means.shape[1]
    affordable = MAX_WORK // (longest * (len(useful) + SORTING))
    width = min(width, max(1, affordable // 4))
    rounds = longest * min(32, max(4, affordable // width))
    past = rested_past(limits, longest)
    path, _ = beam_path(means, values, price, limits, past, rounds, width, BRANCHES)
    start, end = best_repeat(means, limits, past, path)
    if start == end:  # nothing repeats
        start, end = best_part(means, limits, path) if limits.bind else 0, len(path)
    if start == -1:
        raise StuckError("beam")
    return certify(instance, arms[useful[path[start:end]]], "beam")
