"""Answers requests from the state of a campaign: with what is known, or with an event to keep.

Nothing changes before that event is stored and applied, so a failure in between leaves no trace.
Requests whose events claim the same thing are to be made one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from operator import attrgetter

from fallow import checks
from fallow.errors import InputError
from fallow.live.arm_search import Ages, ArmSearch
from fallow.live.errors import (
    Arms,
    ConflictError,
    RefusedError,
    UncheckedArmsError,
    UnknownError,
    unknown_decision,
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
    Decision,
    Event,
    decision_id,
    parse_decision_id,
)
from fallow.live.exploration import draw, is_exploring, randomized
from fallow.live.policy import CampaignPolicy, check_arms
from fallow.live.settings import MAX_USER
from fallow.live.state import CANCELLED, CLOSED, PlanningView, State
from fallow.live.time_rules import Wait

MOST_STEPS = 10_000
"""Decisions of a user that are looked back at, where delays are elapsed time."""
LEAST_STALE, STALE_SHARE, CELLS_PER_STALE = 16, 0.01, 16
"""Decisions that may be made on an outdated policy: this number, this share of all that were made,
or one for this number of cells, whichever is most."""


class Decider:
    """One campaign: its state, and the policy that decides.

    Attributes
    ----------
    state
        What is known.
    """

    def __init__(self, name: str, state: State) -> None:
        self.name = name
        self.state = state
        self._policy: CampaignPolicy | None = None
        self._due_at: int | None = None
        self._possible_arms: Arms | None = None

    def view(self) -> PlanningView:
        """Return what to plan from."""
        return self.state.view()

    @property
    def has_policy(self) -> bool:
        """Whether a first policy was made, without which nothing can be decided."""
        return self._policy is not None

    @property
    def policy(self) -> CampaignPolicy:
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
        then_and_now = zip(self.policy.view.retired, self.state.retired, strict=False)
        if all(was or is_now for was, is_now in then_and_now):
            return True  # the policy knows none of the arms that are left
        made = self.state.decisions
        cells = len(self.state.arms) * self.state.settings.columns
        most = max(LEAST_STALE, STALE_SHARE * made, cells // CELLS_PER_STALE)
        return made - self._due_at > most

    def apply(self, number: int, event: Event) -> int:
        """Take in an event that was kept; return the row of its decision, -1 if none."""
        state = self.state
        row = state.apply(number, event)
        if self._due_at is None and self._outdates_policy(event, row):
            self._due_at = state.decisions
        return row

    def _outdates_policy(self, event: Event, row: int) -> bool:
        """Tell whether an event, about the decision in a row, makes a new policy due."""
        if event.kind in (ARM, RETIRE):
            return True
        if self._policy is None or row < 0:
            return False
        return self._policy.is_due(self.state, self.state.arm[row], self.state.column[row])

    def plan_now(self) -> None:
        """Make a new policy, and decide by it."""
        self.renew(self.plan()())

    def plan(self) -> Callable[[], CampaignPolicy]:
        """Return what makes a new policy from what is known now, in any thread, for `renew`."""
        return partial(CampaignPolicy, self.view())

    def renew(self, policy: CampaignPolicy) -> None:
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
            if (row := self.state.keys.get(key)) is not None:
                return self.made(row)
        arm, column, propensity = self._choose(user, now)
        return Event(
            DECISION,
            now,
            user=user,
            arm=self.state.arms[arm],
            delay=column + 1,
            propensity=propensity,
            expected=float(self.policy.belief.means[arm, column]),
            key=key,
        )

    def _choose(self, user: str, now: float) -> tuple[int, int, float | None]:
        """Return an arm for a user, its delay counted from 0, and its propensity if it has one."""
        state, policy = self.state, self.policy
        turn, settings = state.decisions_for(user), state.settings
        explores = is_exploring(self.name, user, turn, len(state.users), settings.columns)
        search = policy.exploring if explores else policy.exploiting
        ages, columns = self._past(user, now, search)
        arm, propensity = search.choose(ages), None
        if arm < 0:
            raise self._refused(user, now, None)
        waits = policy.time_rules.waits(state.past(user), now)
        retired = state.retired  # some perhaps since the policy was made
        if settings.explore > 0 or arm in waits or retired[arm]:
            permitted = [each for each in search.permitted(ages) if not retired[each]]
            free = [each for each in permitted if each not in waits]
            if arm in waits or retired[arm]:
                if not free:
                    held = (waits[each] for each in permitted)
                    wait = min(held, key=attrgetter("seconds"), default=None)
                    raise self._refused(user, now, wait)
                arm = search.best_of(free, ages)
            if settings.explore > 0:
                leads_on = partial(search.leads_on, ages, arm)
                drawn = draw(self.name, user, turn)
                arm, propensity = randomized(arm, free, settings.explore, drawn, leads_on)
        rested = settings.columns - 1
        return arm, min(columns.get(arm, rested), rested), propensity

    def made(self, row: int) -> Decision:
        """Return a decision by its row."""
        state, belief = self.state, self.policy.belief
        arm, column = state.arm[row], state.column[row]
        low, high, optimistic = 0.0, 1.0, 1.0  # of an arm that the policy does not know yet
        if arm < len(belief.means):
            rows = belief.low, belief.high, belief.indices
            low, high, optimistic = (float(row[arm, column]) for row in rows)
        return Decision(
            decision_id(self.name, state.numbers[row]),
            state.arms[arm],
            column + 1,
            state.expected[row],
            low,
            high,
            optimistic,
            state.counts[arm][column],
        )

    def feedback(self, number: int, reward: float, now: float) -> Event | None:
        """Return the event for a reward, or None if the very same was reported before."""
        reward = checks.share("reward", reward)
        row = self._known(number)
        status = self.state.status[row]
        if status == CANCELLED:
            raise ConflictError(
                f"feedback must be about a decision that was shown, got "
                f"{decision_id(self.name, number)}, which was cancelled"
            )
        if status == CLOSED:
            if reward == self.state.reward[row]:
                return None
            raise ConflictError(
                f"the reward of {decision_id(self.name, number)} must stay "
                f"{self.state.reward[row]:g}, got {reward:g}"
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
        retired = self._retired()
        if retired.get(name) is False:
            return None
        self._check_arms(retired | {name: False})
        return Event(ARM, now, arm=name)

    def retire_arm(self, name: str, now: float) -> Event | None:
        """Return the event for an arm that is no longer to be chosen, or None if it is not."""
        retired = self._retired()
        if name not in retired:
            raise UnknownError(
                f"arm must be one of the campaign, got {checks.short(name)}"
                f"{checks.suggestion(name, self.state.arms)}"
            )
        if retired[name]:
            return None
        self._check_arms(retired | {name: True})
        return Event(RETIRE, now, arm=name)

    def late(self, now: float) -> Iterator[Event]:
        """Yield events for decisions for which feedback is overdue."""
        default = self.state.settings.default_reward
        for row in self.state.overdue(now):
            number = self.state.numbers[row]
            if default is None:
                yield Event(EXPIRE, now, ref=number)
            else:
                yield Event(DEFAULT, now, ref=number, reward=default)

    def number(self, identity: str) -> int:
        """Return the number of a decision of this campaign by its id."""
        campaign, number = parse_decision_id(identity)
        if campaign != self.name:
            raise unknown_decision(identity)
        return number

    def shown(self, user: str, now: float) -> list[str | None]:
        """Return what a user was shown, oldest first, as far as it matters; by rounds of the plan.

        What was shown in the same round by the clock stands in the rounds before.
        """
        search = self.policy.exploiting
        ages, _ = self._past(user, now, search)
        rounds: list[str | None] = []
        for arm, age in search.pulls(ages):
            rounds += [None] * (age - 1 - len(rounds))
            rounds.append(None if self.state.retired[arm] else self.state.arms[arm])
        rounds += [None] * (ages.rounds - len(rounds))
        return rounds[::-1]

    def _known(self, number: int) -> int:
        row = self.state.row(number)
        if row >= 0:
            return row
        identity = decision_id(self.name, number)
        if self.state.forgot(number):
            days = self.state.settings.key_days
            raise ConflictError(f"{identity} was settled more than {days:g} days ago")
        raise unknown_decision(identity)

    def _past(self, user: str, now: float, search: ArmSearch) -> tuple[Ages, dict[int, int]]:
        """Return the past of a user as a search sees it, and delays by arm, counted from 0."""
        length, reach = self.policy.round_scale.round_length, search.reach
        pulls: list[tuple[int, int]] = []
        columns: dict[int, int] = {}
        age = 0
        past = islice(self.state.past(user), MOST_STEPS if length else None)
        for age, (arm, at) in enumerate(past, 1):
            column = age - 1
            if length:
                elapsed = max(now - at, 0.0)
                age, column = int(elapsed / length) + 1, self.state.settings.column(elapsed)
            if age > reach:
                break
            if arm not in columns:
                columns[arm] = column
            elif not search.counts_all_pulls:
                continue
            pulls.append((arm, age))
        return search.ages(pulls, age), columns

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

    def _retired(self) -> dict[str, bool]:
        """Return by name which arms are retired."""
        return dict(zip(self.state.arms, self.state.retired, strict=True))

    def _check_arms(self, retired: dict[str, bool]) -> None:
        """Check that the rules can be obeyed with these arms, or ask for that to be found out."""
        if all(retired.values()):
            raise ConflictError("a campaign must keep an arm, got its last one to retire")
        arms = tuple(retired), tuple(retired.values())
        if self.state.settings.rules and arms != self._possible_arms:
            raise UncheckedArmsError(arms)

    def check_arms(self, arms: Arms) -> None:
        """Find out whether the rules can be kept with some arms, which may take long.

        It may be called in any thread. The request that asked for it is then to be made again.
        """
        try:
            check_arms(self.state.settings, *arms)
        except InputError as error:
            raise ConflictError(str(error)) from error
        self._possible_arms = arms
