"""Campaigns that are only there to call every kernel that the service calls."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from fallow import kernels
from fallow.catalog import random_geometric
from fallow.instance import Instance
from fallow.kernels.cycles import best_part
from fallow.limits import no_limits
from fallow.live.campaign import Campaign
from fallow.live.errors import ConflictError
from fallow.live.settings import Settings
from fallow.logs import rest_matters, simulate_log
from fallow.planners.plan import plan
from fallow.rules import Rules

ARMS = ("hymn", "waltz", "polka", "march")
RULES = Rules(
    cooldowns={"hymn": 2},
    at_most=[{"arms": ["hymn", "waltz"], "pulls": 2, "rounds": 4}],
    groups={"loud": ["polka", "march"]},
    at_least_once={"waltz": 6},
)
TIGHT = Rules(cooldowns={"hymn": 2, "waltz": 4, "polka": 4}, exclude=["march"])
"""Rules with which some planners get stuck."""
SETTINGS = (
    Settings(ARMS, max_delay=3),
    Settings(ARMS, max_delay=3, explore=0.5, rules=RULES),
    Settings(ARMS, max_delay=60.0, clock="time", rules=Rules(cooldowns=5, exclude=["march"])),
)


def compile_decisions() -> None:
    """Compile all that the service calls, or read it from the cache, and leave it at that.

    Until all of it is there, other threads go on as before.
    """
    with kernels.compiling():
        for settings in SETTINGS:
            _decide(settings)
        table = random_geometric(arms=4, max_delay=3, seed=0)
        for rules in (Rules(), RULES, TIGHT):
            instance = Instance(table.means, ARMS, rules)
            plan(instance)
            plan(instance, max_states=0)
        limits = no_limits(len(ARMS))  # as of many arms with rules, when a search repeats nothing
        best_part(np.array(table.means), limits, np.arange(len(ARMS)))
        rest_matters(simulate_log(table, users=30, rounds=60))
    kernels.compile_all()


def _decide(settings: Settings) -> None:
    """Decide with what is known, with decisions that wait, and with other arms."""
    with Campaign.open("memory:", "trial", background=False, **vars(settings)) as campaign:
        campaign.feedback(campaign.decide("ann").id, 1.0)
        campaign.decide("bob")
        for arm in ("polka", "march"):  # the rules may need them, which takes a search to see
            with suppress(ConflictError):
                campaign.retire_arm(arm)
        campaign.add_arm("psalm")
        campaign.decide("ann")
