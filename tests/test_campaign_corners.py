"""Where campaigns once went wrong: late cancels, cool-downs in seconds, several processes."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from test_campaign import ARMS, Clock, opened, totals

from fallow.live import Campaign, ConflictError
from fallow.live.committer import OpenCampaign
from fallow.live.decider import Decider
from fallow.live.loading import load_state, make_campaign
from fallow.live.settings import CampaignSettings
from fallow.live.stores import StoreError, open_store
from fallow.live.stores.memory import MemoryStore


def test_a_cancel_takes_back_the_default_reward() -> None:
    clock = Clock()
    campaign = opened(default_reward=1.0, wait=10.0, now=clock)
    decision = campaign.decide("ann")
    clock.seconds += 11
    campaign.decide("ben")
    campaign.cancel(decision.id)
    assert totals(campaign) == (0, 1)


def test_cancelled_decisions_are_not_walked_over_for_ever() -> None:
    campaign = opened()
    for _ in range(5):
        campaign.cancel(campaign.decide("ann").id)
    campaign.decide("ann")
    state = campaign._decider.state
    assert state.previous[-1] == -1
    assert state.turn[-1] == 5


@pytest.mark.parametrize("explore", [0.0, 0.5])
def test_cool_downs_that_leave_no_arm_say_when_one_is_free(explore: float) -> None:
    """However fast users come, and whatever pace was learned from them."""
    clock = Clock()
    options: dict[str, Any] = {"arms": ["hymn", "waltz"], "max_delay": 60.0, "clock": "time"}
    campaign = opened(**options, rules={"cooldowns": 1}, explore=explore, now=clock)
    shown: list[tuple[float, str]] = []
    refused = 0
    for _ in range(200):
        clock.seconds += 0.2
        try:
            shown.append((clock.seconds, campaign.decide("ann").arm))
        except ConflictError as error:
            refused += "ask again in" in str(error) and 0 < (error.retry_after or 0) <= 1
    assert refused > 50
    assert len(shown) + refused == 200
    for arm in ("hymn", "waltz"):
        times = [at for at, each in shown if each == arm]
        assert all(later - sooner >= 1 - 1e-6 for sooner, later in pairwise(times))
    campaign.add_arm("polka")
    assert campaign.decide("ben").arm in ("hymn", "waltz", "polka")


def test_what_is_shown_of_a_campaign_knows_which_feedback_is_overdue() -> None:
    clock = Clock()
    campaign = opened(wait=10.0, now=clock)
    campaign.decide("ann")
    assert campaign.table()["open"].sum() == 1
    clock.seconds += 11
    assert campaign.table()["open"].sum() == 0


def test_a_reason_is_never_that_something_may_well_pay_less_than_it_is_believed_to() -> None:
    decision = opened().decide("ann")
    assert "; it might well pay 0.4" in decision.reason
    assert "might" not in decision._replace(optimistic=decision.expected / 2).reason


def test_a_name_is_not_taken_for_a_list_of_arms() -> None:
    with pytest.raises(ValueError, match="arms must be a list of names, got 'hymn'"):
        Campaign.open("memory:", "morning", arms="hymn", max_delay=3)


def test_long_cool_downs_of_few_arms_are_not_refused() -> None:
    day = 86_400
    options: dict[str, Any] = {"max_delay": 7.0 * day, "clock": "time"}
    campaign = opened(**options, rules={"cooldowns": day})
    assert len({campaign.decide("ann").arm for _ in range(3)}) == 3


def test_a_schedule_after_an_arm_was_retired() -> None:
    campaign = opened()
    shown = [campaign.decide("ann").arm for _ in range(3)]
    campaign.retire_arm(shown[-1])
    assert shown[-1] not in campaign.schedule("ann", 5).names


class SharedStore(MemoryStore):
    shared = True


def test_what_another_process_did_is_known() -> None:
    store = SharedStore()
    record, _, _ = make_campaign(store, "test", CampaignSettings(tuple(ARMS), 3))
    one, other = (
        Campaign(
            store,
            OpenCampaign(record.number, Decider("test", load_state(store, record))),
            background=False,
            now=Clock(),
        )
        for _ in range(2)
    )
    decision = one.decide("ann", key="monday")
    assert other.feedback(decision.id, 0.5) == "applied"
    assert one.feedback(decision.id, 0.5) == "duplicate"
    with pytest.raises(ConflictError, match=r"must stay 0\.5"):
        one.feedback(decision.id, 1.0)
    assert other.decide("ann", key="monday").id == decision.id
    shown = {one.decide("ben").delay for _ in range(2)}
    assert shown == {4}
    one.add_arm("march")
    assert other.retire_arm("march") == "applied"
    states = [load_state(store, record).to_bytes(), other._decider.state.to_bytes()]
    assert states[0] == states[1]


def test_a_snapshot_is_due_after_many_events_or_a_quarter_of_all(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'live.db'}"
    snapshots = []
    for _ in range(3):  # the program starts often
        store = open_store(url)
        record, _, _ = make_campaign(store, "test", CampaignSettings(tuple(ARMS), 3))
        loaded = OpenCampaign(record.number, Decider("test", load_state(store, record)))
        with Campaign(store, loaded, background=False, now=Clock(), snapshot_events=4) as campaign:
            for _ in range(15):
                campaign.decide("ann")
                found = store.snapshot(record.number)
                snapshots.append(0 if found is None else found[0])
    assert sorted(set(snapshots)) == [0, 4, 8, 12, 16, 20, 25, 31, 38]


def test_memory_has_no_snapshots() -> None:
    store = MemoryStore()
    record, _, _ = make_campaign(store, "test", CampaignSettings(tuple(ARMS), 3))
    loaded = OpenCampaign(record.number, Decider("test", load_state(store, record)))
    with Campaign(store, loaded, background=False, now=Clock(), snapshot_events=1) as campaign:
        campaign.decide("ann")
    assert store.snapshot(record.number) is None


def test_a_campaign_whose_events_were_stored_but_not_applied_is_not_trusted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = MemoryStore()
    record, _, _ = make_campaign(store, "test", CampaignSettings(tuple(ARMS), 3))
    loaded = OpenCampaign(record.number, Decider("test", load_state(store, record)))
    campaign = Campaign(store, loaded, background=False, now=Clock())

    def fail(*_: object) -> None:
        raise RuntimeError("of the state")

    with monkeypatch.context() as patch:
        patch.setattr(loaded.decider.state, "apply", fail)
        with pytest.raises(StoreError, match="open the campaign again"):
            campaign.decide("ann")
    assert "of the state" in caplog.text
    with pytest.raises(StoreError, match="open the campaign again"):
        campaign.decide("ann")
    assert load_state(store, store.campaigns()[0]).decisions == 1
