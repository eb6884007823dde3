"""Rules that a plan must obey: cool-downs, caps, groups, deadlines and exclusions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Never

from fallow import checks
from fallow.errors import InputError
from fallow.toml import inline

MAX_ROUNDS = 2**20
"""Longest stretch of rounds that a rule may speak of."""
KINDS = ("cooldowns", "at_most", "groups", "at_least_once", "exclude")
"""The kinds of rules: the arguments of `Rules`, and the keys of the table [rules]."""

Arm = str | int
"""An arm by its name, or by its index counted from 0."""


@dataclass(frozen=True)
class Rule:
    """One rule about the pulls of some arms, counted together, in every stretch of rounds.

    `group` is the name of a group, else empty. A cool-down without arms is for every arm. Where
    `seconds` are given, a cap is about elapsed time, and not about rounds. `in_a_row` marks a group
    that was given without the rounds that its arms are to be apart.
    """

    kind: str
    arms: tuple[Arm, ...]
    pulls: int = 1
    rounds: int = 1
    group: str = ""
    seconds: float | None = None
    in_a_row: bool = False

    def __str__(self) -> str:
        arms = " and ".join(map(str, self.arms)) or "every arm"
        who = f"{self.group} ({arms})" if self.kind == "groups" else arms
        return f"{who}: {self.in_words('rounds')}"

    def in_words(self, unit: str) -> str:
        """Return what the rule says of its arms, in rounds or seconds.

        Examples
        --------
        >>> Rule("cooldowns", ("hymn",), rounds=60).in_words("seconds")
        '60 seconds from pull to pull'
        """
        match self.kind:
            case "cooldowns":
                return f"{self.rounds} {unit} from pull to pull"
            case "at_most" if self.seconds is not None:
                return f"at most {self.pulls} in any {self.seconds:.15g} seconds"
            case "at_most":
                return f"at most {self.pulls} in any {self.rounds} rounds"
            case "groups" if self.in_a_row:
                return "never two in a row"
            case "groups":
                return f"{self.rounds} {unit} from one to the next"
            case "at_least_once":
                return f"at least once in any {self.rounds} rounds"
        return "not in the plan"


class Rules:
    """What every planner obeys when the instance carries it.

    Arms are given by name, or by index counted from 0. Rules bind planners and schedules; a
    simulation plays whatever its learner asks for.

    Parameters
    ----------
    cooldowns
        Rounds from a pull of an arm to the next one that is allowed, for some arms; or one number
        for all. 2 only forbids the same arm twice in a row, and 1 nothing.
    at_most
        Caps, each with `arms`, `pulls` and `rounds`: the most pulls that the arms together have in
        a stretch of that many rounds. With `seconds` for `rounds`, a cap is for a campaign whose
        clock is elapsed time.
    groups
        Arms by group, such as an artist or a topic: never two of a group in a row, nor one twice.
        Or by group a table of `arms` and `apart`, the rounds from one of them to the next, at
        least.
    at_least_once
        Rounds in which an arm must be pulled at least once, for some arms.
    exclude
        Arms that are not in the plan.

    Examples
    --------
    >>> from fallow import Instance, plan
    >>> songs = Instance([[0.5, 0.9], [0.4, 0.8], [0.1, 0.1]], names=["hymn", "waltz", "news"])
    >>> best = plan(songs.with_rules(Rules(cooldowns={"hymn": 3}, at_least_once={"news": 4})))
    >>> best.names
    ('hymn', 'waltz', 'news', 'waltz')
    """

    def __init__(
        self,
        *,
        cooldowns: Mapping[Arm, int] | int | None = None,
        at_most: Sequence[Mapping[str, Any]] | None = None,
        groups: Mapping[str, Sequence[Arm] | Mapping[str, Any]] | None = None,
        at_least_once: Mapping[Arm, int] | None = None,
        exclude: Sequence[Arm] | None = None,
        **unknown: Never,
    ) -> None:
        for name in unknown:
            checks.one_of("an argument of Rules", name, KINDS)
        self._each = (
            *_spans("cooldowns", cooldowns),
            *_caps([] if at_most is None else at_most),
            *_groups({} if groups is None else groups),
            *_spans("at_least_once", at_least_once),
            *(Rule("exclude", (arm,)) for arm in _arms("exclude", exclude or ())),
        )

    @classmethod
    def of(cls, each: Iterable[Rule]) -> Rules:
        """Return the rules that consist of single ones."""
        rules = cls()
        rules._each = tuple(each)
        return rules

    @classmethod
    def from_document(cls, document: object) -> Rules:
        """Return the rules that the table [rules] of a TOML file holds, or an object of JSON."""
        if not isinstance(document, Mapping):
            raise InputError("rules", "must be a table", checks.short(document))
        for key in document:
            checks.one_of("a key of rules", key, KINDS)
        return cls(**document)

    def document(self) -> dict[str, Any]:
        """Return the rules as plain data, as `from_document` takes it.

        Examples
        --------
        >>> Rules(cooldowns={"hymn": 3}, exclude=["polka"]).document()
        {'cooldowns': {'hymn': 3}, 'exclude': ['polka']}
        """
        kinds: dict[str, Any] = {}
        for rule in self:
            match rule.kind:
                case "at_most":
                    cap: dict[str, Any] = {"arms": list(rule.arms), "pulls": rule.pulls}
                    if rule.seconds is None:
                        cap["rounds"] = rule.rounds
                    else:
                        cap["seconds"] = rule.seconds
                    kinds.setdefault("at_most", []).append(cap)
                case "groups" if rule.in_a_row:
                    kinds.setdefault("groups", {})[rule.group] = list(rule.arms)
                case "groups":
                    table = {"arms": list(rule.arms), "apart": rule.rounds}
                    kinds.setdefault("groups", {})[rule.group] = table
                case "exclude":
                    kinds.setdefault("exclude", []).extend(rule.arms)
                case _ if rule.arms:
                    kinds.setdefault(rule.kind, {})[rule.arms[0]] = rule.rounds
                case _:
                    kinds[rule.kind] = rule.rounds
        return kinds

    def to_toml(self) -> str:
        """Return the rules as the table [rules] of a TOML file, whose keys are names of arms.

        Examples
        --------
        >>> print(Rules(cooldowns={"hymn": 3}, exclude=["polka"]).to_toml(), end="")
        [rules]
        cooldowns = {"hymn" = 3}
        exclude = ["polka"]
        """
        lines = (f"{kind} = {inline(value)}\n" for kind, value in self.document().items())
        return "[rules]\n" + "".join(lines)

    def bound_to(self, names: Sequence[str]) -> Rules:
        """Return the rules with every arm by its name, checked against the names there are."""
        each: dict[tuple[Any, ...], Rule] = {}
        known = set(names)
        for rule in self:
            for arms in [_named(rule, names, known)] if rule.arms else [(name,) for name in names]:
                bound = replace(rule, arms=arms)
                stretch = (rule.rounds, rule.seconds) if rule.kind == "at_most" else None
                key = (rule.kind, rule.group or arms, stretch)
                if key in each:
                    raise InputError("rules", "must say each thing once", f"{each[key]}; {bound}")
                each[key] = bound
        if sum(rule.kind == "exclude" for rule in each.values()) == len(names):
            raise InputError("rules.exclude", "must leave an arm for the plan", "all of them")
        return Rules.of(each.values())

    def check_clock(self, clock: str) -> None:
        """Check that all rules can be counted by a clock, "rounds" or "time".

        Examples
        --------
        >>> Rules(cooldowns=3600, at_most=[{"arms": ["hymn"], "pulls": 3, "seconds": 86400}]
        ... ).check_clock("time")
        """
        for rule in self:
            if clock == "rounds" and rule.seconds is not None:
                raise InputError(
                    "rules.at_most",
                    "must have rounds; seconds are for campaigns whose clock is elapsed time",
                    str(rule),
                )
            in_rounds = rule.kind == "at_most" and rule.seconds is None
            if clock == "time" and (rule.kind == "at_least_once" or rule.in_a_row or in_rounds):
                raise InputError(
                    "rules",
                    "must be in seconds where the clock is elapsed time: cooldowns, exclude, "
                    "at_most with seconds, groups with apart",
                    str(rule),
                )

    def without(self, *dropped: Rule) -> Rules:
        """Return the rules that are left when some are dropped.

        Examples
        --------
        >>> rules = Rules(cooldowns={"hymn": 3}, exclude=["polka"])
        >>> rules.without(*rules)
        Rules()
        """
        return Rules.of(rule for rule in self if rule not in dropped)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._each)

    def __len__(self) -> int:
        return len(self._each)

    def __eq__(self, other: object) -> bool:
        # In any order, since files and stores may sort the arms.
        return set(self) == set(other) if isinstance(other, Rules) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self))

    def __repr__(self) -> str:
        arguments = (f"{kind}={value!r}" for kind, value in self.document().items())
        return f"Rules({', '.join(arguments)})"


def _spans(kind: str, spans: object) -> Iterator[Rule]:
    """Read rounds by arm; or, of cool-downs, a number for every arm."""
    if spans is None:
        return
    if kind == "cooldowns" and not isinstance(spans, Mapping):
        yield Rule(kind, (), rounds=_rounds(f"rules.{kind}", spans))
        return
    if not isinstance(spans, Mapping):
        raise InputError(f"rules.{kind}", "must be rounds by arm", checks.short(spans))
    for arm, rounds in spans.items():
        what = f"rules.{kind} of {checks.short(arm)}"
        yield Rule(kind, _arms(kind, [arm]), rounds=_rounds(what, rounds))


def _caps(caps: object) -> Iterator[Rule]:
    if not isinstance(caps, list | tuple):
        raise InputError("rules.at_most", "must be a list of tables", checks.short(caps))
    for place, cap in enumerate(caps):
        what = f"rules.at_most[{place}]"
        if not isinstance(cap, Mapping):
            raise InputError(what, "must be a table", checks.short(cap))
        span = "seconds" if "seconds" in cap else "rounds"
        checks.keys(what, cap, ("arms", "pulls", span))
        arms = _several(f"at_most[{place}].arms", cap["arms"])
        pulls = checks.whole_number(f"{what}.pulls", cap["pulls"], minimum=1)
        if span == "seconds":
            seconds = checks.positive(f"{what}.seconds", cap["seconds"])
            yield Rule("at_most", arms, pulls, seconds=seconds)
            continue
        rounds = _rounds(f"{what}.rounds", cap["rounds"])
        checks.at_most(f"{what}.pulls", pulls, rounds, given="(its rounds)")
        yield Rule("at_most", arms, pulls, rounds)


def _groups(groups: object) -> Iterator[Rule]:
    if not isinstance(groups, Mapping):
        raise InputError("rules.groups", "must be arms by group", checks.short(groups))
    for name, given in groups.items():
        checks.text("the name of a group", name, longest=checks.MAX_NAME)
        what = f"groups.{name}"
        if isinstance(given, Mapping):
            checks.keys(f"rules.{what}", given, ("arms", "apart"))
            apart = _rounds(f"rules.{what}.apart", given["apart"])
            yield Rule("groups", _several(f"{what}.arms", given["arms"]), rounds=apart, group=name)
        else:
            yield Rule("groups", _several(what, given), rounds=2, group=name, in_a_row=True)


def _several(what: str, arms: object) -> tuple[Arm, ...]:
    checked = _arms(what, arms)
    if not checked:
        raise InputError(f"rules.{what}", "must name at least one arm", "none")
    return checked


def _arms(what: str, arms: object) -> tuple[Arm, ...]:
    if not isinstance(arms, list | tuple):
        raise InputError(f"rules.{what}", "must be a list of arms", checks.short(arms))
    for arm in arms:
        if not isinstance(arm, str | int) or isinstance(arm, bool):
            raise InputError(
                f"rules.{what}", "must hold names or indices of arms", checks.short(arm)
            )
    return tuple(arms)


def _rounds(what: str, rounds: Any) -> int:
    return checks.whole_number(what, rounds, minimum=1, maximum=MAX_ROUNDS)


def _named(rule: Rule, names: Sequence[str], known: Set[str]) -> tuple[str, ...]:
    """Return the arms of a rule by name."""
    what = f"rules.{rule.kind}"
    found: dict[str, None] = {}
    for arm in rule.arms:
        if isinstance(arm, int) and not 0 <= arm < len(names):
            raise InputError(what, f"must name arms from 0 to {len(names) - 1}", str(arm))
        name = names[arm] if isinstance(arm, int) else arm
        if name not in known:
            got = f"{checks.short(name)}{checks.suggestion(name, names)}"
            raise InputError(what, "must name arms of the instance", got)
        if name in found:
            raise InputError(what, "must name an arm once", f"{name!r} twice")
        found[name] = None
    return tuple(found)
