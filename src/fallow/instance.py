"""The model: an instance is a table of means by arm and delay (paper, section 3, equation 1).

This is the only place that validates a model; whatever holds an `Instance` trusts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fallow import checks
from fallow import decay as decays
from fallow.arrays import FloatArray, IntArray
from fallow.decay import DecayOrValues
from fallow.errors import InputError
from fallow.rules import Rules
from fallow.text import counted
from fallow.toml import MAX_BYTES, inline, parse_toml, read_toml

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Instance:
    """Arms whose expected reward depends on the rounds since each was last pulled.

    Any table of means will do, whether or not they rise with the delay; `Instance.b2dep` and
    `Instance.blocking` build those of the paper.

    Attributes
    ----------
    means
        Shape (arms, D + 1), read-only. `means[i, tau - 1]` is the expected reward, in [0, 1], of
        arm i when it was last pulled tau rounds ago: the paper's mu_i(tau). The last column is the
        rested mean: for delays above D, and for an arm that was never pulled.
    names
        One name an arm; the arm's index, counted from 0, where none was given.
    rules
        What planners obey, arms by name; none unless given.

    Examples
    --------
    >>> Instance([[0.1, 0.9, 0.2], [0.5, 0.5, 0.5]], names=["tide", "sea"])
    Instance(2 arms, delays up to 2)
    """

    means: FloatArray
    names: tuple[str, ...]
    rules: Rules

    def __init__(
        self,
        means: npt.ArrayLike,
        names: Iterable[str] | None = None,
        rules: Rules | None = None,
    ) -> None:
        if isinstance(means, np.ndarray) and means.ndim == 2:
            checks.table_size(*means.shape)  # before it is copied
        table = checks.numbers("means", means, dimensions=2)
        columns = table.shape[1]
        checks.table_size(*table.shape)
        checks.shares(
            "means", table, lambda cell: f"for arm {cell // columns} at delay {cell % columns + 1}"
        )
        table += 0.0  # so that -0.0 is 0.0, and equal instances have equal hashes
        table.setflags(write=False)
        object.__setattr__(self, "means", table)
        object.__setattr__(self, "names", _checked_names(names, arms=len(table)))
        object.__setattr__(self, "rules", _checked_rules(rules, self.names))

    @classmethod
    def b2dep(
        cls,
        baselines: Sequence[float] | FloatArray,
        delays: Sequence[int] | IntArray,
        decay: DecayOrValues | Sequence[DecayOrValues],
        names: Iterable[str] | None = None,
    ) -> Instance:
        """Build the paper's model: mu_i(tau) = (1 - f(tau) [tau <= d_i]) mu_i (equation 1).

        Parameters
        ----------
        baselines
            mu_i in [0, 1], the expected reward of each arm when rested.
        delays
            d_i >= 1, the rounds after a pull during which arm i may pay less.
        decay
            f, from `fallow.decay`, or its values f(1), f(2), ... up to the longest delay. Or a list
            of these, one f for each arm; values then need to reach only to the arm's own delay.
        names
            One name an arm.

        Examples
        --------
        >>> Instance.b2dep([1, 0.5], delays=[2, 1], decay=[0.5, 0.25]).means
        array([[0.5 , 0.75, 1.  ],
               [0.25, 0.5 , 0.5 ]])
        >>> Instance.b2dep([1, 0.5], delays=[2, 1], decay=[decays.geometric(0.5), [1]]).means
        array([[0.5 , 0.75, 1.  ],
               [0.  , 0.5 , 0.5 ]])
        """
        rested = checks.numbers("baselines", baselines, dimensions=1)
        checks.shares("baselines", rested, lambda arm: f"for arm {arm}")
        waits = checks.whole_numbers("delays", delays, minimum=1, maximum=checks.MAX_VALUES)
        if len(waits) != len(rested):
            raise InputError(
                "delays", "must be one for each arm", f"{len(waits)} for {len(rested)} baselines"
            )
        longest = max(waits)
        checks.table_size(len(rested), longest + 1)
        means = np.empty((len(rested), longest + 1))
        means[:, :-1] = (1 - decays.shares_lost(decay, waits)) * rested[:, np.newaxis]
        means[:, -1] = rested
        return cls(means, names)

    @classmethod
    def blocking(
        cls,
        baselines: Sequence[float] | FloatArray,
        delays: Sequence[int] | IntArray,
        names: Iterable[str] | None = None,
    ) -> Instance:
        """Build blocking arms: a pull pays nothing until more than d_i rounds have passed (f = 1).

        Examples
        --------
        >>> Instance.blocking([1, 0.5], delays=[2, 1]).means
        array([[0. , 0. , 1. ],
               [0. , 0.5, 0.5]])
        """
        return cls.b2dep(baselines, delays, decays.constant(1), names)

    def with_rules(self, rules: Rules) -> Instance:
        """Return the same arms with these rules instead of any others; both share the means.

        Examples
        --------
        >>> Instance.blocking([1, 0.5], delays=[2, 1]).with_rules(Rules(exclude=[1])).rules
        Rules(exclude=['1'])
        """
        checked = _checked_rules(rules, self.names)
        ruled = object.__new__(Instance)  # the table, read-only and checked, is shared
        for name, value in (("means", self.means), ("names", self.names), ("rules", checked)):
            object.__setattr__(ruled, name, value)
        return ruled

    @property
    def arms(self) -> int:
        """Number of arms, the paper's k."""
        return len(self.means)

    @property
    def max_delay(self) -> int:
        """D: every arm is rested when more than D rounds have passed since its last pull."""
        return int(self.means.shape[1]) - 1

    @property
    def baselines(self) -> FloatArray:
        """Rested mean of each arm, the paper's mu_i."""
        return self.means[:, -1]

    @property
    def delays(self) -> IntArray:
        """The last delay, in rounds, at which each arm differs from rested; 0 if it never does.

        At most the d_i the instance was built with, and less where f(d_i) mu_i = 0.
        """
        differs = self.means != self.baselines[:, np.newaxis]
        last: IntArray = (differs * np.arange(1, self.max_delay + 2)).max(axis=1)
        return last

    @property
    def order(self) -> IntArray:
        """Arms by decreasing baseline, ties in the caller's order: the paper numbers arms so."""
        return np.argsort(-self.baselines, kind="stable")

    @classmethod
    def load(cls, path: str | Path) -> Instance:
        """Read an instance from a TOML file.

        The file holds `means`, or else `baselines`, `delays` and `decay`; and `names` if wanted.
        `decay` is a list of f(1), f(2), ... or one of `{geometric = rate}`, `{constant = value}`,
        `{power = exponent}`; or a list of these, one for each arm. A table `[rules]` holds what
        `Rules` takes.
        """
        _, document = read_toml(path)
        try:
            return cls._from_document(document)
        except InputError as error:
            raise error.at(path) from error

    def save(self, path: str | Path) -> None:
        """Write the instance to a TOML file that `Instance.load` reads back exactly.

        A table that is too large for that, with more than some three million means, is refused.
        """
        content = self.to_toml().encode("utf-8")
        checks.at_most("the size of the instance as TOML, in bytes,", len(content), MAX_BYTES)
        Path(path).write_bytes(content)

    def to_toml(self) -> str:
        """Return the instance as TOML: its names and its table of means, one line an arm.

        Examples
        --------
        >>> print(Instance.blocking([1, 0.5], [1, 1], names=["song", "news"]).to_toml(), end="")
        names = ["song", "news"]
        means = [
            [0.0, 1.0],
            [0.0, 0.5],
        ]
        """
        rows = "".join(f"    {row},\n" for row in self.means.tolist())
        rules = f"\n{self.rules.to_toml()}" if self.rules else ""
        return f"names = {inline(list(self.names))}\nmeans = [\n{rows}]\n{rules}"

    @classmethod
    def from_toml(cls, text: str) -> Instance:
        """Return the instance that a text in TOML holds, as `to_toml` writes it.

        Examples
        --------
        >>> Instance.from_toml("means = [[0.1, 0.9], [0.5, 0.5]]")
        Instance(2 arms, delays up to 1)
        """
        _, document = parse_toml(text.encode())
        return cls._from_document(document)

    @classmethod
    def _from_document(cls, document: Mapping[str, Any]) -> Instance:
        for key in document:
            checks.one_of("a key", key, ("names", "means", "baselines", "delays", "decay", "rules"))
        model = cls._without_rules({key: document[key] for key in document if key != "rules"})
        return model.with_rules(Rules.from_document(document.get("rules", {})))

    @classmethod
    def _without_rules(cls, document: Mapping[str, Any]) -> Instance:
        names = document.get("names")
        if "means" in document:
            for key in document:
                checks.one_of("a key beside means", key, ("names", "means"))
            return cls(document["means"], names)
        for key in ("baselines", "delays", "decay"):
            if key not in document:
                raise InputError(key, "must be given, or a table of means instead")
        return cls.b2dep(
            document["baselines"],
            document["delays"],
            decays.from_document(document["decay"]),
            names,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instance):
            return NotImplemented
        same_arms = self.names == other.names and self.rules == other.rules
        return same_arms and np.array_equal(self.means, other.means)

    def __hash__(self) -> int:
        return hash((self.names, self.rules, self.means.tobytes()))

    def __reduce__(self) -> tuple[Callable[..., Instance], tuple[object, ...]]:
        # Arrays come back from a pickle writable; building anew freezes them again.
        return Instance, (self.means, self.names, self.rules)

    def plot(self) -> Figure:
        """Draw how the mean of each arm recovers with rest (extra `plot`).

        A curve an arm, over the rounds since its last pull; of more than 20 arms those that pay
        most when rested.

        Examples
        --------
        >>> songs = Instance.blocking([1, 0.5], delays=[2, 1], names=["hymn", "waltz"])
        >>> [line.get_label() for line in songs.plot().axes[0].get_lines()]
        ['hymn', 'waltz']
        """
        from fallow.drawing.arms import means_figure

        return means_figure(self.names, self.means)

    def __repr__(self) -> str:
        return f"Instance({self._in_words()})"

    def _repr_html_(self) -> str:
        from fallow.drawing.html import heat_map, snippet

        delays = [*map(str, range(1, self.max_delay + 1)), "rested"]
        words = f"{self._in_words()}: expected reward by rounds since the last pull"
        return snippet("Instance", words, heat_map(self.names, delays, self.means))

    def _in_words(self) -> str:
        rules = f", {counted(len(self.rules), 'rule')}" if self.rules else ""
        return f"{counted(self.arms, 'arm')}, delays up to {self.max_delay:,}{rules}"


