"""The decisions of a campaign as a log, for `fit` and `value`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fallow.errors import InputError
from fallow.live.events import CANCEL, DECISION, DEFAULT, FEEDBACK, Event
from fallow.live.settings import CampaignSettings
from fallow.logs.log import Log


def log_of(
    settings: CampaignSettings, arms: Sequence[str], events: Iterable[tuple[int, Event]]
) -> Log:
    """Return the decisions that were shown as a log, from all events or the last ones."""
    shown: dict[int, list[Any]] = {}
    first = None
    for number, event in events:
        first = first or number
        ref = event.ref or 0
        if event.kind == DECISION:
            when = number if settings.clock == "rounds" else event.at
            shown[number] = [event.user, when, event.arm, np.nan, event.propensity]
        elif event.kind in (FEEDBACK, DEFAULT) and ref in shown:
            shown[ref][3] = event.reward
        elif event.kind == CANCEL:
            shown.pop(ref, None)
    if not shown:
        raise InputError("a log", "must have decisions that were shown", "none yet")
    user, times, arm, reward, propensity = zip(*shown.values(), strict=True)
    return Log(
        user=user,
        time=times,
        arm=arm,
        reward=reward,
        propensity=propensity if settings.explore > 0 else None,
        max_delay=settings.max_delay,
        clock=settings.clock,
        arms=arms,
        from_start=first == 1,
    )
