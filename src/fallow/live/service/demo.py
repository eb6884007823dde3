"""Simulated listeners, so that a newcomer sees the service move."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

import numpy as np

from fallow.live.errors import ConflictError
from fallow.live.events import Event
from fallow.live.service.driver import Driver
from fallow.live.service.hosted import Done, Hosted
from fallow.live.settings import Settings
from fallow.live.stores import StoreError

NAME = "demo"
SONGS = ("anthem", "ballad", "chorus", "hymn", "polka", "waltz")
MAX_DELAY = 8
USERS = 100
LISTENERS = 40
"""Decisions a second."""
LOST = 0.1
"""Share of feedback that never comes."""
SECONDS = 2.0
"""Until feedback comes, on average."""
EXPLORE = 0.2


class Demo:
    """Users who listen to songs, which please the more the longer they rested.

    Parameters
    ----------
    driver
        Where they ask what to hear.
    seed
        Of their choices.
    """

    def __init__(self, driver: Driver, seed: int = 17) -> None:
        self._driver = driver
        self._random = np.random.default_rng(seed)
        best = np.linspace(0.9, 0.5, len(SONGS))[:, None]
        half = np.linspace(4.0, 0.5, len(SONGS))[:, None]
        self.means = best * (1 - 0.9 * 0.5 ** (np.arange(1, MAX_DELAY + 2) / half))
        """What each song pays at each delay."""

    async def run(self) -> None:
        """Let them listen, for ever, whatever else is done with the campaign."""
        await self._driver.create(NAME, Settings(SONGS, MAX_DELAY, explore=EXPLORE))
        hosted = await self._driver.campaign(NAME)
        async with asyncio.TaskGroup() as under_way:
            while True:
                user = f"user {self._random.integers(USERS)}"
                under_way.create_task(self._listen(hosted, user))
                await asyncio.sleep(self._random.exponential(1 / LISTENERS))

    async def _listen(self, hosted: Hosted, user: str) -> None:
        desk = hosted.desk
        with suppress(ConflictError, StoreError):
            done = await self._driver.do(hosted, lambda: desk.decide(user, None, time.time()))
            if not isinstance(done, Done) or self._random.random() < LOST:
                return
            reward = self.reward(done.event)
            await asyncio.sleep(self._random.exponential(SECONDS))
            await self._driver.do(hosted, lambda: desk.feedback(done.number, reward, time.time()))

    def reward(self, event: Event) -> float:
        """Return how a decision pleased; an arm that someone added pays 0.5."""
        if event.arm not in SONGS:
            return 0.5
        assert event.delay is not None
        mean = self.means[SONGS.index(event.arm), event.delay - 1]
        return float(self._random.random() < mean)
