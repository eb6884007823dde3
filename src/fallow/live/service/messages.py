"""What clients send and get, as JSON."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from fallow.live.settings import MAX_USER

MOST_IN_BATCH = 1000
Name = Annotated[str, Meta(max_length=MAX_USER)]
Share = Annotated[float, Meta(ge=0, le=1)]


class CampaignBody(Struct, forbid_unknown_fields=True):
    """Settings of a campaign."""

    arms: Annotated[list[Name], Meta(min_length=1)]
    max_delay: Annotated[int, Meta(gt=0)] | Annotated[float, Meta(gt=0)]
    clock: Literal["rounds", "time"] = "rounds"
    default_reward: Share | None = None
    wait: Annotated[float, Meta(gt=0)] | None = None
    explore: Share = 0.0
    rules: dict[str, Any] = {}
    key_days: Annotated[float, Meta(gt=0)] = 7.0


class CampaignAnswer(CampaignBody):
    """Settings as they are stored, and whether it is proved that the rules can always be obeyed."""

    rules_proved: bool = True


class DecisionBody(Struct, forbid_unknown_fields=True):
    """Who is to be shown something, and the caller's own name of the decision."""

    user: Name
    key: Name | None = None


class BatchBody(Struct, forbid_unknown_fields=True):
    """Many decisions."""

    decisions: Annotated[list[DecisionBody], Meta(max_length=MOST_IN_BATCH)]


class FeedbackBody(Struct, forbid_unknown_fields=True):
    """What a decision paid."""

    reward: Share


class DecisionAnswer(Struct):
    """What to show."""

    id: str
    arm: str
    delay: int
    expected: float


class ErrorAnswer(Struct):
    """Why a request was refused."""

    error: str


class BatchItem(Struct, omit_defaults=True):
    """What to show, or why there is no decision, such as where the rules leave no arm."""

    id: str | None = None
    arm: str | None = None
    delay: int | None = None
    expected: float | None = None
    error: str | None = None


class BatchAnswer(Struct):
    """What to show, in the order of the requests."""

    decisions: list[BatchItem]


class StatusAnswer(Struct):
    """Whether something was done, or known before."""

    status: Literal["applied", "duplicate"]


class Line(Struct):
    """A campaign in the list of all."""

    name: str
    clock: str
    arms: int
    users: int
    decisions: int
    open: int


class CampaignsAnswer(Struct):
    """All campaigns."""

    campaigns: list[Line]


class EventCounts(Struct):
    """What happened so far; `open` decisions wait for a reward, `late` ones are long without."""

    events: int
    users: int
    decisions: int
    open: int
    late: int
    feedback: int
    cancelled: int
    defaults: int
    refused: int


class Arm(Struct):
    """An arm, and whether it is no longer chosen."""

    name: str
    retired: bool


class Cell(Struct):
    """An arm at a delay: rewards that came, decisions without one, and a 95 % interval."""

    arm: str
    delay: int
    rewards: int
    open: int
    mean: float
    low: float
    high: float


class PlanAnswer(Struct):
    """The best cycle for the means, and how good it is known to be."""

    cycle: list[str]
    gain: float
    upper_bound: float
    certificate: float
    method: str


class Rest(Struct):
    """Whether rest matters."""

    verdict: str
    sentence: str


class Bucket(Struct):
    """Decisions that were made within some seconds, and those of them that have a reward."""

    at: float
    seconds: float
    decisions: int
    rewards: int
    reward: float
    expected: float


class RuleAnswer(Struct):
    """A rule: the arms that it is about, none if that is every arm, and what it says of them."""

    arms: list[str]
    text: str


class Overview(Struct):
    """All about a campaign."""

    name: str
    settings: dict[str, Any]
    rules: list[RuleAnswer]
    counts: EventCounts
    arms: list[Arm]
    spans: list[float | None]
    cells: list[Cell]
    plan: PlanAnswer | None
    rest: Rest | None
    history: list[Bucket]
    decisions_per_second: float


class Health(Struct):
    """How the service is."""

    status: Literal["alive", "ready"]
