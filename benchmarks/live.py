"""What do live decisions earn, with feedback that comes late or never, and how fast are they?"""

import time
from collections import deque
from collections.abc import Sequence

import numpy as np

from benchmarks.section import Section
from fallow import Instance, optimal
from fallow.catalog import figure2
from fallow.intervals import estimate
from fallow.live import Campaign
from fallow.live.decider import Decider
from fallow.live.events import FEEDBACK, Event
from fallow.live.policy import Belief, CampaignPolicy
from fallow.live.settings import CampaignSettings
from fallow.live.state import PlanningView, State

FIRST = 17_000
"""The seed of the first instance; used for no choice of constants."""
RUNS, FEWER = 30, 5
"""Instances, and those where each takes a minute."""
LOST = 0.1
"""Share of feedback that never comes."""
SHARDS = 16
RATE = 1_000
"""Decisions a second, of all shards together."""


class Shard(Decider):
    """Some of the users, and what the other shards knew when cells were last exchanged."""

    def __init__(self, state: State) -> None:
        self.others = state.view()
        super().__init__("live", state)

    def view(self) -> PlanningView:
        own, others = self.state.view(), self.others
        return own._replace(
            counts=own.counts + others.counts,
            sums=own.sums + others.sums,
            waiting=own.waiting + others.waiting,
        )


class Known(Decider):
    """Decides by the true means."""

    def __init__(self, state: State, instance: Instance) -> None:
        super().__init__("live", state)
        belief = Belief(*[instance.means] * 4)
        self.renew(CampaignPolicy(state.view(), belief))

    @property
    def is_due(self) -> bool:
        return False


def new_state(instance: Instance) -> State:
    return State(CampaignSettings(tuple(instance.names), instance.max_delay))


def play(
    instance: Instance,
    deciders: Sequence[Decider],
    users: int,
    decisions: int,
    lag: int,
    seed: int,
    exchange: int | None = None,
) -> float:
    """Return the mean expected reward; users take turns, and each has one of the deciders."""
    random = np.random.default_rng(seed)
    luck, arrives = random.random(decisions), random.random(decisions) >= LOST
    late: deque[tuple[int, Decider, Event]] = deque()
    numbers = [0] * len(deciders)
    arms = dict(zip(instance.names, instance.means.tolist(), strict=True))
    names = [f"user {user}" for user in range(users)]
    total = 0.0

    def keep(decider: Decider, event: Event) -> int:
        place = deciders.index(decider) if len(deciders) > 1 else 0
        numbers[place] += 1
        decider.apply(numbers[place], event)
        return numbers[place]

    for now in range(decisions):
        while late and late[0][0] <= now:
            _, decider, feedback = late.popleft()
            keep(decider, feedback)
        if exchange is not None and now % exchange == 0:
            share_cells(deciders)
        decider = deciders[now % users % len(deciders)]
        if decider.is_due or not decider.has_policy:
            decider.plan_now()
        event = decider.decide(names[now % users], None, float(now))
        assert isinstance(event, Event)
        assert event.arm is not None
        assert event.delay is not None
        mean = arms[event.arm][event.delay - 1]
        total += mean
        number = keep(decider, event)
        if arrives[now]:
            reward = float(luck[now] < mean)
            late.append((now + 1 + lag, decider, Event(FEEDBACK, now, ref=number, reward=reward)))
    return total / decisions


def share_cells(deciders: Sequence[Decider]) -> None:
    """Tell each shard the cells of all others."""
    views = [decider.state.view() for decider in deciders]
    for place, decider in enumerate(deciders):
        others = views[:place] + views[place + 1 :]
        assert isinstance(decider, Shard)
        decider.others = views[place]._replace(
            counts=np.sum([view.counts for view in others], axis=0),
            sums=np.sum([view.sums for view in others], axis=0),
            waiting=np.sum([view.waiting for view in others], axis=0),
        )
        decider.plan_now()


def measure_shares() -> Section:
    cases = [
        (1, 100_000, 10, 0.99, RUNS),
        (1, 100_000, 1_000, 0.98, RUNS),
        (100, 300_000, 1_000, None, FEWER),
        (10_000, 1_000_000, 1_000, 0.99, FEWER),
    ]
    rows = []
    for users, decisions, lag, reach, runs in cases:
        shares, of_optimum = [], []
        for seed in range(FIRST, FIRST + runs):
            instance = figure2(seed=seed)
            known = play(instance, [Known(new_state(instance), instance)], users, decisions, lag, 0)
            earned = play(
                instance, [Decider("live", new_state(instance))], users, decisions, lag, seed
            )
            shares.append(earned / known)
            of_optimum.append(known / optimal(instance).gain)
        rows.append(
            (
                f"{users:,}",
                f"{decisions:,}",
                f"{lag:,}",
                f"{estimate(np.array(shares)):.4f}",
                "" if reach is None else f"{reach}",
                f"{np.mean(of_optimum):.4f}",
                str(runs),
            )
        )
    return Section(
        "What live decisions earn",
        (
            "users",
            "decisions",
            "feedback after so many",
            "share of the rule with known means",
            "reach",
            "that rule, of the optimum",
            "instances",
        ),
        rows,
        "Figure 2 of the paper with random delays: 7 arms, delays up to 6; rewards are 0 or 1, and "
        f"{LOST:.0%} of them never come. Users take turns, so all are in the same round: the "
        "hardest case for many users. Mean and 95 % interval over instances. In a first round all "
        "arms are rested, so with few rounds a user the rule may earn more than the optimum.",
    )


def measure_speed() -> Section:
    instance = figure2(seed=FIRST)
    seconds = []
    for _ in range(5):
        with Campaign.open(
            "memory:", "live", arms=instance.names, max_delay=instance.max_delay
        ) as campaign:
            for count in (5_000, 50_000):  # the first ones plan more
                start = time.perf_counter()
                for _ in range(count):
                    campaign.feedback(campaign.decide("ann").id, 0.5)
            seconds.append((time.perf_counter() - start) / count)
    rates = [f"{1 / second:,.0f}" for second in sorted(seconds)]
    return Section(
        "Pairs of decision and feedback a second, in process and in memory",
        ("median", "range", "reach"),
        [(rates[2], f"{rates[-1]} to {rates[0]}", "20,000")],
        "7 arms, delays up to 6, one user, planning in the background, after 5,000 pairs.",
    )


def measure_shards() -> Section:
    users, decisions, runs = 10_000, 500_000, FEWER
    instances = [figure2(seed=seed) for seed in range(FIRST, FIRST + runs)]
    shared = [
        play(instance, [Decider("live", new_state(instance))], users, decisions, RATE, seed)
        for seed, instance in enumerate(instances)
    ]
    rows = []
    for seconds in (1, 10, 100):
        shares = []
        for seed, instance in enumerate(instances):
            shards = [Shard(new_state(instance)) for _ in range(SHARDS)]
            exchange = seconds * RATE
            earned = play(instance, shards, users, decisions, RATE, seed, exchange)
            shares.append(earned / shared[seed])
        rows.append((f"{seconds} s", f"{estimate(np.array(shares)):.4f}"))
    return Section(
        f"{SHARDS} shards that exchange cells, against one shared table",
        ("exchange every", "share of what one table earns"),
        rows,
        f"{users:,} users by turns, {decisions:,} decisions, {RATE:,} a second in all, feedback "
        f"after a second; {runs} instances.",
    )
