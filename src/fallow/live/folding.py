"""From a store to a state: the latest snapshot, and the events since."""

import json

from fallow.live.settings import Settings
from fallow.live.state import State
from fallow.live.stores import Record, Store


def load_state(store: Store, record: Record) -> State:
    """Return the state of a campaign as of its last event."""
    kept = store.snapshot(record.number)
    if kept is None:
        state = State(Settings.from_document(json.loads(record.settings)))
    else:
        state = State.from_bytes(kept[1])
    for number, event in store.read(record.number, state.head):
        state.apply(number, event)
    return state