def check_instance(instance: Instance) -> None:
    """Check that a caller's instance is one, and not its table of means, say."""
    if not isinstance(instance, Instance):
        raise InputError("instance", "must be an Instance", checks.short(instance))


def _checked_names(names: Iterable[str] | None, arms: int) -> tuple[str, ...]:
    if names is None:
        return tuple(str(arm) for arm in range(arms))
    if isinstance(names, str | Mapping | Set) or not isinstance(names, Iterable):
        raise InputError("names", "must be a list of strings", checks.short(names))
    checked = tuple(islice(names, arms + 1))
    if len(checked) != arms:
        found = len(checked) if len(checked) <= arms else "more"
        raise InputError("names", "must be one for each arm", f"{found} for {arms} arms")
    seen = set[str]()
    for arm, name in enumerate(checked):
        if not isinstance(name, str):
            raise InputError("names", "must be strings", f"{checks.short(name)} for arm {arm}")
        checks.text("names", name, longest=checks.MAX_NAME)
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise InputError("names", "must have no lone surrogates", f"{name!r} for arm {arm}")
        if name in seen:
            raise InputError("names", "must differ", f"{name!r} twice")
        seen.add(name)
    return checked


def _checked_rules(rules: Rules | None, names: Sequence[str]) -> Rules:
    if rules is not None and not isinstance(rules, Rules):
        raise InputError("rules", "must be a fallow.Rules", checks.short(rules))
    if rules is None:
        return Rules()
    rules.check_clock("rounds")
    return rules.bound_to(names)
