"""What takes long to find out about a campaign, found out while someone watches."""

from __future__ import annotations

import asyncio
import math

from fallow.errors import InputError
from fallow.live.events import Event
from fallow.live.log import log_of
from fallow.live.policy import Policy
from fallow.live.service.host import Host
from fallow.live.service.messages import Overview, PlanAnswer, Rest
from fallow.live.service.overview import cells_of, overview_of
from fallow.live.service.served import ServedCampaign
from fallow.live.service.web import encode
from fallow.live.settings import Settings
from fallow.live.state import View
from fallow.live.stores import StoreError
from fallow.logs.rest import rest_matters
from fallow.planners.plan import plan

LOOK_EVERY, PLAN_EVERY, REST_EVERY = 0.9, 5.0, 60.0
"""Seconds between two overviews, plans and verdicts, at least."""
SHARE = 10
"""Until the next one, at least this multiple of the time that the last one took."""
PATIENCE = 2.0
"""Seconds that a first overview waits for a plan."""
MOST_EVENTS = 200_000
"""The latest events, from which is told whether rest matters."""

Version = tuple[int, int]
"""Changes when there is something new to see."""


class Watched:
    """A campaign as those see it who watch.

    Parameters
    ----------
    host
        Has the campaign.
    campaign
        The campaign.
    """

    def __init__(self, host: Host, campaign: ServedCampaign) -> None:
        self._host, self.campaign = host, campaign
        self._loop = asyncio.get_running_loop()
        self._plan: PlanAnswer | None = None
        self._rest: Rest | None = None
        self._planned: Policy | None = None
        self._judged_at = -1
        self._work: asyncio.Task[None] | None = None
        self._next_plan = self._next_rest = self._next_look = 0.0
        self._findings = 0
        self._seen: tuple[Version, bytes] | None = None
        self._looking: asyncio.Task[None] | None = None

    @property
    def version(self) -> Version:
        """What changes when there is something new to see."""
        return self.campaign.desk.state.head, self._findings

    def refresh(self) -> asyncio.Task[None]:
        """Find out what is due, in the background."""
        if self._work is None or self._work.done():
            self._work = self._host.spawn(self._find_out())
        return self._work

    async def overview(self) -> bytes:
        """Return everything about the campaign as it is now, as JSON."""
        work = self.refresh()
        is_compiling = self._host.warming is not None and not self._host.warming.done()
        if self._plan is None and not is_compiling:
            await asyncio.wait([work], timeout=PATIENCE)
        return (await self._look())[1]

    async def latest(self) -> tuple[Version, bytes]:
        """Return an overview that is at most some seconds old, and what it is of.

        It is made once for all who watch, and takes at most a tenth of the time.
        """
        self.refresh()
        now = self._loop.time()
        if self._seen is None or (now >= self._next_look and self._seen[0] != self.version):
            if self._looking is None or self._looking.done():
                self._looking = self._loop.create_task(self._look_again())
            await asyncio.shield(self._looking)
        assert self._seen is not None
        return self._seen

    async def _look_again(self) -> None:
        begun = self._loop.time()
        self._seen = await self._look()
        self._next_look = self._later(begun, LOOK_EVERY)

    async def _look(self) -> tuple[Version, bytes]:
        version = self.version
        view, overview = overview_of(self.campaign, self._host.now())
        overview.plan, overview.rest = self._plan, self._rest
        return version, await self._host.study(_with_cells, overview, view)

    async def _find_out(self) -> None:
        """Make the plan if it is due, or else the verdict."""
        begun = self._loop.time()
        desk = self.campaign.desk
        try:
            if not desk.has_policy:
                await self._host.planned(self.campaign)
            if desk.policy is not self._planned and begun >= self._next_plan:
                self._next_plan = math.inf  # not twice at once
                try:
                    await self._make_plan()
                finally:
                    self._next_plan = self._later(begun, PLAN_EVERY)
            elif desk.state.head != self._judged_at and begun >= self._next_rest:
                self._next_rest = math.inf
                try:
                    await self._judge()
                finally:
                    self._next_rest = self._later(begun, REST_EVERY)
        except StoreError as error:
            self._host.committer.report(error)

    async def _make_plan(self) -> None:
        policy = self.campaign.desk.policy
        self._planned = policy
        self._plan = await self._host.study(_plan_answer, policy)
        self._findings += 1

    async def _judge(self) -> None:
        state = self.campaign.desk.state
        head = state.head
        events: list[tuple[int, Event]] = []
        async for page in self._host.events(self.campaign, max(0, head - MOST_EVENTS)):
            events += page
        arms = list(state.arms)
        self._rest = await self._host.study(_rest_answer, state.settings, arms, events)
        self._judged_at = head
        self._findings += 1

    def _later(self, begun: float, least: float) -> float:
        now = self._loop.time()
        return now + max(least, SHARE * (now - begun))


def _with_cells(overview: Overview, view: View) -> bytes:
    overview.cells = cells_of(view)
    return encode(overview)


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
