"""What must hold of the events in the store, whatever failed: an independent fold over the log."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

from fallow.live.events import ARM, CANCEL, DECISION, DEFAULT, EXPIRE, FEEDBACK, RETIRE, Event

KEY_AGE = 7 * 86_400.0
"""Seconds after which keys are forgotten."""


IN_FLIGHT = 20
"""Events that may be committed between a request and its own."""


class Shown(NamedTuple):
    """A decision that was made for a user."""

    number: int
    at: float
    arm: str


class BrokenError(AssertionError):
    """Something that must hold does not."""


class Oracle:
    """Follows one campaign's log, and checks each event as it is committed.

    Parameters
    ----------
    settings
        As they were sent.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._rules: dict[str, Any] = settings.get("rules", {})
        self._retired: set[str] = set()
        self._keys: dict[str, int] = {}
        self._shown: dict[str, list[Shown]] = defaultdict(list)
        self._since: dict[str, int] = {}
        self._cancelled_users: dict[str, int] = {}
        self.events: list[Event] = []

    def take_in(self, number: int, event: Event) -> None:
        """Check an event, and what it does to its user."""
        self._require(number == len(self.events) + 1, f"number {number} follows a gap")
        self.events.append(event)
        if event.kind == DECISION:
            self._decide(number, event)
        elif event.kind == RETIRE:
            self._retired.add(event.arm or "")
        elif event.kind == ARM:
            self._retired.discard(event.arm or "")
        elif event.kind == CANCEL:
            decision = self.events[(event.ref or 0) - 1]
            user = decision.user or ""
            self._cancelled_users[user] = number
            self._shown[user] = [each for each in self._shown[user] if each.number != event.ref]

    def open_since(self) -> dict[int, float]:
        """Return the decisions that nothing was reported of, with their times."""
        waiting = {}
        for number, event in enumerate(self.events, 1):
            if event.kind == DECISION:
                waiting[number] = event.at
            elif event.kind in (FEEDBACK, CANCEL, DEFAULT, EXPIRE):
                waiting.pop(event.ref or 0, None)
        return waiting

    def _decide(self, number: int, event: Event) -> None:
        user, arm = event.user or "", event.arm or ""
        self._require(arm not in self._retired, f"retired arm {arm!r} was decided")
        if event.key is not None:
            earlier = self._keys.get(event.key)
            # Keys are forgotten by the clocks of the processes, also where one runs days ahead.
            latest = max(each.at for each in self.events)
            is_forgotten = earlier is not None and latest - self.events[earlier - 1].at > KEY_AGE
            self._require(earlier is None or is_forgotten, f"two decisions for key {event.key!r}")
            self._keys[event.key] = number
        history = self._shown[user]
        # A decision that was under way when an earlier one was cancelled counts that one still.
        was_cancelled = number - self._cancelled_users.get(user, -IN_FLIGHT) < IN_FLIGHT
        for cap in () if was_cancelled else self._caps():
            self._check_cap(*cap, [*history, Shown(number, event.at, arm)], user)
        history.append(Shown(number, event.at, arm))
        if user not in self._cancelled_users:
            self._check_deadlines(user, history)

    def _caps(self) -> list[tuple[set[str], int, float]]:
        """Return all that forbids, as a number of pulls in a window of rounds or seconds."""
        cooldowns = self._rules.get("cooldowns", {})
        caps: list[tuple[set[str], int, float]] = []
        for arm, span in cooldowns.items():
            caps.append(({arm}, 1, span))
        for cap in self._rules.get("at_most", []):
            caps.append((set(cap["arms"]), cap["pulls"], cap.get("rounds") or cap["seconds"]))
        for group in self._rules.get("groups", {}).values():
            is_list = isinstance(group, list)
            caps.append(
                (set(group if is_list else group["arms"]), 1, 2 if is_list else group["apart"])
            )
        return caps

    def _check_cap(
        self, arms: set[str], pulls: int, span: float, history: list[Shown], user: str
    ) -> None:
        last = history[-1]
        if last.arm not in arms:
            return
        if self._settings.get("clock") == "time":
            # Clocks of processes differ and jump; only what an orderly clock says is checked.
            times = [each.at for each in history]
            if times != sorted(times):
                return
            recent = [each for each in history if last.at - each.at < span]
        else:
            recent = history[-int(span) :]
        counted = arms - self._retired  # as rules are about the arms that there are
        used = sum(each.arm in counted for each in recent)
        self._require(used <= pulls, f"{used} of {sorted(arms)} within {span} for {user!r}")

    def _check_deadlines(self, user: str, history: list[Shown]) -> None:
        for arm, rounds in self._rules.get("at_least_once", {}).items():
            if len(history) >= rounds:
                window = history[-rounds:]
                self._require(
                    any(each.arm == arm for each in window),
                    f"{arm!r} was not shown to {user!r} in {rounds} rounds",
                )

    def _require(self, holds: bool, what: str) -> None:
        if not holds:
            raise BrokenError(what)
