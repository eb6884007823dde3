"""A campaign in your own process: decisions for users, feedback that comes late or never."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fallow.errors import InputError
from fallow.frames import frame
from fallow.live.background_planner import BackgroundPlanner
from fallow.live.committer import SNAPSHOT_EVENTS, Committer, OpenCampaign, Proposal
from fallow.live.decider import Decider
from fallow.live.errors import RefusedError, UncheckedArmsError
from fallow.live.events import Decision, Event
from fallow.live.loading import find_campaign, load_state, make_campaign
from fallow.live.log import log_of
from fallow.live.policy import Belief, CampaignPolicy
from fallow.live.settings import CampaignSettings, check_name
from fallow.live.state import PlanningView
from fallow.live.stores import Store, StoreError, open_store
from fallow.logs.log import Log
from fallow.planners.cycle import Plan
from fallow.planners.plan import plan
from fallow.planners.schedule import Schedule, schedule
from fallow.rules import Rules
from fallow.text import counted

if TYPE_CHECKING:
    from fallow.frames import DataFrame


class Campaign:
    """Decides what to show each user next, and learns from what is reported back.

    Cells of arm and delay are pooled over all users; of a user only what they were shown counts.
    The next arm is the best first step on a table that is as optimistic as the rewards allow, as
    in `BayesRotation`. Everything that happens is stored as events, and the state is a fold over
    them. Methods may be called from any thread.

    Examples
    --------
    >>> campaign = Campaign.open("memory:", "morning", arms=["hymn", "waltz"], max_delay=3)
    >>> decision = campaign.decide("ann")
    >>> decision.id, decision.arm, decision.delay
    ('morning-1', 'waltz', 4)
    >>> campaign.feedback(decision.id, 0.8)
    'applied'
    >>> campaign.decide("ann").arm
    'hymn'
    >>> campaign.close()
    """

    def __init__(
        self,
        store: Store,
        campaign: OpenCampaign,
        background: bool,
        now: Callable[[], float],
        snapshot_events: int = SNAPSHOT_EVENTS,
    ) -> None:
        self._store, self._open, self._now = store, campaign, now
        self._decider = decider = campaign.decider
        self._lock = Lock()
        self._committer: Committer[OpenCampaign] = Committer(store, self._keep_snapshot)
        self._snapshot_events = snapshot_events
        decider.plan_now()
        self._planner = BackgroundPlanner(decider, self._lock) if background else None

    @classmethod
    def open(
        cls,
        store: str,
        name: str,
        *,
        arms: Sequence[str] | None = None,
        max_delay: float | None = None,
        clock: str = "rounds",
        default_reward: float | None = None,
        wait: float | None = None,
        explore: float = 0.0,
        rules: Rules | Mapping[str, Any] | None = None,
        key_days: float = 7.0,
        durable: bool = False,
        background: bool = True,
        now: Callable[[], float] = time.time,
    ) -> Self:
        """Open a campaign, and make it if the store does not have it.

        Parameters
        ----------
        store
            "memory:", "sqlite:///FILE" or "postgresql://USER@HOST/DATABASE" (extra `postgres`).
        name
            Of the campaign: letters, digits, '.', '_' and '-'.
        arms
            Names of the arms that it begins with. Without them, a campaign that the store has is
            opened as it is; with them, its settings must be the same.
        max_delay
            An arm is rested when more rounds of the user than this have passed, or more seconds
            where clock is "time".
        clock
            What counts as delay: the user's own decisions ("rounds"), or elapsed time ("time").
        default_reward
            What a decision counts as when no feedback came within `wait`; none by default.
        wait
            Seconds in which feedback is expected. Later feedback counts all the same.
        explore
            Share of decisions that are drawn at random, with propensities, so that `log` supports
            estimates of what other plans would earn; .02 is a good choice.
        rules
            What decisions obey. By elapsed time they are in seconds, and without at_least_once.
        key_days
            Days in which keys and settled decisions are remembered, so that repeated calls are
            recognized.
        durable
            For SQLite: events survive even a failure of power.
        background
            Plan in a thread, so that no decision waits for it. Otherwise a decision that is due for
            a new plan makes it, and decisions depend on nothing but the calls.
        now
            The clock, in seconds since 1970.
        """
        check_name(name)
        kept = open_store(store, durable)
        try:
            if arms is None:
                record = find_campaign(kept, name)
            else:
                if max_delay is None:
                    raise InputError("max_delay", "must be given with arms", "None")
                given = {} if rules is None else rules
                ruled = given if isinstance(given, Rules) else Rules.from_document(given)
                settings = CampaignSettings(
                    arms, max_delay, clock, default_reward, wait, explore, ruled, key_days
                )
                record, _, _ = make_campaign(kept, name, settings)
            decider = Decider(name, load_state(kept, record))
        except BaseException:
            kept.close()
            raise
        return cls(kept, OpenCampaign(record.number, decider), background, now)

    def decide(self, user: str, key: str | None = None) -> Decision:
        """Return what to show a user next; under a key that was used before, that decision."""
        with self._lock:
            while True:
                self._pass_time()
                if self._decider.is_due and self._planner is not None:
                    self._planner.want()
                elif self._decider.is_due:
                    self._decider.plan_now()
                try:
                    answer = self._decider.decide(user, key, self._now())
                except RefusedError as refused:
                    self._keep(refused.event)
                    raise
                if isinstance(answer, Decision):
                    return answer
                if self._keep(answer):
                    return self._decider.made(len(self._decider.state.numbers) - 1)

    def feedback(self, decision: str, reward: float) -> str:
        """Report the reward of a decision, by its id: "applied", or "duplicate" if it is known.

        Raises an error if another reward was reported before, or the decision was cancelled.
        """
        number = self._decider.number(decision)
        return self._do(lambda: self._decider.feedback(number, reward, self._now()))

    def cancel(self, decision: str) -> str:
        """Say that a decision, by its id, was not shown: its user's delays do not count it.

        Returns "applied", or "duplicate" if that was known. Raises an error if it has a reward.
        """
        number = self._decider.number(decision)
        return self._do(lambda: self._decider.cancel(number, self._now()))

    def add_arm(self, name: str) -> str:
        """Add an arm, or bring back a retired one: "applied", or "duplicate" if it is there."""
        return self._do(lambda: self._decider.add_arm(name, self._now()))

    def retire_arm(self, name: str) -> str:
        """Choose an arm no more: "applied", or "duplicate" if it is retired."""
        return self._do(lambda: self._decider.retire_arm(name, self._now()))

    def table(self) -> DataFrame:
        """Return one row a cell: what it is believed to pay, with a 95 % interval (extra `data`).

        `rewards` are those that came, `open` are decisions without one.
        """
        view = self._view()
        belief = Belief.of(view)
        arms, columns = view.counts.shape
        return frame(
            {
                "arm": np.repeat(view.arms, columns),
                "delay": np.tile(np.arange(1, columns + 1), arms),
                "mean": belief.means.ravel(),
                "low": belief.low.ravel(),
                "high": belief.high.ravel(),
                "rewards": view.counts.ravel(),
                "open": view.waiting.ravel(),
            }
        )

    def plan(self) -> Plan:
        """Return the best cycle for the means as they are believed, with its certificate."""
        return plan(CampaignPolicy(self._view()).expected)

    def schedule(self, user: str, rounds: int) -> Schedule:
        """Return the best next rounds for a user, by the means as they are believed."""
        with self._lock:
            self._look_at_the_clock()
            view = self._decider.state.view()
            shown = self._decider.shown(user, self._now())
        return schedule(CampaignPolicy(view).expected, rounds, since=shown)

    def log(self) -> Log:
        """Return all decisions that were shown as a log, for `fit` and `value`.

        Propensities are there if `explore` is above 0. A default reward counts until feedback
        comes.
        """
        with self._lock:
            self._look_at_the_clock()
            events = list(self._store.read(self._open.number))
            arms = list(self._decider.state.arms)
        return log_of(self._decider.state.settings, arms, events)

    def close(self) -> None:
        """Let go of the store."""
        if self._planner is not None:
            self._planner.close()
        with self._lock:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Campaign({self._decider.name!r}, {self._in_words()})"

    def _repr_html_(self) -> str:
        from fallow.drawing.html import heat_map, snippet

        view = self._view()
        belief = Belief.of(view)
        delays = [*map(str, range(1, view.counts.shape[1])), "rested"]
        words = f"{self._in_words()}: reward that is believed, by delay"
        shown = heat_map(view.arms, delays, belief.means)
        return snippet(f"Campaign {self._decider.name}", words, shown)

    def _in_words(self) -> str:
        state = self._decider.state
        sizes = (
            (state.retired.count(False), "arm"),
            (len(state.users), "user"),
            (state.decisions, "decision"),
        )
        return ", ".join(counted(count, word) for count, word in sizes)

    def _view(self) -> PlanningView:
        with self._lock:
            self._look_at_the_clock()
            return self._decider.state.view()

    def _do(self, request: Callable[[], Event | None]) -> str:
        """Store the event of a request, if it has one that still holds when it is stored."""
        with self._lock:
            if self._store.shared:
                self._keep()  # it may be about what another process did
            while True:
                try:
                    event = request()
                except UncheckedArmsError as unchecked:
                    self._decider.check_arms(unchecked.arms)
                    continue
                if event is None:
                    return "duplicate"
                if self._keep(event):
                    return "applied"

    def _keep(self, *events: Event) -> bool:
        """Store events and apply them; return whether all of them were stored.

        Without any, the events of other processes are applied.
        """
        self._open.queue.clear()  # proposals of a call that was interrupted
        proposals = [Proposal(event) for event in events or (None,)]
        for proposal in proposals:
            self._committer.propose(self._open, proposal)
        self._committer.commit()
        for proposal in proposals:
            if isinstance(proposal.outcome, Exception):
                raise proposal.outcome
        return all(proposal.outcome is not None for proposal in proposals)

    def _keep_snapshot(self, campaign: OpenCampaign) -> None:
        """Store a snapshot, where one is due."""
        make = None if self._store.is_instant else campaign.due_snapshot(self._snapshot_events)
        if make is not None:
            with suppress(StoreError):  # the events are stored, so only the next start is slower
                self._store.keep_snapshot(campaign.number, campaign.snapshot_at, make())

    def _look_at_the_clock(self) -> None:
        """Store events for overdue feedback if that is possible, before something is only read."""
        with suppress(StoreError):
            if self._store.shared:
                self._keep()
            self._pass_time()

    def _pass_time(self) -> None:
        """Store events for feedback that is overdue."""
        if overdue := list(self._decider.late(self._now())):
            self._keep(*overdue)
