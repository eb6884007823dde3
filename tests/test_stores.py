"""What every store promises."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from live_helpers import batch, decisions

from fallow.live.events import ARM, CANCEL, DECISION, FEEDBACK, RETIRE, Event
from fallow.live.loading import load_state
from fallow.live.settings import CampaignSettings
from fallow.live.state import State
from fallow.live.stores import PAGE_EVENTS, EventBatch, HistoryError, Store, open_store
from fallow.live.stores.memory import MemoryStore

EVENTS = (
    Event(DECISION, 1.7e9 + 0.1, None, "Zoë 😀", "polka", 4, 0.1 + 0.2, None, 1 / 3, "key 1"),
    Event(FEEDBACK, 1.7e9 + 1e-6, ref=1, reward=0.1),
    Event(CANCEL, 0.0, ref=2**53 + 1),
    Event(ARM, 5e-324, arm="'; DROP TABLE events; --\t\\N\n"),
)
Reopen = Callable[[], Store]


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres").emptied())
    return "memory:" if request.param == "memory" else f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def reopen(url: str) -> Iterator[Reopen]:
    """Close the store and open it again; in memory it stays as it is."""
    stores = [open_store(url)]

    def again() -> Store:
        if url != "memory:":
            stores[-1].close()
            stores.append(open_store(url))
        return stores[-1]

    yield again
    stores[-1].close()


def test_events_come_back_as_they_were_also_after_reopening(reopen: Reopen) -> None:
    store = reopen()
    first, second = store.create("a", "{}")[0], store.create("b", "[]")[0]
    assert (first.head, second.head, second.settings) == (0, 0, "[]")
    batches = [batch(store, second.number, 0, EVENTS[:2]), batch(store, first.number, 0, EVENTS)]
    kept = store.append(batches)
    assert [each.numbers for each in kept] == [[1, 2], [1, 2, 3, 4]]
    assert not any(each.news for each in kept)
    assert store.append([batch(store, second.number, 2, EVENTS[2:])])[0].numbers == [3, 4]
    store = reopen()
    assert [(each.name, each.head) for each in store.campaigns()] == [("a", 4), ("b", 4)]
    for campaign in store.campaigns():
        assert list(store.read(campaign.number)) == list(enumerate(EVENTS, 1))
        assert list(store.read(campaign.number, 3)) == [(4, EVENTS[3])]
        assert list(store.read(campaign.number, 4)) == []
    assert all(type(event) is Event for _, event in store.read(first.number))


def test_a_campaign_is_made_once(reopen: Reopen) -> None:
    store = reopen()
    first = store.create("morning", "{}")[0]
    store.append([batch(store, first.number, 0, EVENTS)])
    again = store.create("morning", '{"other": 1}')[0]
    assert again == first._replace(head=4, checksum=again.checksum)
    assert store.campaigns() == [again]


def test_the_latest_snapshot_counts(reopen: Reopen) -> None:
    store = reopen()
    one, other = store.create("one", "{}")[0].number, store.create("other", "{}")[0].number
    assert store.snapshot(one) is None
    store.keep_snapshot(one, 3, b"old")
    store.keep_snapshot(one, 5, b"new\0" + bytes(range(256)) * 10_000)
    store = reopen()
    assert store.snapshot(one) == (5, b"new\0" + bytes(range(256)) * 10_000)
    assert store.snapshot(other) is None


def test_reading_lets_others_append_and_sees_what_they_did(reopen: Reopen) -> None:
    store = reopen()
    number = store.create("long", "{}")[0].number
    store.append([batch(store, number, 0, decisions(*range(2 * PAGE_EVENTS)))])
    reading = store.read(number)
    assert next(reading)[0] == 1
    store.append([batch(store, number, 2 * PAGE_EVENTS, decisions("late"))])
    assert sum(1 for _ in reading) >= 2 * PAGE_EVENTS - 1
    assert [event.user for _, event in store.read(number, 2 * PAGE_EVENTS)] == ["late"]


def test_no_arm_is_shown_after_another_process_retired_it() -> None:
    store = open_store("memory:")
    campaign = store.create("morning", "{}")[0].number
    store.append([batch(store, campaign, 0, [Event(RETIRE, 1.0, arm="polka")])])
    late = [Event(DECISION, 2.0, user=arm, arm=arm, delay=1) for arm in ("polka", "waltz")]
    (kept,) = store.append([batch(store, campaign, 0, late)])
    assert kept.numbers == [None, 2]


def test_no_decision_is_kept_behind_the_retirement_of_its_arm_in_one_batch(reopen: Reopen) -> None:
    store = reopen()
    campaign = store.create("morning", "{}")[0].number
    early, late = (Event(DECISION, 1.0, user=user, arm="polka", delay=1) for user in "ab")
    other = Event(DECISION, 1.0, user="c", arm="waltz", delay=1)
    events = [early, Event(RETIRE, 1.0, arm="polka"), late, other]
    (kept,) = store.append([batch(store, campaign, 0, events)])
    assert kept.numbers == [1, 2, None, 3]
    assert [event.user for _, event in store.read(campaign)] == ["a", None, "c"]
    assert kept.checksum == store.campaigns()[0].checksum


def test_another_history_is_refused_whatever_its_length(reopen: Reopen) -> None:
    store = reopen()
    campaign = store.create("morning", "{}")[0].number
    known = batch(store, campaign, 0, [])
    store.append([batch(store, campaign, 0, decisions("ann", "bob"))])
    for head, checksum in ((2, known.checksum), (1, known.checksum), (3, known.checksum)):
        wrong = EventBatch(campaign, head, checksum, decisions("eve"))
        with pytest.raises(HistoryError, match="another history"):
            store.append([wrong])
    gone = EventBatch(campaign + 7, 1, known.checksum, decisions("eve"))
    if not isinstance(store, MemoryStore):
        with pytest.raises(HistoryError, match="another history"):
            store.append([gone])
    assert len(list(store.read(campaign))) == 2


@pytest.mark.usefixtures("hasty_threads")
def test_threads_may_append_and_read_at_once(reopen: Reopen) -> None:
    """What is read was committed: numbers never take back what they stood for."""
    store = reopen()
    records = [store.create(name, "{}")[0] for name in "ab"]

    def append(number: int) -> None:
        for head in range(0, 300, 3):
            store.append([batch(store, number, head, decisions(head, head + 1, head + 2))])

    def read(number: int, appending: Future[None]) -> int:
        seen = 0
        is_over = False
        while not is_over:
            is_over = appending.done()
            for seq, event in store.read(number, seen):
                assert (seq, event.user) == (seen + 1, str(seen))
                seen = seq
        return seen

    with ThreadPoolExecutor(4) as pool:
        appending = [pool.submit(append, record.number) for record in records]
        reading = map(pool.submit, [read] * 2, [record.number for record in records], appending)
        assert [job.result(timeout=100) for job in list(reading)] == [300, 300]


def test_a_damaged_snapshot_is_left_alone_and_all_events_are_read(reopen: Reopen) -> None:
    store = reopen()
    settings = CampaignSettings(("polka", "waltz"), max_delay=3)
    record = store.create("morning", settings.to_json())[0]
    store.append([batch(store, record.number, 0, EVENTS[:2])])
    state = load_state(store, record)
    assert (state.head, state.counts[0]) == (2, [0, 0, 0, 1])
    content = state.to_bytes()
    assert State.from_bytes(content).to_bytes() == content
    store.keep_snapshot(record.number, 2, content[:-1] + bytes([content[-1] ^ 1]))
    assert load_state(store, record).to_bytes() == content


def test_a_snapshot_is_of_its_moment_whatever_comes_before_it_is_made_into_bytes() -> None:
    state = State(CampaignSettings(("polka", "waltz"), max_delay=3))
    for number, event in enumerate(decisions("ann", "bob"), 1):
        state.apply(number, event._replace(arm="polka", delay=1))
    then, make = state.to_bytes(), state.snapshot()
    state.apply(3, Event(FEEDBACK, 1.0, ref=1, reward=0.5))
    state.apply(4, Event(CANCEL, 1.0, ref=2))
    state.apply(5, Event(DECISION, 1.0, user="ann", arm="waltz", delay=4))
    state.apply(6, Event(RETIRE, 1.0, arm="waltz"))
    assert make() == then != state.to_bytes()


def test_the_oldest_open_decision_is_found_again() -> None:
    settings = CampaignSettings(("polka",), max_delay=3, wait=1.0)
    state = State(settings)
    assert list(state.overdue(9.0)) == []
    for number in range(1, 4):
        state.apply(number, Event(DECISION, 1.0, None, "ann", "polka", 1))
    state.apply(4, Event(FEEDBACK, 1.5, ref=1, reward=1.0))
    content = state.to_bytes()
    assert list(state.overdue(2.0)) == [1, 2]
    assert state.to_bytes() == content
    assert list(State.from_bytes(content).overdue(2.0)) == [1, 2]


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:radio.db", "mysql://there", "radio.db", ""])
def test_a_url_of_no_store_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"store must be memory:, sqlite:///FILE or postgresql"):
        open_store(url)
