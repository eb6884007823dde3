"""The overview of a campaign on the page, and the feed that keeps it up to date."""

from __future__ import annotations

import asyncio
import math
import statistics
from collections.abc import Iterator

import numpy as np

from fallow.arrays import BoolArray, FloatArray
from fallow.errors import InputError
from fallow.live.events import CANCEL, DEFAULT, FEEDBACK, REFUSAL, Event
from fallow.live.log import log_of
from fallow.live.policy import Belief, CampaignPolicy
from fallow.live.service.committer import ServedCampaign
from fallow.live.service.host import Host
from fallow.live.service.http import encode
from fallow.live.service.messages import (
    Arm,
    Bucket,
    Cell,
    EventCounts,
    Line,
    Overview,
    PlanAnswer,
    Rest,
    RuleAnswer,
)
from fallow.live.settings import CampaignSettings
from fallow.live.state import EXPIRED, OPEN, PlanningView, State
from fallow.live.stores import StoreError
from fallow.logs.rest import rest_matters
from fallow.planners.plan import plan
from fallow.rules import Rules

LATE = 10.0
"""Times the median time to feedback, after which it is late where no wait is set."""
RECENT = 100_000
"""Decisions that the history looks back at."""
MOST_BUCKETS = 120
LENGTHS = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600)
"""Seconds of a bucket; above, whole hours."""
PACE_SECONDS = 10.0
"""Seconds over which decisions per second are counted."""
IDLE_FACTOR = 10
"""Until the next look, at least this multiple of the time that the last one took."""
FIRST_PLAN_SECONDS = 2.0
"""Seconds that a first overview waits for a plan."""
MOST_EVENTS = 200_000
"""How many of the latest events the verdict on rest uses."""

Version = tuple[int, int]
"""Changes when there is something new to see."""


def line_of(campaign: ServedCampaign) -> Line:
    """Return a campaign in short."""
    state = campaign.decider.state
    return Line(
        campaign.decider.name,
        state.settings.clock,
        state.retired.count(False),
        len(state.users),
        state.decisions,
        campaign.open,
    )


def overview_of(campaign: ServedCampaign, now: float) -> tuple[PlanningView, Overview]:
    """Return what there is to see at a time, and what its cells are to be made from."""
    state = campaign.decider.state
    settings = state.settings
    return state.view(), Overview(
        name=campaign.decider.name,
        settings=settings.document(),
        rules=list(_rules(settings)),
        counts=EventCounts(
            events=state.head,
            users=len(state.users),
            decisions=state.decisions,
            open=campaign.open,
            late=_late(campaign, now),
            feedback=state.kinds[FEEDBACK],
            cancelled=state.kinds[CANCEL],
            defaults=state.kinds[DEFAULT],
            refused=state.kinds[REFUSAL],
        ),
        arms=[Arm(*each) for each in zip(state.arms, state.retired, strict=True)],
        spans=_spans(settings),
        cells=[],
        plan=None,
        rest=None,
        history=_history(state, now),
        decisions_per_second=_pace(state, now),
    )


def cells_of(view: PlanningView) -> list[Cell]:
    """Return what is believed of each cell."""
    belief = Belief.of(view)
    columns = view.counts.shape[1]
    return [
        Cell(arm, delay, *numbers)
        for (arm, delay), *numbers in zip(
            ((arm, delay) for arm in view.arms for delay in range(1, columns + 1)),
            view.counts.ravel().tolist(),
            view.waiting.ravel().tolist(),
            belief.means.ravel().tolist(),
            belief.low.ravel().tolist(),
            belief.high.ravel().tolist(),
            strict=True,
        )
    ]


def _rules(settings: CampaignSettings) -> Iterator[RuleAnswer]:
    unit = "rounds" if settings.clock == "rounds" else "seconds"
    for rule in settings.rules:
        text = rule.in_words(unit) + (f" ({rule.group})" if rule.group else "")
        (bound,) = Rules.of([rule]).bound_to(settings.arms) if rule.arms else (rule,)
        yield RuleAnswer(list(map(str, bound.arms)), text)


def _spans(settings: CampaignSettings) -> list[float | None]:
    """Return what each delay stands for, in rounds or seconds; None is rested."""
    if settings.clock == "rounds":
        return [*range(1, settings.columns), None]
    return [*settings.edges.tolist(), None]


def _late(campaign: ServedCampaign, now: float) -> int:
    """Return how many decisions are without feedback for longer than is usual, or for good."""
    state = campaign.decider.state
    limit = state.settings.wait
    if limit is None:
        if not campaign.feedback_seconds:
            return 0
        limit = LATE * statistics.median(campaign.feedback_seconds)
    at, status = np.asarray(state.at), np.asarray(state.status)  # no copies
    is_missing = (status == OPEN) | (status == EXPIRED)
    return int(np.count_nonzero(is_missing & (at < now - limit)))


def _pace(state: State, now: float) -> float:
    """Return how many decisions per second were made lately; those dated after now do not count."""
    at = np.array(state.at[-RECENT:])
    return int(np.count_nonzero((at >= now - PACE_SECONDS) & (at <= now))) / PACE_SECONDS


