"""Rules by elapsed time: each is a cap on how often some arms are shown in a number of seconds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from fallow.live.state import PlanningView
from fallow.rules import Rule


class Wait(NamedTuple):
    """The seconds until an arm is permitted, and the rule that holds it until then."""

    seconds: float
    rule: Rule


class TimeRules:
    """The rules of a campaign whose clock is elapsed time; none where it counts rounds.

    A cool-down is a cap of one arm at one showing, and so is a group of arms that are to be apart.
    """

    def __init__(self, view: PlanningView) -> None:
        self._caps: list[_Cap] = []
        self._caps_of: dict[int, list[_Cap]] = defaultdict(list)
        if view.settings.clock == "rounds":
            return
        indices = {name: arm for arm, name in enumerate(view.arms)}
        for rule in view.settings.rules.bound_to(view.arms):
            if rule.kind != "exclude":
                seconds = float(rule.rounds if rule.seconds is None else rule.seconds)
                arms = [indices[str(name)] for name in rule.arms]
                self._caps.append(_Cap(len(self._caps), rule, arms, seconds))
        for cap in self._caps:
            for arm in cap.arms:
                self._caps_of[arm].append(cap)
        self._longest = max((cap.seconds for cap in self._caps), default=0.0)

    def waits(self, shown: Iterable[tuple[int, float]], now: float) -> dict[int, Wait]:
        """Return the arms that are not permitted now.

        `shown` are the arms that a user was shown and when, latest first.
        """
        if not self._caps:
            return {}
        counts: dict[int, int] = defaultdict(int)
        waits: dict[int, Wait] = {}
        for arm, at in shown:
            elapsed = max(now - at, 0.0)
            if elapsed >= self._longest:
                break
            for number, rule, members, seconds in self._caps_of.get(arm, ()):
                counts[number] += 1
                if counts[number] == rule.pulls and elapsed < seconds:
                    wait = Wait(seconds - elapsed, rule)
                    for member in members:
                        waits[member] = max(wait, waits.get(member, wait), key=_seconds)
        return waits


class _Cap(NamedTuple):
    number: int
    rule: Rule
    arms: list[int]
    seconds: float


def _seconds(wait: Wait) -> float:
    return wait.seconds
