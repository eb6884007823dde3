"""Compiles every kernel that campaigns call, before the first request needs it.

Small campaigns are played that call all of them. The service does this in a process of its own, and
answers small requests meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np

from fallow import kernels
from fallow.catalog import random_geometric
from fallow.instance import Instance
from fallow.kernels.cycles import best_part
from fallow.limits import no_limits
from fallow.live.campaign import Campaign
from fallow.live.errors import ConflictError
from fallow.live.settings import CampaignSettings
from fallow.logs import rest_matters, simulate_log
from fallow.machine_code import has_machine_code, keep_stamp
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
    CampaignSettings(ARMS, max_delay=3),
    CampaignSettings(ARMS, max_delay=3, explore=0.5, rules=RULES),
    CampaignSettings(
        ARMS, max_delay=60.0, clock="time", rules=Rules(cooldowns=5, exclude=["march"])
    ),
)

MOST_CELLS = 160
"""Arms x delays of a campaign whose calls are all small enough for the interpreter."""
NICENESS = 10
"""By how much the process that compiles yields to the service."""


def compile_decisions() -> None:
    """Compile everything that campaigns call, or read it from the cache.

    Other threads go on as before until all of it is available.
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


def _decide(settings: CampaignSettings) -> None:
    """Decide with what is known, with decisions that wait, and with other arms."""
    with Campaign.open("memory:", "trial", background=False, **vars(settings)) as campaign:
        campaign.feedback(campaign.decide("ann").id, 1.0)
        campaign.decide("bob")
        for arm in ("polka", "march"):  # the rules may need them, which takes a search to see
            with suppress(ConflictError):
                campaign.retire_arm(arm)
        campaign.add_arm("psalm")
        campaign.decide("ann")


def needs_compiler(arms: int, columns: int) -> bool:
    """Return whether a campaign is to wait until kernels are compiled.

    Its calls would wait for that themselves, on the event loop, too.

    Examples
    --------
    >>> needs_compiler(arms=3, columns=11), needs_compiler(arms=1000, columns=11)
    (False, True)
    """
    return arms * columns > MOST_CELLS


async def compile_ahead() -> None:
    """Compile beside the service; another process fills the cache first, unless it is full.

    Until then the interpreter makes small calls, and larger ones wait.
    """
    thread = ThreadPoolExecutor(1, "compiler")  # of its own: calls that wait may fill all others
    try:
        with kernels.compiler_awaited():
            if not has_machine_code():
                with suppress(OSError):  # no process could be started: compile here
                    await _run(sys.executable, "-P", "-m", __name__)
            await asyncio.get_running_loop().run_in_executor(thread, compile_decisions)
    finally:
        thread.shutdown(wait=False)


async def _run(*command: str) -> None:
    """Run a process to its end, or kill it if that is not waited for."""
    # Apart from the terminal: Ctrl-C is for the service, which then ends the process quietly.
    process = await asyncio.create_subprocess_exec(*command, start_new_session=True)
    try:
        await process.wait()
    finally:
        with suppress(ProcessLookupError):  # it has ended
            process.kill()
        await process.wait()


def _fill_cache() -> None:
    """Compile all that campaigns call, for the processes to come."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    compile_decisions()
    keep_stamp()


if __name__ == "__main__":
    _fill_cache()
