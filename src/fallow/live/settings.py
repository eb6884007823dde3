"""The settings of a campaign, which are given once, when it is made."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray
from fallow.beliefs import check_cells
from fallow.errors import InputError
from fallow.logs.clock import BINS, CLOCKS, check_max_delay
from fallow.rules import Rules

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
ARMS_RULE = "must be at least one, and each once"
MAX_USER = 200
"""Longest name of a user and longest key, in characters."""


def check_name(name: object) -> str:
    """Return the name of a campaign, which is part of addresses."""
    if not isinstance(name, str) or NAME.fullmatch(name) is None:
        raise InputError(
            "the name of a campaign",
            "must be up to 100 letters, digits, '.', '_' or '-', and begin with a letter or digit",
            checks.short(name),
        )
    return name


@dataclass(frozen=True)
class CampaignSettings:
    """How a campaign decides, checked.

    Parameters
    ----------
    arms
        The names of the arms that it begins with.
    max_delay
        An arm is rested when more rounds of the user than this have passed, or more seconds.
    clock
        What counts as delay: the user's own decisions ("rounds"), or elapsed time ("time"), which
        is sorted into 8 delays, each twice as long as the one before.
    default_reward
        What a decision counts as if no feedback came within `wait`; None: it is left out.
    wait
        Seconds in which feedback is expected; None: for any time. Later feedback still counts.
    explore
        The share of decisions that are drawn at random, so that the log supports estimates.
    rules
        What all decisions obey. By elapsed time they are in seconds, and without at_least_once.
    key_days
        Days in which keys and settled decisions are remembered, so that repeated requests are
        recognized.
    """

    arms: Sequence[str]
    max_delay: float
    clock: str = "rounds"
    default_reward: float | None = None
    wait: float | None = None
    explore: float = 0.0
    rules: Rules = field(default_factory=Rules)
    key_days: float = 7.0

    def __post_init__(self) -> None:
        names = checks.listed("arms", self.arms, "a list of names")
        checks.one_of("clock", self.clock, CLOCKS)
        object.__setattr__(self, "max_delay", check_max_delay(self.clock, self.max_delay))
        check_cells(len(names), self.columns)
        seen: set[str] = set()
        for name in names:
            checks.name("the name of an arm", name, checks.MAX_NAME)
            if name in seen:
                raise InputError("arms", ARMS_RULE, f"{checks.short(name)} twice")
            seen.add(name)
        if not names:
            raise InputError("arms", ARMS_RULE, "none")
        object.__setattr__(self, "arms", tuple(names))
        if self.wait is not None:
            object.__setattr__(self, "wait", checks.positive("wait", self.wait))
        if self.default_reward is not None:
            share = checks.share("default_reward", self.default_reward)
            object.__setattr__(self, "default_reward", share)
            if self.wait is None:
                raise InputError(
                    "wait",
                    "must be given with default_reward",
                    "None; it is the seconds after which a decision without feedback counts as "
                    "that reward",
                )
        object.__setattr__(self, "explore", checks.share("explore", self.explore))
        object.__setattr__(self, "key_days", checks.positive("key_days", self.key_days))
        self._check_rules(names)

    def _check_rules(self, names: Iterable[str]) -> None:
        self.rules.bound_to(tuple(names))
        self.rules.check_clock(self.clock)

    @property
    def columns(self) -> int:
        """How many delays are distinguished, rested included."""
        return int(self.max_delay) + 1 if self.clock == "rounds" else BINS + 1

    @property
    def edges(self) -> FloatArray:
        """By elapsed time, the longest seconds that count as each delay; they double."""
        return np.ldexp(self.max_delay, np.arange(1 - BINS, 1))

    def column(self, elapsed: float) -> int:
        """Return the delay that elapsed seconds count as, counted from 0."""
        if elapsed > self.max_delay:
            return self.columns - 1
        doublings = math.log2(max(elapsed / self.max_delay, 1e-300))
        return max(0, self.columns - 2 + math.ceil(doublings))

    @classmethod
    def from_document(cls, document: object) -> CampaignSettings:
        """Return the settings that an object of JSON holds."""
        if not isinstance(document, Mapping):
            raise InputError("a campaign", "must be an object", checks.short(document))
        known = [field.name for field in fields(cls)]
        for key in document:
            checks.one_of("a key of a campaign", key, known)
        missing = next((key for key in ("arms", "max_delay") if key not in document), None)
        if missing is not None:
            raise InputError("a campaign", f"must have {missing}", "none")
        given = dict(document)
        rules = given.pop("rules", None)
        return cls(**given, rules=Rules() if rules is None else Rules.from_document(rules))

    def document(self) -> dict[str, Any]:
        """Return the settings as plain data, as `from_document` takes them.

        Examples
        --------
        >>> CampaignSettings(("hymn", "waltz"), max_delay=3).document()["max_delay"]
        3
        """
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**plain, "arms": list(self.arms), "rules": self.rules.document()}

    def to_json(self) -> str:
        """Return the settings as JSON, the same for the same settings."""
        return json.dumps(self.document(), sort_keys=True)
