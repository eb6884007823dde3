"""A decision as it is handed out, and its id."""

from __future__ import annotations

from typing import NamedTuple

from fallow import checks
from fallow.live.errors import UnknownError


class Decision(NamedTuple):
    """What to show a user.

    Attributes
    ----------
    id
        To report the reward by.
    arm
        The arm to show, by name.
    delay
        Its delay, counted from 1 to the longest; one more is rested.
    expected
        What it is believed to pay, in [0, 1].
    low, high
        In between lie 95 % of the belief.
    optimistic
        What it may well pay; plans are made as if it did.
    rewards
        How many rewards of this arm at this delay are known, from all users.
    """

    id: str
    arm: str
    delay: int
    expected: float
    low: float
    high: float
    optimistic: float
    rewards: int

    @property
    def reason(self) -> str:
        """What is known of this arm at this delay, in words."""
        text = (
            f"believed to pay {self.expected:.3f} ({self.low:.3f} to {self.high:.3f}) after "
            f"{self.rewards:,} rewards"
        )
        if self.optimistic > self.expected:  # not where many decisions wait for theirs
            text += f"; it might well pay {self.optimistic:.3f}"
        return text


def decision_id(campaign: str, number: int) -> str:
    """Return the name of a decision by the number of its event.

    Examples
    --------
    >>> decision_id("morning", 17)
    'morning-17'
    """
    return f"{campaign}-{number}"


def parse_decision_id(text: str) -> tuple[str, int] | None:
    """Return the campaign and the number of a decision, or None if this names none.

    Examples
    --------
    >>> parse_decision_id("morning-17")
    ('morning', 17)
    """
    campaign, _, number = text.rpartition("-")
    if not (number.isascii() and number.isdigit() and len(number) <= 18 and campaign):
        return None
    return campaign, int(number)


def unknown_decision(identity: object) -> UnknownError:
    """Return the error for an id that no decision has."""
    return UnknownError(f"id must be that of a decision, got {checks.short(identity)}")
