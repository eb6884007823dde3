"""What is explored: where the sliders start, and which instance they stand for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fallow import checks, decay
from fallow.arrays import FloatArray
from fallow.errors import InputError
from fallow.explore.messages import MOST_DELAY, SliderSettings
from fallow.instance import Instance
from fallow.rules import Rule, Rules

MOST_ARMS = 20
"""With more arms, or longer delays, answers would come too late to follow a slider."""
DIGITS = 12
"""To which a decay's parameter is read off the means."""
CLOSE = 1e-9
"""How far means may be from those of a decay with such a parameter."""

EXAMPLE = Instance.b2dep(
    baselines=[0.9, 0.8, 0.7, 0.55, 0.3],
    delays=[4, 3, 5, 2, 1],
    decay=decay.geometric(0.7),
    names=["hymn", "waltz", "march", "polka", "news"],
).with_rules(Rules(groups={"dances": ["waltz", "polka"]}, at_least_once={"news": 10}))
"""For those who have no instance yet: five songs on the radio."""


class Model(NamedTuple):
    """How an instance was built: what each arm earns when rested, its delays, one decay for all.

    `decay` is as a TOML file has it, such as {"geometric": 0.7}.
    """

    baselines: Sequence[float]
    delays: Sequence[int]
    decay: Mapping[str, float]

    def instance(self, names: Sequence[str]) -> Instance:
        """Build the instance."""
        return Instance.b2dep(
            self.baselines, self.delays, decay.from_document(dict(self.decay)), names
        )


class Moved(NamedTuple):
    """What the sliders stand for: an instance, and how it was built, None if it is a table."""

    instance: Instance
    model: Model | None


@dataclass(frozen=True)
class Switch:
    """Rules that are on or off together, and what they are called on the page."""

    text: str
    rules: tuple[Rule, ...]
    on: bool


class Explored:
    """An instance whose parameters are moved.

    Parameters
    ----------
    instance
        Where it starts, with at most `MOST_ARMS` arms and delays up to `MOST_DELAY`.

    Attributes
    ----------
    model
        How the instance was built, if its means tell; else its rows can only be scaled.
    switches
        The instance's own rules, which are on, and some that most people would try, which are off.
    """

    def __init__(self, instance: Instance) -> None:
        checks.at_most("arms to explore", instance.arms, MOST_ARMS)
        checks.at_most("delays to explore", instance.max_delay, MOST_DELAY)
        self.instance = instance
        self.model = model_of(instance)
        own = tuple(Switch(str(rule), (rule,), on=True) for rule in instance.rules)
        self.switches = (*own, *_offered(instance))

    @property
    def levels(self) -> list[float]:
        """What each arm earns at best: where it was built, when it is rested."""
        best: list[float] = self.instance.means.max(axis=1).tolist()
        return best

    @property
    def settings(self) -> SliderSettings:
        """Where the sliders start."""
        return SliderSettings(
            levels=self.levels,
            rules=[switch.on for switch in self.switches],
            delays=None if self.model is None else list(self.model.delays),
            decay=None if self.model is None else dict(self.model.decay),
        )

    def at(self, settings: SliderSettings) -> Moved:
        """Return what the sliders and switches stand for."""
        self._check(settings)
        model = None
        if settings.delays is None or settings.decay is None:
            instance = Instance(self._scaled(settings.levels), self.instance.names)
        else:
            model = Model(settings.levels, settings.delays, settings.decay)
            instance = model.instance(self.instance.names)
        switched = zip(self.switches, settings.rules, strict=True)
        rules = Rules.of(rule for switch, is_on in switched if is_on for rule in switch.rules)
        return Moved(instance.with_rules(rules), model)

    def _scaled(self, levels: Sequence[float]) -> FloatArray:
        """Return the table with other levels; a row without any stays as it is."""
        means = self.instance.means.copy()
        for row, before, now in zip(means, self.levels, levels, strict=True):
            if before not in (0, now):
                row[:] = row / before * now
        return means

    def _check(self, settings: SliderSettings) -> None:
        """Check that there is one value for each slider and switch."""
        arms = self.instance.arms
        of_arms = {"levels": settings.levels, "delays": settings.delays}
        for key, values in of_arms.items():
            if values is not None and len(values) != arms:
                raise InputError(key, "must be one for each arm", f"{len(values)} for {arms}")
        for key, value in (("delays", settings.delays), ("decay", settings.decay)):
            if (value is None) != (self.model is None):
                needed = "left out for a table of means" if self.model is None else "given"
                raise InputError(key, f"must be {needed}", checks.short(value))
        if len(settings.rules) != len(self.switches):
            raise InputError(
                "rules",
                f"must be on or off, one for each of {len(self.switches)}",
                f"{len(settings.rules)}",
            )


def model_of(instance: Instance) -> Model | None:
    """Return how an instance was built if its means are those of one decay family for all arms.

    Examples
    --------
    >>> songs = Instance.b2dep([0.9, 0.8], delays=[3, 1], decay=decay.geometric(0.7))
    >>> model_of(songs)
    Model(baselines=[0.9, 0.8], delays=[3, 1], decay={'geometric': 0.7})
    >>> model_of(Instance([[0.1, 0.9, 0.2]])) is None
    True
    """
    baselines = instance.baselines.tolist()
    delays = np.maximum(instance.delays, 1).tolist()
    for family in _families(instance):
        model = Model(baselines, delays, family)
        means = model.instance(instance.names).means
        width = instance.means.shape[1]
        means = np.pad(means, ((0, 0), (0, max(0, width - means.shape[1]))), mode="edge")
        if np.allclose(means[:, :width], instance.means, rtol=0, atol=CLOSE):
            return model
    return None


def _families(instance: Instance) -> Iterator[dict[str, float]]:
    """Yield the decays that agree with one arm at delays 1 and 2."""
    telling = np.lexsort((instance.baselines, np.minimum(instance.delays, 2)))[-1]
    row = instance.means[telling].tolist()
    if row[-1] == 0:  # as all others: any decay will do
        yield {"geometric": 0.5}
        return
    first, second = (round(1 - mean / row[-1], DIGITS) for mean in (row[0], row[:2][-1]))
    if not 0 <= second <= first <= 1:
        return
    yield {"constant": first}
    yield {"geometric": first}
    if first == 1 and second > 0:
        yield {"power": round(-math.log2(second), DIGITS)}


def _offered(instance: Instance) -> Iterator[Switch]:
    """Yield rules that most people would try, of kinds that the instance has none of."""
    kinds = {rule.kind for rule in instance.rules}
    excluded = {rule.arms[0] for rule in instance.rules if rule.kind == "exclude"}
    arms = [name for name in instance.names if name not in excluded]
    if "cooldowns" not in kinds:
        apart = tuple(Rule("cooldowns", (name,), rounds=2) for name in arms)
        yield Switch("nothing twice in a row", apart, on=False)
    if "at_least_once" not in kinds:
        rounds = 2 * len(arms)
        each = tuple(Rule("at_least_once", (name,), rounds=rounds) for name in arms)
        yield Switch(f"everything at least once in any {rounds} rounds", each, on=False)