def _history(state: State, now: float) -> list[Bucket]:
    """Return how the latest decisions fared, in at most `MOST_BUCKETS` buckets of equal length.

    Decisions dated after now count in the last bucket.
    """
    at = np.minimum(state.at[-RECENT:], now)
    if len(at) == 0:
        return []
    begin = float(at.min())
    wanted = max(now - begin, 1.0) / (MOST_BUCKETS - 1)
    length = next((each for each in LENGTHS if each >= wanted), -(-wanted // 3600) * 3600)
    first = begin // length
    buckets = (at // length - first).astype(np.int64)
    reward, expected = np.array(state.reward[-RECENT:]), np.array(state.expected[-RECENT:])
    known = ~np.isnan(reward)
    size = int(buckets.max()) + 1

    def sums(values: FloatArray, chosen: BoolArray) -> list[float]:
        found: list[float] = np.bincount(buckets[chosen], values[chosen], minlength=size).tolist()
        return found

    counts = (np.bincount(each, minlength=size).tolist() for each in (buckets, buckets[known]))
    columns = zip(*counts, sums(reward, known), sums(expected, known), strict=True)
    return [
        Bucket((first + index) * length, length, *values) for index, values in enumerate(columns)
    ]


class OverviewFeed:
    """The overview of a campaign, made once for all who watch it.

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
        self._planned: CampaignPolicy | None = None
        self._judged_at = -1
        self._work: asyncio.Task[None] | None = None
        self._next_plan = self._next_rest = self._next_look = 0.0
        self._findings = 0
        self._seen: tuple[Version, bytes] | None = None
        self._looking: asyncio.Task[None] | None = None

    @property
    def version(self) -> Version:
        """What changes when there is something new to see."""
        return self.campaign.decider.state.head, self._findings

    def refresh(self) -> asyncio.Task[None]:
        """Find out what is due, in the background."""
        if self._work is None or self._work.done():
            self._work = self._host.background.spawn(self._find_out())
        return self._work

    async def overview(self) -> bytes:
        """Return everything about the campaign as it is now, as JSON."""
        work = self.refresh()
        is_compiling = self._host.compiling is not None and not self._host.compiling.done()
        if self._plan is None and not is_compiling:
            await asyncio.wait([work], timeout=FIRST_PLAN_SECONDS)
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
        self._next_look = self._later(begun, self._host.intervals.overview)

    async def _look(self) -> tuple[Version, bytes]:
        version = self.version
        view, overview = overview_of(self.campaign, self._host.now())
        overview.plan, overview.rest = self._plan, self._rest
        return version, await self._host.background.study(_with_cells, overview, view)

    async def _find_out(self) -> None:
        """Make the plan if it is due, or else the verdict."""
        begun = self._loop.time()
        decider = self.campaign.decider
        try:
            if not decider.has_policy:
                await self._host.planned(self.campaign)
            if decider.policy is not self._planned and begun >= self._next_plan:
                self._next_plan = math.inf  # not twice at once
                try:
                    await self._make_plan()
                finally:
                    self._next_plan = self._later(begun, self._host.intervals.plan)
            elif decider.state.head != self._judged_at and begun >= self._next_rest:
                self._next_rest = math.inf
                try:
                    await self._judge()
                finally:
                    self._next_rest = self._later(begun, self._host.intervals.rest)
        except StoreError as error:
            self._host.committer.report(error)

    async def _make_plan(self) -> None:
        policy = self.campaign.decider.policy
        self._planned = policy
        self._plan = await self._host.background.study(_plan_answer, policy)
        self._findings += 1

    async def _judge(self) -> None:
        state = self.campaign.decider.state
        head = state.head
        events: list[tuple[int, Event]] = []
        async for page in self._host.events(self.campaign, max(0, head - MOST_EVENTS)):
            events += page
        arms = list(state.arms)
        self._rest = await self._host.background.study(_rest_answer, state.settings, arms, events)
        self._judged_at = head
        self._findings += 1

    def _later(self, begun: float, least: float) -> float:
        now = self._loop.time()
        return now + max(least, IDLE_FACTOR * (now - begun))


def _with_cells(overview: Overview, view: PlanningView) -> bytes:
    overview.cells = cells_of(view)
    return encode(overview)


def _plan_answer(policy: CampaignPolicy) -> PlanAnswer:
    found = plan(policy.expected)
    return PlanAnswer(
        list(found.names), found.gain, found.upper_bound, found.certificate, found.method
    )


def _rest_answer(
    settings: CampaignSettings, arms: list[str], events: list[tuple[int, Event]]
) -> Rest:
    try:
        verdict = rest_matters(log_of(settings, arms, events))
    except InputError as error:
        return Rest("cannot say", str(error))
    if verdict.missing:  # numbers would only mislead
        return Rest(verdict.verdict, f"{verdict.verdict}; missing: {verdict.missing}")
    return Rest(verdict.verdict, str(verdict))
