"""Chance in decisions: which users explore, and which arms are shown at random.

Nothing is drawn from a generator: a draw is a hash of the campaign, the user and the turn, so that
the same calls lead to the same decisions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

STRETCH = 4
"""A user's part, to explore or to exploit, is drawn again after this multiple of the number of
delays, in decisions of the user."""


def draw(campaign: str, user: str, turn: int) -> float:
    """Return a number in [0, 1) that the campaign, the user and the turn determine.

    Examples
    --------
    >>> draw("morning", "ann", 0) == draw("morning", "ann", 0) != draw("morning", "ann", 1)
    True
    """
    text = f"{campaign}\0{user}\0{turn}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) / 2**64


def is_exploring(campaign: str, user: str, turn: int, users: int, delays: int) -> bool:
    """Return whether a user's next decision is to explore.

    What one user finds out serves all users, and may cost that user some rounds. So of many users
    few explore at a time, the square root of their number, and all of them in turn.

    Parameters
    ----------
    campaign, user
        By name.
    turn
        How many decisions were made for the user.
    users
        How many users the campaign has.
    delays
        How many delays it distinguishes.
    """
    stretch = turn // (STRETCH * delays)
    return users <= 1 or draw(campaign, user, -stretch - 1) < users**-0.5


def randomized(
    chosen: int,
    permitted: list[int],
    explore: float,
    drawn: float,
    leads_on: Callable[[int], bool],
) -> tuple[int, float]:
    """Return the arm to show, the chosen one or one at random, and its propensity.

    A position among the permitted arms is drawn. A dead end there leaves its chance to the next
    arm that is not one, the first following the last, so only those before an arm matter.

    Parameters
    ----------
    chosen
        The arm to show if none is drawn.
    permitted
        The arms that the rules permit now.
    explore
        The share of decisions that are drawn at random.
    drawn
        The draw, in [0, 1).
    leads_on
        Returns whether the rules can be obeyed after an arm; always true of the chosen one.

    Examples
    --------
    >>> randomized(1, [0, 1], explore=0.5, drawn=0.1, leads_on=lambda arm: True)
    (0, 0.25)
    """
    if chosen not in permitted:  # deadlines cannot be met, so there is nothing to try
        return chosen, 1.0
    count = len(permitted)
    position = permitted.index(chosen)
    if drawn < explore:
        position = int(drawn / explore * count)
        while not leads_on(permitted[position]):
            position = (position + 1) % count
    positions = 1
    while not leads_on(permitted[position - positions]):
        positions += 1
    arm = permitted[position]
    return arm, explore * positions / count + (1 - explore) * (arm == chosen)
