"""What takes long to find out about a campaign, found out while someone watches."""

from __future__ import annotations

import asyncio
import time

from fallow.errors import InputError
from fallow.live.events import Event
from fallow.live.log import log_of
from fallow.live.policy import Policy
from fallow.live.service.driver import Driver
from fallow.live.service.hosted import Hosted
from fallow.live.service.messages import Overview, PlanAnswer, Rest
from fallow.live.service.overview import cells_of, overview_of
from fallow.live.settings import Settings
from fallow.live.stores import StoreError
from fallow.logs.rest import rest_matters
from fallow.planners.plan import plan

PLAN_EVERY, REST_EVERY = 5.0, 60.0
"""Seconds between two of them, at least."""
SHARE = 10
"""Times what the last one took, at least, until the next."""
PATIENCE = 2.0
"""Seconds that a first overview waits for a plan."""
MOST_EVENTS = 200_000
"""The latest events, from which is told whether rest matters."""


class Watched:
    """A campaign as those see it who watch.

    Parameters
    ----------
    driver
        Who has the campaign.
    hosted
        The campaign.
    """

    def __init__(self, driver: Driver, hosted: Hosted) -> None:
        self._driver, self.hosted = driver, hosted
        self._plan: PlanAnswer | None = None
        self._rest: Rest | None = None
        self._planned: Policy | None = None
        self._told_at = -1
        self._work: asyncio.Task[None] | None = None
        self._next_plan = self._next_rest = 0.0
        self._findings = 0
        self._seen: tuple[object, asyncio.Task[Overview]] | None = None

    @property
    def version(self) -> tuple[int, int]:
        """What changes when there is something new to see."""
        return self.hosted.desk.state.head, self._findings

    def refresh(self) -> asyncio.Task[None]:
        """Find out anew what is due, in the background."""
        if self._work is None or self._work.done():
            self._work = self._driver.spawn(self._refresh())
        return self._work

    async def overview(self) -> Overview:
        """Return all about the campaign; made once a second and version, for all who watch."""
        work = self.refresh()
        is_compiling = self._driver.warming is not None and not self._driver.warming.done()
        if self._plan is None and not is_compiling:
            await asyncio.wait([work], timeout=PATIENCE)
        moment = self.version, int(time.time())
        if self._seen is None or self._seen[0] != moment:
            self._seen = moment, asyncio.create_task(self._look())
        return await asyncio.shield(self._seen[1])  # others may wait for it, too

    async def _look(self) -> Overview:
        view, overview = overview_of(self.hosted, time.time())
        overview.cells = await asyncio.to_thread(cells_of, view)
        overview.plan, overview.rest = self._plan, self._rest
        return overview

    async def _refresh(self) -> None:
        try:
            await self._find_out()
        except StoreError as error:
            self._driver.tell_failure(error)

    async def _find_out(self) -> None:
        now = time.monotonic()
        policy, head = self.hosted.desk.policy, self.hosted.desk.state.head
        if policy is not self._planned and now >= self._next_plan:
            self._plan = await self._driver.study(_plan_answer, policy)
            self._planned = policy
            self._findings += 1
            self._next_plan = _later(now, PLAN_EVERY)
        elif head != self._told_at and now >= self._next_rest:
            events: list[tuple[int, Event]] = []
            async for page in self._driver.events(self.hosted, max(0, head - MOST_EVENTS)):
                events += page
            state = self.hosted.desk.state
            arms = list(state.arms)
            self._rest = await self._driver.study(_rest_answer, state.settings, arms, events)
            self._told_at = head
            self._findings += 1
            self._next_rest = _later(now, REST_EVERY)


def _later(begun: float, least: float) -> float:
    now = time.monotonic()
    return now + max(least, SHARE * (now - begun))


def _plan_answer(policy: Policy) -> PlanAnswer:
    found = plan(policy.expected)
    return PlanAnswer(
        list(found.names), found.gain, found.upper_bound, found.certificate, found.method
    )


def _rest_answer(settings: Settings, arms: list[str], events: list[tuple[int, Event]]) -> Rest:
    try:
        verdict = rest_matters(log_of(settings, arms, events))
    except InputError as error:
        return Rest("cannot say", str(error))
    if verdict.missing:  # numbers would only mislead those who watch
        return Rest(verdict.verdict, f"{verdict.verdict}; missing: {verdict.missing}")
    return Rest(verdict.verdict, str(verdict))
