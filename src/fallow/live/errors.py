"""What a campaign refuses, beside arguments that break a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fallow import checks

if TYPE_CHECKING:
    from fallow.live.events import Event

Arms = tuple[tuple[str, ...], tuple[bool, ...]]
"""The names of all arms, and which of them are retired."""


class UnknownError(LookupError):
    """There is no such campaign, decision or arm."""

    def __str__(self) -> str:
        return str(self.args[0])


class ConflictError(ValueError):
    """What is asked contradicts what was said before, or the rules leave no arm.

    Attributes
    ----------
    retry_after
        Seconds after which the same request may succeed, where rules by elapsed time leave no arm;
        else None.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RefusedError(ConflictError):
    """The rules leave no arm for a user now.

    Attributes
    ----------
    event
        The refusal, to be kept with all other events.
    """

    def __init__(self, message: str, event: Event, retry_after: float | None = None) -> None:
        super().__init__(message, retry_after)
        self.event = event


class UncheckedArmsError(Exception):
    """It must be found out first, by `Decider.check_arms`, whether the rules allow these arms.

    Attributes
    ----------
    arms
        Which arms.
    """

    def __init__(self, arms: Arms) -> None:
        super().__init__(arms)
        self.arms = arms


def unknown_decision(identity: object) -> UnknownError:
    """Return the error for an id that no decision has."""
    return UnknownError(f"id must be that of a decision, got {checks.short(identity)}")
