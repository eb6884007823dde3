"""Loads a campaign from its store: the latest snapshot, and the events since."""

import json
from contextlib import suppress
from zlib import crc32

from fallow import checks
from fallow.live.errors import ConflictError, UnknownError
from fallow.live.policy import check_rules
from fallow.live.settings import CampaignSettings
from fallow.live.state import State
from fallow.live.stores import HistoryError, Record, Store


def load_state(store: Store, record: Record) -> State:
    """Return the state of a campaign as of its last event.

    A snapshot that is damaged, of another version or of another history is ignored, and all events
    are replayed. Events that do not add up to the checksum of the record raise `HistoryError`.
    """
    if (kept := store.snapshot(record.number)) is not None:
        with suppress(ValueError, HistoryError):
            state = State.from_bytes(kept[1])
            state.snapshot_at = state.head
            if state.head <= record.head:  # else it cannot be checked, and may be of a lost history
                return _catch_up(store, record, state)
    state = State(CampaignSettings.from_document(json.loads(record.settings)))
    state.checksum = crc32(record.settings.encode())
    return _catch_up(store, record, state)


def _catch_up(store: Store, record: Record, state: State) -> State:
    """Replay the events that a state does not have yet, and check it where the record was made."""
    _check_history(record, state)
    for number, event in store.read(record.number, state.head):
        try:
            state.apply(number, event)
        except Exception as error:
            raise HistoryError(
                f"event {number:,} of campaign {record.name!r} cannot be applied ({error!r}): the "
                "store is damaged, restore it from a copy"
            ) from error
        _check_history(record, state)
    if state.head < record.head:
        raise HistoryError(f"campaign {record.name!r} has lost events; restore it from a copy")
    return state


def _check_history(record: Record, state: State) -> None:
    if state.head == record.head and record.checksum not in (state.checksum, None):
        raise HistoryError(
            f"the events of campaign {record.name!r} are damaged: their checksum is not the one "
            "that was kept with them; restore the store from a copy"
        )


def find_campaign(store: Store, name: str) -> Record:
    """Return the campaign of a name."""
    records = {record.name: record for record in store.campaigns()}
    if name not in records:
        raise UnknownError(
            f"name must be that of a campaign, got {checks.short(name)}"
            f"{checks.suggestion(name, records)}; a new one needs arms and max_delay"
        )
    return records[name]


def make_campaign(store: Store, name: str, settings: CampaignSettings) -> tuple[Record, bool, bool]:
    """Return the campaign of a name with these settings.

    Also returns whether it is new, and whether it is proved that its rules can be kept.
    """
    is_proved = check_rules(State(settings).view())
    wanted = settings.to_json()
    record, is_new = store.create(name, wanted)
    if CampaignSettings.from_document(json.loads(record.settings)).to_json() != wanted:
        raise ConflictError(
            f"settings of {name!r} must be those that it was made with, {record.settings}, "
            f"got {wanted}; take another name, or change arms by adding and retiring them"
        )
    return record, is_new, is_proved
