"""Simulated listeners, so that a newcomer sees the service move."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import numpy as np

from fallow.live.errors import ConflictError
from fallow.live.events import DECISION, FEEDBACK, Event
from fallow.live.service.committer import Done
from fallow.live.service.host import Host
from fallow.live.settings import CampaignSettings
from fallow.live.stores import StoreError

NAME = "demo"
SONGS = ("anthem", "ballad", "chorus", "hymn", "polka", "waltz")
MAX_DELAY = 8
USERS = 100
DECISIONS_PER_SECOND = 40
LOST_SHARE = 0.1
"""Share of feedback that never comes."""
FEEDBACK_SECONDS = 2.0
"""Time until feedback comes, on average."""
EXPLORE = 0.2


class Demo:
    """Users who listen to songs, which please the more the longer they rested.

    Parameters
    ----------
    host
        Where they ask what to hear.
    seed
        Of their choices.
    """

    def __init__(self, host: Host, seed: int = 17) -> None:
        self._host = host
        self._random = np.random.default_rng(seed)
        best = np.linspace(0.9, 0.5, len(SONGS))[:, None]
        half = np.linspace(4.0, 0.5, len(SONGS))[:, None]
        self.means = best * (1 - 0.9 * 0.5 ** (np.arange(1, MAX_DELAY + 2) / half))
        """What each song pays at each delay."""

    async def run(self) -> None:
        """Let them listen until the service ends, whatever else is done with the campaign."""
        await self._host.create(NAME, CampaignSettings(SONGS, MAX_DELAY, explore=EXPLORE))
        async with asyncio.TaskGroup() as under_way:
            while True:
                user = f"user {self._random.integers(USERS)}"
                under_way.create_task(self._listen(user))
                await asyncio.sleep(self._random.exponential(1 / DECISIONS_PER_SECOND))

    async def _listen(self, user: str) -> None:
        with suppress(ConflictError, StoreError):
            campaign = await self._host.campaign(NAME)
            decider, now = campaign.decider, self._host.now
            await self._host.planned(campaign)
            about = Event(DECISION, 0.0, user=user)
            done = await self._host.do(campaign, about, lambda: decider.decide(user, None, now()))
            if not isinstance(done, Done) or self._random.random() < LOST_SHARE:
                return
            reward = self.reward(done.event)
            await asyncio.sleep(self._random.exponential(FEEDBACK_SECONDS))
            about = Event(FEEDBACK, 0.0, ref=done.number)
            await self._host.do(
                campaign, about, lambda: decider.feedback(done.number, reward, now())
            )

    def reward(self, event: Event) -> float:
        """Return how a decision pleased; an arm that someone added pays 0.5."""
        if event.arm not in SONGS:
            return 0.5
        assert event.delay is not None
        mean = self.means[SONGS.index(event.arm), event.delay - 1]
        return float(self._random.random() < mean)
