"""How the rows of a log are to be read."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fallow import checks
from fallow.errors import InputError
from fallow.logs.clock import CLOCKS, check_max_delay


@dataclass(frozen=True)
class Settings:
    """What a caller says about a log, checked before any row is read."""

    max_delay: float | None
    clock: str
    arms: Sequence[object] | None
    scale: tuple[float, float] | None
    from_start: bool
    random: bool

    def __post_init__(self) -> None:
        checks.one_of("clock", self.clock, CLOCKS)
        if self.max_delay is not None:
            check_max_delay(self.clock, self.max_delay)
        if self.scale is not None:
            ends = checks.numbers("scale", self.scale, 1)
            if ends.size != 2 or not np.isfinite(ends).all() or ends[0] >= ends[1]:
                raise InputError(
                    "scale", "must be (low, high), finite and low < high", checks.short(self.scale)
                )
        if self.arms is not None:
            self._check_arms(checks.listed("arms", self.arms, "a list of names"))

    def _check_arms(self, arms: list[object]) -> None:
        for name in arms:
            if not isinstance(name, str | int | np.integer) or isinstance(name, bool):
                raise InputError("arms", "must be text or whole numbers", checks.short(name))
        twice = [name for name, count in Counter(map(str, arms)).items() if count > 1]
        if twice:
            raise InputError("arms", "must differ", f"{checks.short(twice[0])} twice")

    def check_sources(self, propensity: object, propensities: object) -> None:
        """Check that at most one thing tells the propensities."""
        given = {
            "propensity": propensity is not None,
            "propensities": propensities is not None,
            "random": self.random,
        }
        if sum(given.values()) > 1:
            found = " and ".join(name for name, is_given in given.items() if is_given)
            raise InputError(
                "propensities", "must be given in one way", f"{found}; leave out the others"
            )

    def names(self) -> list[str] | None:
        """Return the arms that the caller named."""
        return None if self.arms is None else [str(arm) for arm in self.arms]
