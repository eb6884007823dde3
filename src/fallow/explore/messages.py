"""What the page sends and gets, as JSON."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

MOST_DELAY = 30
Share = Annotated[float, Meta(ge=0, le=1)]
Delay = Annotated[int, Meta(ge=1, le=MOST_DELAY)]


class SliderSettings(Struct, forbid_unknown_fields=True):
    """Where sliders and switches are.

    `levels` are what each arm earns at best, `rules` says which are on. Delays and decay are None
    where the instance is a table of means, which is only scaled. `thorough` asks for all that
    `fallow.plan` can find, which may take seconds.
    """

    levels: list[Share]
    rules: list[bool]
    delays: list[Delay] | None = None
    decay: dict[str, float] | None = None
    thorough: bool = False


class Start(Struct):
    """What the page is made of."""

    names: list[str]
    rules: list[str]
    longest: int
    """The end of the sliders for delays."""
    settings: SliderSettings


class PlannedCycle(Struct):
    """The cycle of one planner, and what it earns per round.

    Of a cycle of `length` rounds, `cycle` has the first ones if it is long; `delays` and `rewards`
    are those of each of them. `share` is the gain by the least upper bound that is known.
    """

    planner: str
    length: int
    cycle: list[int]
    delays: list[int]
    rewards: list[float]
    gain: float
    share: float


class Answer(Struct):
    """What the settings lead to.

    `cycles` begin with the best one, and lack those that find nothing within the rules. Where the
    rules cannot all be kept there is none, and `conflict` says why. `certificate` is the share of
    the optimum that the best one is proved to have, and `rests` are the delays at which it plays
    each arm.
    """

    means: list[list[float]]
    cycles: list[PlannedCycle]
    certificate: float
    rests: list[list[int]]
    conflict: str | None
    python: str
    toml: str
