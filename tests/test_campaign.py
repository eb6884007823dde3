"""Live decisions in one's own process, against a plain account of what was shown and paid."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fallow import Instance, Log, Rules, catalog, optimal
from fallow.live import Campaign, ConflictError, Decision, UnknownError
from fallow.live.folding import load_state
from fallow.logs import fit

ARMS = ["hymn", "waltz", "polka"]


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.seconds = 1_000_000.0

    def __call__(self) -> float:
        return self.seconds


def opened(**options: Any) -> Campaign:
    given = {"arms": ARMS, "max_delay": 3, "background": False, **options}
    return Campaign.open("memory:", "test", **given)


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from(["show", "cancel", "reward"])),
        max_size=40,
    )
)
@settings(max_examples=60, deadline=None)
def test_delays_and_cells_are_those_of_a_plain_account(steps: list[tuple[str, str]]) -> None:
    campaign = opened()
    shown: dict[str, list[Decision]] = defaultdict(list)
    rewards: dict[tuple[str, int], list[float]] = defaultdict(list)
    for place, (user, what) in enumerate(steps):
        decision = campaign.decide(user)
        ago = [other.arm for other in reversed(shown[user])]
        rested = decision.arm not in ago[:3]
        assert decision.delay == (4 if rested else ago.index(decision.arm) + 1)
        if what == "cancel":
            assert campaign.cancel(decision.id) == "applied"
            continue
        shown[user].append(decision)
        if what == "reward":
            reward = place % 7 / 6
            assert campaign.feedback(decision.id, reward) == "applied"
            rewards[decision.arm, decision.delay].append(reward)
    table = {(row["arm"], row["delay"]): row for row in campaign.table().to_dicts()}
    view = campaign._desk.state.view()
    for (arm, delay), row in table.items():
        assert row["rewards"] == len(rewards[arm, delay])
        total = view.sums[ARMS.index(arm), delay - 1] / 2**32
        assert total == pytest.approx(sum(rewards[arm, delay]), abs=1e-8)
    decided = sum(map(len, shown.values()))
    assert table
    assert sum(row["open"] for row in table.values()) == decided - sum(map(len, rewards.values()))


def play(campaign: Campaign, means: np.ndarray[Any, Any], rounds: int, users: int = 1) -> float:
    """Return the expected reward a round; rewards are 0 or 1 and come at once."""
    random = np.random.default_rng(7)
    total = 0.0
    for now in range(rounds):
        decision = campaign.decide(f"user {now % users}")
        mean = float(means[int(decision.arm), decision.delay - 1])
        campaign.feedback(decision.id, float(random.random() < mean))
        total += mean
    return total / rounds


def test_it_comes_to_the_optimum() -> None:
    instance = catalog.figure2(seed=3)
    arms = [str(arm) for arm in range(instance.arms)]
    with opened(arms=arms, max_delay=instance.max_delay) as campaign:
        play(campaign, instance.means, 3_000)
        assert play(campaign, instance.means, 3_000) > 0.98 * optimal(instance).gain
        assert campaign.plan().gain == pytest.approx(optimal(instance).gain, abs=0.05)


def test_many_users_do_not_all_try_what_one_can_try_for_them() -> None:
    """In lockstep, all would otherwise set out to see how a bad arm pays after a short rest."""
    instance = catalog.figure2(seed=102)
    arms = [str(arm) for arm in range(instance.arms)]
    with opened(arms=arms, max_delay=instance.max_delay) as campaign:
        earned = play(campaign, instance.means, 40_000, users=1_000)
    assert earned > 0.98 * optimal(instance).gain


def test_the_state_is_a_fold_over_the_events(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'live.db'}"
    with Campaign.open(store, "test", arms=ARMS, max_delay=3, background=False) as campaign:
        for place in range(60):
            decision = campaign.decide(f"user {place % 4}", key=f"key {place}")
            if place % 3:
                campaign.feedback(decision.id, place % 5 / 4)
            elif place % 2:
                campaign.cancel(decision.id)
        campaign.add_arm("march")
        campaign.retire_arm("polka")
        state = campaign._desk.state
        (record,) = campaign._store.campaigns()
        assert load_state(campaign._store, record).to_bytes() == state.to_bytes()
        campaign._store.keep_snapshot(record.number, state.head, state.to_bytes())
        last = [campaign.decide("user 1") for _ in range(5)]
        assert load_state(campaign._store, record).to_bytes() == state.to_bytes()
        whole = state.to_bytes()
    with Campaign.open(store, "test", background=False) as again:
        assert again._desk.state.to_bytes() == whole
        assert again.feedback(last[0].id, 0.5) == "applied"
        assert again.decide("ann", key="key 3").id == "test-6"


def test_feedback_may_come_twice_but_not_change() -> None:
    campaign = opened()
    decision = campaign.decide("ann")
    assert campaign.feedback(decision.id, 0.25) == "applied"
    assert campaign.feedback(decision.id, 0.25) == "duplicate"
    with pytest.raises(ConflictError, match=r"reward of test-1 must stay 0.25, got 0.5"):
        campaign.feedback(decision.id, 0.5)
    with pytest.raises(ConflictError, match="must be without feedback to be cancelled"):
        campaign.cancel(decision.id)
    other = campaign.decide("ann")
    assert campaign.cancel(other.id) == "applied"
    assert campaign.cancel(other.id) == "duplicate"
    with pytest.raises(ConflictError, match="which was cancelled"):
        campaign.feedback(other.id, 1)


@pytest.mark.parametrize("identity", ["test-2", "test-99", "other-1", "test-", "1", "", "test--1"])
def test_what_is_no_decision_is_unknown(identity: str) -> None:
    campaign = opened()
    decision = campaign.decide("ann")
    campaign.feedback(decision.id, 1)
    with pytest.raises(UnknownError, match="id must be that of a decision, got "):
        campaign.feedback(identity, 1)


@pytest.mark.parametrize("reward", [-0.1, 1.1, float("nan"), "1", None, True])
def test_rewards_are_shares(reward: Any) -> None:
    campaign = opened()
    decision = campaign.decide("ann")
    with pytest.raises(ValueError, match="reward must "):
        campaign.feedback(decision.id, reward)


def test_a_key_names_one_decision() -> None:
    campaign = opened()
    first = campaign.decide("ann", key="monday")
    campaign.feedback(first.id, 1)
    again = campaign.decide("ann", key="monday")
    assert again[:4] == first[:4]
    assert campaign.decide("ann", key="tuesday").id != first.id
    assert campaign._desk.state.kinds["decision"] == 2


def test_silence_counts_as_the_default_reward_until_feedback_comes() -> None:
    clock = Clock()
    campaign = opened(default_reward=0.0, wait=10.0, now=clock)
    late, prompt = campaign.decide("ann"), campaign.decide("ben")
    campaign.feedback(prompt.id, 1.0)
    clock.seconds += 9.9
    campaign.decide("cid")
    assert campaign._desk.state.kinds["default"] == 0
    clock.seconds += 0.2
    campaign.decide("dan")
    assert campaign._desk.state.kinds["default"] == 1
    view = campaign._desk.state.view()
    assert (view.counts.sum(), view.sums.sum(), view.waiting.sum()) == (2, 2**32, 2)
    assert campaign.feedback(late.id, 0.5) == "applied"
    view = campaign._desk.state.view()
    assert (view.counts.sum(), view.sums.sum(), view.waiting.sum()) == (2, 1.5 * 2**32, 2)


def test_without_a_default_silence_is_waited_for_no_longer() -> None:
    clock = Clock()
    campaign = opened(wait=10.0, now=clock)
    late = campaign.decide("ann")
    clock.seconds += 11
    campaign.decide("ben")
    view = campaign._desk.state.view()
    assert (view.counts.sum(), view.waiting.sum()) == (0, 1)
    assert campaign.feedback(late.id, 1.0) == "applied"
    assert campaign._desk.state.view().counts.sum() == 1


def test_explored_arms_come_as_often_as_their_propensities_say() -> None:
    """Each frequency is within five standard errors: a false alarm in about 10^5 runs."""
    campaign = opened(explore=0.3)
    for user in range(2_000):
        decision = campaign.decide(f"user {user}")
    campaign.feedback(decision.id, 1)
    log = campaign.log()
    assert log.propensity is not None
    is_drawn = np.isclose(log.propensity, 0.1)
    assert np.all(is_drawn | np.isclose(log.propensity, 0.8))
    assert abs(is_drawn.mean() - 0.2) < 5 * np.sqrt(0.2 * 0.8 / 2_000)
    assert len(set(log.arms[is_drawn])) == 3


def sequence(campaign: Campaign, rounds: int, user: str = "ann") -> Iterator[str]:
    for _ in range(rounds):
        decision = campaign.decide(user)
        campaign.feedback(decision.id, {"hymn": 1.0}.get(decision.arm, 0.2))
        yield decision.arm


@pytest.mark.parametrize("explore", [0.0, 0.5])
def test_rules_are_obeyed(explore: float) -> None:
    arms = ["hymn", "waltz", "polka", "march", "news", "jingle"]
    rules = Rules(
        cooldowns={"hymn": 3},
        groups={"dances": ["waltz", "polka"]},
        at_most=[{"arms": ["march", "news"], "pulls": 2, "rounds": 6}],
        at_least_once={"news": 8},
        exclude=["jingle"],
    )
    campaign = opened(arms=arms, rules=rules, explore=explore)
    shown = list(sequence(campaign, 300))
    assert "jingle" not in shown
    at = [place for place, arm in enumerate(shown) if arm == "hymn"]
    assert at
    assert all(later - sooner >= 3 for sooner, later in pairwise(at))
    dances = {"waltz", "polka"}
    assert not any({one, two} <= dances for one, two in pairwise(shown))
    for start in range(len(shown) - 5):
        counts = Counter(shown[start : start + 6])
        assert counts["march"] + counts["news"] <= 2
    news = [-1, *(place for place, arm in enumerate(shown) if arm == "news")]
    assert all(later - sooner <= 8 for sooner, later in pairwise(news))


def test_rules_that_cannot_be_kept_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="hymn"):
        opened(arms=["hymn"], rules=Rules(cooldowns={"hymn": 2}))
    campaign = opened(arms=["hymn", "waltz"], rules={"cooldowns": 2})
    with pytest.raises(ConflictError):
        campaign.retire_arm("waltz")
    assert [decision.arm for decision in (campaign.decide("ann"), campaign.decide("ann"))]


def test_elapsed_time_is_sorted_into_doubling_delays() -> None:
    clock = Clock()
    campaign = opened(arms=["hymn"], max_delay=128.0, clock="time", now=clock)
    assert campaign.decide("ann").delay == 9
    for seconds, delay in [(1, 1), (1.01, 2), (2, 2), (64, 7), (65, 8), (128, 8), (129, 9)]:
        clock.seconds += seconds
        assert campaign.decide("ann").delay == delay, seconds


def test_a_cool_down_in_seconds_is_kept() -> None:
    clock = Clock()
    random = np.random.default_rng(3)
    rules = {"cooldowns": {"hymn": 50, "waltz": 7}}
    campaign = opened(max_delay=100.0, clock="time", now=clock, rules=rules, explore=0.2)
    last: dict[str, float] = {}
    for _ in range(400):
        clock.seconds += float(random.exponential(5.0))
        decision = campaign.decide("ann")
        wait = {"hymn": 50.0, "waltz": 7.0, "polka": 0.0}[decision.arm]
        assert clock.seconds - last.get(decision.arm, -np.inf) >= wait
        last[decision.arm] = clock.seconds
        campaign.feedback(decision.id, float(decision.arm == "hymn"))
    assert len(last) == 3


def test_arms_come_and_go() -> None:
    campaign = opened()
    assert campaign.add_arm("march") == "applied"
    assert campaign.add_arm("march") == "duplicate"
    assert campaign.retire_arm("hymn") == "applied"
    assert campaign.retire_arm("hymn") == "duplicate"
    shown = set()
    for _ in range(40):
        decision = campaign.decide("ann")
        campaign.feedback(decision.id, 0.5)
        shown.add(decision.arm)
    assert shown == {"waltz", "polka", "march"}
    assert campaign.add_arm("hymn") == "applied"
    for name in ("waltz", "polka", "march"):
        campaign.retire_arm(name)
    assert campaign.decide("ann").arm == "hymn"
    with pytest.raises(ConflictError, match="must keep an arm"):
        campaign.retire_arm("hymn")
    with pytest.raises(UnknownError, match="did you mean 'waltz'"):
        campaign.retire_arm("walz")


def test_log_plan_and_schedule_of_a_campaign() -> None:
    instance = Instance([[0.1, 0.9], [0.2, 0.6], [0.5, 0.5]], names=["0", "1", "2"])
    campaign = opened(arms=["0", "1", "2"], max_delay=1, explore=0.5)
    play(campaign, instance.means, 3_000, users=5)
    cancelled = campaign.decide("user 1")
    campaign.cancel(cancelled.id)
    log = campaign.log()
    assert (log.plays, log.users, log.counts.unknown) == (3_000, 5, 0)
    assert np.abs(fit(log).means - instance.means).max() < 0.1
    assert sorted(campaign.plan().cycle) == [0, 1]
    before = campaign._desk.shown("user 1", 0)[-1]
    scheduled = campaign.schedule("user 1", 6)
    assert scheduled.names[0] != before
    assert set(scheduled.names) == {"0", "1"}


def test_the_events_of_a_campaign_can_be_read_as_a_log(tmp_path: Path) -> None:
    clock = Clock()
    campaign = opened(explore=0.4, default_reward=0.25, wait=20, now=clock)
    late = campaign.decide("user 0")
    for place in range(90):
        clock.seconds += (1, 4, 0, -2)[place % 4]  # as with processes whose clocks differ
        decision = campaign.decide(f"user {place % 3}")
        if place % 7 == 2:
            campaign.cancel(decision.id)
        elif place % 5:
            campaign.feedback(decision.id, place % 3 / 2)
    campaign.feedback(late.id, 0.75)
    path = tmp_path / "events.jsonl"
    lines = [
        json.dumps(event.document("test", seq)) + "\n" for seq, event in campaign._store.read(0)
    ]
    path.write_text("".join(lines))
    read = Log.read(
        path,
        user="user",
        time="time",
        arm="arm",
        reward="reward",
        arms=ARMS,
        max_delay=3,
        from_start=True,
    )
    whole = campaign.log()
    assert whole.rewards[0] == 0.75
    assert 10 < np.count_nonzero(whole.rewards == 0.25) < 20
    assert read.counts == whole.counts
    for name in ("starts", "arms", "rewards", "delays", "propensity"):
        np.testing.assert_array_equal(getattr(read, name), getattr(whole, name))


def test_planning_in_the_background_learns_as_well() -> None:
    instance = catalog.figure2(seed=3)
    arms = [str(arm) for arm in range(instance.arms)]
    with opened(arms=arms, max_delay=instance.max_delay, background=True) as campaign:
        play(campaign, instance.means, 3_000)
        assert play(campaign, instance.means, 3_000) > 0.95 * optimal(instance).gain
