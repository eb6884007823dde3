"""Live decisions: campaigns, where their events are kept, and the service."""

from fallow.live.campaign import Campaign
from fallow.live.errors import ConflictError, RefusedError, UnknownError
from fallow.live.events import Decision
from fallow.live.stores import StoreError

__all__ = [
    "Campaign",
    "ConflictError",
    "Decision",
    "RefusedError",
    "StoreError",
    "UnknownError",
]
