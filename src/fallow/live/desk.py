"""Answers requests from the state of a campaign: with what is known, or with an event to keep.

Nothing changes before that event is kept and taken in, so whatever fails in between leaves no
trace. Requests whose events claim the same thing are to be made one after the other.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from operator import attrgetter

from fallow import checks
from fallow.errors import InputError
from fallow.live.chooser import Ages, Chooser
from fallow.live.decision import Decision, decision_id, parse_decision_id, unknown_decision
from fallow.live.errors import (
    Arms,
    ConflictError,
    RefusedError,
    UncheckedArmsError,
    UnknownError,
)
from fallow.live.events import (
    ARM,
    CANCEL,
    DECISION,
    DEFAULT,
    EXPIRE,
    FEEDBACK,
    REFUSAL,
    RETIRE,
    Event,
)
from fallow.live.policy import Policy, check_rules
from fallow.live.settings import MAX_USER
from fallow.live.state import CANCELLED, CLOSED, State, View
from fallow.live.time_rules import Wait

STRETCH = 4
"""Times the delays that are told apart, decisions of a user until it is drawn anew who explores."""
MOST_STEPS = 10_000
"""Decisions of a user that are looked back at, where delays are elapsed time."""
PATIENCE, STALE, CELLS = 16, 0.01, 16
"""Decisions that may be made on an outdated policy: this number, this share of all that were made,
or one for every few cells, whichever is most."""


class Desk:
    """One campaign: its state, and the policy that decides.

    Attributes
    ----------
    state
        What is known.
    """

    def __init__(self, name: str, state: State) -> None:
        self.name = name
        self.state = state
        self._policy: Policy | None = None
        self._due_at: int | None = None
        self._possible_arms: Arms | None = None

    def view(self) -> View:
        """Return what to plan from."""
        return self.state.view()

    @property
    def has_policy(self) -> bool:
        """Whether a first policy was made, without which nothing can be decided."""
        return self._policy is not None

    @property
    def policy(self) -> Policy:
        """What decides."""
        assert self._policy is not None, "plan first"
        return self._policy

    @property
    def is_due(self) -> bool:
        """Whether enough has come in for a new policy."""
        return self._due_at is not None

    @property
    def is_overdue(self) -> bool:
        """Whether so much was decided since then that the next decision should wait for it."""
        if self._due_at is None:
            return False
        if not any(not (was or gone) for was, gone in self._retired_then_and_now()):
            return True  # the policy knows none of the arms that are left
        made, columns = self.state.decisions, self.state.settings.columns
        most = max(PATIENCE, STALE * made, len(self.state.arms) * columns // CELLS)
        return made - self._due_at > most

    def _retired_then_and_now(self) -> Iterator[tuple[bool, bool]]:
        return zip(self.policy.view.retired, self.state.retired, strict=False)

    def apply(self, number: int, event: Event) -> int:
        """Take in an event that was kept; return the place of its decision, -1 if none."""
        state = self.state
        place = state.apply(number, event)
        if self._due_at is None and self._outdates_policy(event, place):
            self._due_at = state.decisions
        return place

    def _outdates_policy(self, event: Event, place: int) -> bool:
        """Tell whether an event, about the decision at a place, makes a new policy due."""
        if event.kind in (ARM, RETIRE):
            return True
        if self._policy is None or place < 0:
            return False
        return self._policy.is_due(self.state, self.state.arm[place], self.state.column[place])

    def plan_now(self) -> None:
        """Make a new policy, and decide by it."""
        self.renew(self.plan()())

    def plan(self) -> Callable[[], Policy]:
        """Return what makes a new policy from what is known now, in any thread, for `renew`."""
        return partial(Policy, self.view())

    def renew(self, policy: Policy) -> None:
        """Decide by a new policy; it is due again if arms have changed since it was begun."""
        self._policy = policy
        self._due_at = None
        if policy.view.retired != tuple(self.state.retired):
            self._due_at = self.state.decisions

    def postpone(self) -> None:
        """Go on with the policy that there is, since a new one could not be made."""
        self._due_at = None

    def decide(self, user: str, key: str | None, now: float) -> Event | Decision:
        """Return the next decision for a user, or the one that was made under this key."""
        checks.name("user", user, MAX_USER)
        if key is not None:
            checks.name("key", key, MAX_USER)
            if (place := self.state.keys.get(key)) is not None:
                return self.made(place)
        state, policy = self.state, self.policy
        chooser = policy.curious if self._is_curious(user) else policy.content
        ages, columns = self._past(user, now, chooser)
        chosen = chooser.choose(ages)
        if chosen < 0:
            raise self._refused(user, now, None)
        waits, retired = self._waits(user, now), state.retired  # of arms since the policy was made
        if chosen in waits or retired[chosen]:
            permitted = [arm for arm in chooser.permitted(ages) if not retired[arm]]
            free = [arm for arm in permitted if arm not in waits]
            if not free:
                held = (waits[arm] for arm in permitted)
                raise self._refused(user, now, min(held, key=attrgetter("seconds"), default=None))
            chosen = chooser.best_of(free, ages)
        arm, propensity = chosen, None
        if state.settings.explore > 0:
            permitted = [
                arm for arm in chooser.permitted(ages) if not (arm in waits or retired[arm])
            ]
            leads_on = partial(_leads_on, chooser, ages, chosen)
            arm, propensity = self._explored(user, chosen, permitted, leads_on)
        rested = state.settings.columns - 1
        column = min(columns.get(arm, rested), rested)
        return Event(
            DECISION,
            now,
            user=user,
            arm=state.arms[arm],
            delay=column + 1,
            propensity=propensity,
            expected=float(policy.belief.means[arm, column]),
            key=key,
        )

    def made(self, place: int) -> Decision:
        """Return a decision by its place."""
        state, belief = self.state, self.policy.belief
        arm, column = state.arm[place], state.column[place]
        low, high, optimistic = 0.0, 1.0, 1.0  # of an arm that the policy does not know yet
        if arm < len(belief.means):
            rows = belief.low, belief.high, belief.indices
            low, high, optimistic = (float(row[arm, column]) for row in rows)
        return Decision(
            decision_id(self.name, state.numbers[place]),
            state.arms[arm],
            column + 1,
            state.expected[place],
            low,
            high,
            optimistic,
            state.counts[arm][column],
        )

    def feedback(self, number: int, reward: float, now: float) -> Event | None:
        """Return the event for a reward, or None if the very same was reported before."""
        reward = checks.share("reward", reward)
        place = self._known(number)
        status = self.state.status[place]
        if status == CANCELLED:
            raise ConflictError(
                f"feedback must be about a decision that was shown, got "
                f"{decision_id(self.name, number)}, which was cancelled"
            )
        if status == CLOSED:
            if reward == self.state.reward[place]:
                return None
            raise ConflictError(
                f"the reward of {decision_id(self.name, number)} must stay "
                f"{self.state.reward[place]:g}, got {reward:g}"
            )
        return Event(FEEDBACK, now, ref=number, reward=reward)

    def cancel(self, number: int, now: float) -> Event | None:
        """Return the event for a decision that was not shown, or None if that is known."""
        status = self.state.status[self._known(number)]
        if status == CANCELLED:
            return None
        if status == CLOSED:
            raise ConflictError(
                "a decision must be without feedback to be cancelled, "
                f"got {decision_id(self.name, number)}, which has one"
            )
        return Event(CANCEL, now, ref=number)

    def add_arm(self, name: str, now: float) -> Event | None:
        """Return the event for a new arm or one that comes back, or None if it is there."""
        checks.name("the name of an arm", name, checks.MAX_NAME)
        place = self.state.places.get(name)
        if place is not None and not self.state.retired[place]:
            return None
        names = self.state.arms if place is not None else [*self.state.arms, name]
        self._check_arms(names, [gone and arm != name for arm, gone in self._arms(names)])
        return Event(ARM, now, arm=name)

    def retire_arm(self, name: str, now: float) -> Event | None:
        """Return the event for an arm that is no longer to be chosen, or None if it is not."""
        if name not in self.state.places:
            raise UnknownError(
                f"arm must be one of the campaign, got {checks.short(name)}"
                f"{checks.suggestion(name, self.state.arms)}"
            )
        if self.state.retired[self.state.places[name]]:
            return None
        gone = [gone or arm == name for arm, gone in self._arms(self.state.arms)]
        self._check_arms(self.state.arms, gone)
        return Event(RETIRE, now, arm=name)

    def late(self, now: float) -> Iterator[Event]:
        """Yield events for decisions for which feedback is overdue."""
        default = self.state.settings.default_reward
        for place in self.state.overdue(now):
            number = self.state.numbers[place]
            if default is None:
                yield Event(EXPIRE, now, ref=number)
            else:
                yield Event(DEFAULT, now, ref=number, reward=default)

    def number(self, identity: str) -> int:
        """Return the number of a decision of this campaign by its id."""
        parsed = parse_decision_id(identity) if isinstance(identity, str) else None
        if parsed is None or parsed[0] != self.name:
            raise unknown_decision(identity)
        return parsed[1]

    def shown(self, user: str, now: float) -> list[str | None]:
        """Return what a user was shown, oldest first, as far as it matters; by rounds of the plan.

        What was shown in the same round by the clock stands in the rounds before.
        """
        chooser = self.policy.content
        span = chooser.reach + 1
        ages, _ = self._past(user, now, chooser)
        rounds: list[str | None] = []
        for code in ages.codes:
            arm, age = divmod(code, span)
            rounds += [None] * (age - 1 - len(rounds))
            rounds.append(None if self.state.retired[arm] else self.state.arms[arm])
        rounds += [None] * (ages.rounds - len(rounds))
        return rounds[::-1]

    def _known(self, number: int) -> int:
        place = self.state.place(number)
        if place >= 0:
            return place
        identity = decision_id(self.name, number)
        if self.state.forgot(number):
            days = self.state.settings.key_days
            raise ConflictError(f"{identity} was settled more than {days:g} days ago")
        raise unknown_decision(identity)

    def _turn(self, user: str) -> int:
        """Return how many decisions were made for a user."""
        known = self.state.users.get(user)
        return 0 if known is None else self.state.turn[known] + 1

    def _is_curious(self, user: str) -> bool:
        """Tell whether a user's next decision is to find things out.

        What one user finds out serves all, and may cost her some rounds. So the more users there
        are, the fewer are curious at a time: the square root of them. Everyone has her turn.
        """
        users = len(self.state.users)
        stretch = self._turn(user) // (STRETCH * self.state.settings.columns)
        return users <= 1 or self._draw(user, -stretch - 1) < users**-0.5

    def _past(self, user: str, now: float, chooser: Chooser) -> tuple[Ages, dict[int, int]]:
        """Return the past of a user as a chooser sees it, and delays by arm, counted from 0."""
        state, length = self.state, self.policy.clockwork.round_length
        reach, span = chooser.reach, chooser.reach + 1
        codes: list[int] = []
        columns: dict[int, int] = {}
        age = 0
        for age, (arm, at) in enumerate(
            islice(state.past(user), MOST_STEPS if length else None), 1
        ):
            column = age - 1
            if length:
                elapsed = max(now - at, 0.0)
                age, column = int(elapsed / length) + 1, self._column(elapsed)
            if age > reach:
                break
            if arm not in columns:
                columns[arm] = column
            elif not chooser.counts_all_pulls:
                continue
            codes.append(arm * span + age)
        return Ages(tuple(codes), age if chooser.has_deadlines else 0), columns

    def _waits(self, user: str, now: float) -> dict[int, Wait]:
        """Return the arms that a user may not be shown yet by rules in seconds."""
        state, rules = self.state, self.policy.time_rules
        if not rules:
            return {}
        return rules.waits((arm, max(now - at, 0.0)) for arm, at in state.past(user))

    def _refused(self, user: str, now: float, wait: Wait | None) -> RefusedError:
        """Return the error where the rules leave no arm, for some time or until something else."""
        message = f"the rules must leave an arm for a decision, got none for {checks.short(user)}"
        if wait is None:
            kinds = {rule.kind for rule in self.state.settings.rules}
            reason = ", ".join(sorted(kinds - {"exclude", "at_least_once"}))
            event = Event(REFUSAL, now, user=user, reason=reason)
            return RefusedError(f"{message} now", event)
        event = Event(REFUSAL, now, user=user, reason=wait.rule.in_words("seconds"))
        message = f"{message} now ({event.reason}); ask again in {wait.seconds:,.3f} s"
        return RefusedError(message, event, wait.seconds)

    def _explored(
        self, user: str, chosen: int, permitted: list[int], leads_on: Callable[[int], bool]
    ) -> tuple[int, float]:
        """Return the arm that is shown, the chosen one or one at random, and its propensity.

        A place among the permitted arms is drawn. A dead end there leaves its chance to the next
        arm that is none, the first coming after the last, so only those before an arm matter.
        """
        if chosen not in permitted:  # deadlines cannot be kept, so there is nothing to try
            return chosen, 1.0
        explore, count = self.state.settings.explore, len(permitted)
        place, draw = permitted.index(chosen), self._draw(user, self._turn(user))
        if draw < explore:
            place = int(draw / explore * count)
            while not leads_on(permitted[place]):
                place = (place + 1) % count
        places = 1
        while not leads_on(permitted[place - places]):
            places += 1
        arm = permitted[place]
        return arm, explore * places / count + (1 - explore) * (arm == chosen)

    def _column(self, elapsed: float) -> int:
        settings = self.state.settings
        if elapsed > settings.max_delay:
            return settings.columns - 1
        doublings = math.log2(max(elapsed / settings.max_delay, 1e-300))
        return max(0, settings.columns - 2 + math.ceil(doublings))

    def _draw(self, user: str, turn: int) -> float:
        """Return a number in [0, 1) that the campaign, the user and the turn determine."""
        text = f"{self.name}\0{user}\0{turn}"
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) / 2**64

    def _arms(self, names: list[str]) -> Iterator[tuple[str, bool]]:
        gone = self.state.retired
        return ((arm, place < len(gone) and gone[place]) for place, arm in enumerate(names))

    def _check_arms(self, names: list[str], gone: list[bool]) -> None:
        """Check that the rules can be kept with these arms, or ask for that to be found out."""
        if all(gone):
            raise ConflictError("a campaign must keep an arm, got its last one to retire")
        arms = tuple(names), tuple(gone)
        if self.state.settings.rules and arms != self._possible_arms:
            raise UncheckedArmsError(arms)

    def check_arms(self, arms: Arms) -> None:
        """Find out whether the rules can be kept with some arms, which may take long.

        It may be called in any thread. The request that asked for it is then to be made again.
        """
        settings = self.state.settings
        rules = settings.rules.bound_to(settings.arms)
        trial = State(replace(settings, arms=arms[0], rules=rules))
        trial.retired = list(arms[1])
        try:
            check_rules(trial.view())
        except InputError as error:
            raise ConflictError(str(error)) from error
        self._possible_arms = arms


def _leads_on(chooser: Chooser, ages: Ages, chosen: int, arm: int) -> bool:
    """Tell whether an arm is not a dead end, which the chosen one never counts as."""
    return arm == chosen or not chooser.is_dead_end(ages, arm)
