"""What happens in a campaign, as it is written down, and the decisions that users are shown."""

from __future__ import annotations

from typing import Any, NamedTuple
from zlib import crc32

from fallow.live.errors import unknown_decision

DECISION = "decision"
"""An arm was chosen for a user."""
FEEDBACK = "feedback"
"""The reward of a decision came."""
CANCEL = "cancel"
"""A decision was not shown."""
DEFAULT = "default"
"""No feedback came within the wait, so the default reward counts until it does."""
EXPIRE = "expire"
"""No feedback came within the wait, and there is no default reward: it is no longer expected."""
ARM = "arm"
"""An arm was added."""
RETIRE = "retire"
"""An arm is no longer to be chosen."""
REFUSAL = "refusal"
"""The rules left no arm for a user, so nothing was decided."""

Claim = tuple[str, object]
"""Something that only one event at a time may be about, such as a user's next decision."""


class Event(NamedTuple):
    """One line of a campaign's log; what does not apply is None.

    Attributes
    ----------
    kind
        One of those above.
    at
        When, in seconds since 1970.
    ref
        The number of the decision that feedback and the like are about.
    user, arm
        By name.
    delay
        Of a decision, counted from 1 to the longest; one more is rested.
    propensity
        The chance with which the arm was chosen, where arms are drawn at random.
    reward
        Of feedback, or by default.
    expected
        What a decision was believed to pay.
    key
        The caller's own name of a decision.
    reason
        Why a request was refused.
    """

    kind: str
    at: float
    ref: int | None = None
    user: str | None = None
    arm: str | None = None
    delay: int | None = None
    propensity: float | None = None
    reward: float | None = None
    expected: float | None = None
    key: str | None = None
    reason: str | None = None

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What no other event may be about at the same time."""
        if self.kind == DECISION:
            mine: Claim = ("user", self.user)
            return (mine, ("key", self.key)) if self.key is not None else (mine,)
        if self.kind == REFUSAL:
            return ()
        # All arms are one claim: two of them must not retire at once if the rules need either.
        return (("decision", self.ref),) if self.ref is not None else (("arms", None),)

    def document(self, campaign: str, seq: int) -> dict[str, Any]:
        """Return the event as plain data, without what does not apply."""
        number = seq if self.kind == DECISION else self.ref
        fields = self._asdict()
        del fields["ref"]
        identity = None if number is None else decision_id(campaign, number)
        document = {"seq": seq, "kind": self.kind, "id": identity, **fields}
        return {name: value for name, value in document.items() if value is not None}


AS_TEXT = "\0".join(["%s"] * len(Event._fields))


def checksum_after(checksum: int, event: Event) -> int:
    """Return the running checksum of a campaign's history after one more event.

    Two histories that differ have different checksums, but for a chance of 2^-32. It begins with
    that of the settings. All parts are written as text that is the same in every process: whole
    numbers, names, and floats by their shortest digits.
    """
    return crc32((AS_TEXT % event).encode(), checksum)


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


def parse_decision_id(identity: object) -> tuple[str, int]:
    """Return the campaign and the number of a decision; an id of another form is unknown.

    Examples
    --------
    >>> parse_decision_id("morning-17")
    ('morning', 17)
    """
    campaign, _, number = identity.rpartition("-") if isinstance(identity, str) else ("", "", "")
    if not (number.isascii() and number.isdigit() and len(number) <= 18 and campaign):
        raise unknown_decision(identity)
    return campaign, int(number)
