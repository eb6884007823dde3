"""Processes, clients and failures of one simulated service."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from service_helpers import SECRETS, Answer, ask_app

from fallow.live.loading import load_state
from fallow.live.service.app import Service
from fallow.live.service.host import Host
from fallow.live.service.overview import MOST_BUCKETS, overview_of
from fallow.live.service.tokens import ADMIN, Token
from fallow.live.state import State
from simulation.database import Connection, Database
from simulation.oracle import BrokenError, Oracle
from simulation.scheduler import Loop, Scheduler

START = 1.8e9
"""The wall clock when a simulation begins."""
DAY = 86_400.0
TIMEOUT = 20.0
"""Seconds after which a client gives up a request, and repeats it."""
QUIET = 60.0
"""Seconds without clients and failures at the end, in which everything must be settled."""
SNAPSHOT_EVENTS = 40
EXPECTED = ("simulated", "another history", "has lost events")
"""What the service may log: failures that were simulated, and copies that were restored."""
ARMS = ("hymn", "waltz", "polka", "news")
RULES: tuple[dict[str, Any], ...] = (
    {},
    {"cooldowns": {"hymn": 2, "waltz": 2}},
    {"at_least_once": {"news": 5}},
    {"cooldowns": {"hymn": 3}, "at_least_once": {"news": 4}, "groups": {"slow": ["hymn", "waltz"]}},
    {"at_most": [{"arms": ["hymn", "polka"], "pulls": 2, "rounds": 4}]},
)
TIME_RULES: tuple[dict[str, Any], ...] = (
    {},
    {"cooldowns": {"hymn": 30}},
    {"at_most": [{"arms": ["hymn", "waltz"], "pulls": 2, "seconds": 60}]},
)


class Process:
    """One service process, which may die at any await."""

    def __init__(self, world: World) -> None:
        self.loop = world.scheduler.new_loop()
        self.clock_offset = 0.0
        self.known_epoch = world.database.epoch
        self._world = world
        self.service: Service | None = None
        self.host: Host | None = None
        self.waiting: dict[object, str] = {}
        self.store = Connection(
            world.database, world.is_shared, world.scheduler.random, world.failures
        )
        self.loop.call_soon(self._start)

    @property
    def has_noticed(self) -> bool:
        """Whether the process knows that its history is not that of the store."""
        failure = None if self.host is None else self.host.committer.failure
        return failure is not None and "another history" in failure

    def now(self) -> float:
        """Return the wall clock of the process, which may jump."""
        return START + self._world.scheduler.now + self.clock_offset

    def _start(self) -> None:
        self.host = Host(self.store, self.now, snapshot_events=SNAPSHOT_EVENTS)
        self.service = Service(self.host, [Token(SECRETS[ADMIN].encode(), ADMIN)])
        self.host.start()

    def ask(self, method: str, path: str, body: Any, then: Callable[[Answer], None]) -> None:
        """Answer a request some time later, unless the process dies before."""

        async def answer() -> None:
            assert self.service is not None
            headers = {"authorization": f"Bearer {SECRETS[ADMIN]}"}
            mark = object()
            self.waiting[mark] = f"{method} {path} {body}"
            try:
                found = await ask_app(self.service, method, path, body, headers)
            finally:
                del self.waiting[mark]
            then(found)

        self.loop.call_later(self._world.scheduler.delay(), lambda: self.loop.create_task(answer()))


class World:
    """A simulated service with its clients.

    Parameters
    ----------
    seed
        Of everything that happens.

    Attributes
    ----------
    requests, events
        How much happened.
    """

    def __init__(self, seed: int) -> None:
        generator = random.Random(seed)
        self.scheduler = Scheduler(generator)
        self.database = Database()
        self.database.watch = self._watch
        self.is_shared = generator.random() < 0.6
        self.failures = generator.choice([0.0, 0.02, 0.1])
        self.settings = {
            name: self._settings(name)
            for name in ("one", "two", "three")[: generator.randint(2, 3)]
        }
        self.oracles: dict[str, Oracle] = {}
        self.processes: list[Process] = []
        self.acknowledged: dict[str, tuple[str, str]] = {}
        self.reported: dict[str, float] = {}
        self.broken: list[str] = []
        self.requests = 0
        self._clients_left = 0
        self._backup: tuple[Any, dict[str, int], dict[str, Any]] | None = None
        self._client_loop = self.scheduler.new_loop()

    @property
    def events(self) -> int:
        """How many events were kept."""
        return sum(len(oracle.events) for oracle in self.oracles.values())

    def run(self) -> None:
        """Play everything, and raise `BrokenError` if something does not hold."""
        rolling = self.scheduler.random
        with self._logged():
            for _ in range(rolling.randint(1, 3) if self.is_shared else 1):
                self.processes.append(Process(self))
            self._clients_left = rolling.randint(2, 5)
            for number in range(self._clients_left):
                Client(self, self._client_loop, f"client {number}", rolling.randint(15, 40)).start()
            self._client_loop.call_later(rolling.random() * 5, self._trouble)
            self.scheduler.run(self._is_over, until=2_000.0)
            self._require(not self.broken, "; ".join(self.broken))
            self._require(self._clients_left == 0, "clients wait for answers that never come")
            self._settle()
            self._check_quiet()

    def client_is_done(self) -> None:
        """Count a client that has had its answers."""
        self._clients_left -= 1

    def pick(self) -> Process | None:
        """Return a process to ask, if one is alive."""
        return self.scheduler.random.choice(self.processes) if self.processes else None

    def note(self, what: str) -> None:
        """Remember that something does not hold."""
        self.broken.append(what)

    def _is_over(self) -> bool:
        return self._clients_left == 0 or bool(self.broken)

    def _trouble(self) -> None:
        """Let something go wrong, and something else later."""
        if self._clients_left == 0:
            return
        rolling = self.scheduler.random
        what = rolling.choice(["kill", "jump", "jump back", "restore", "start", "nothing"])
        if what == "kill" and self.processes:
            self._end(rolling.choice(self.processes))
        elif what == "jump" and self.processes:
            rolling.choice(self.processes).clock_offset = rolling.choice([100.0, DAY, 30 * DAY])
        elif what == "jump back":
            for process in self.processes:
                process.clock_offset = 0.0
        elif what == "restore":
            self._restore()
        if what == "start" or not self.processes:
            self._client_loop.call_later(rolling.random() * 3, self._start)
        self._client_loop.call_later(rolling.random() * 8, self._trouble)

    def _start(self) -> None:
        """Start another process where there may be one more."""
        if len(self.processes) < (3 if self.is_shared else 1):
            self.processes.append(Process(self))

    def _end(self, process: Process) -> None:
        self.processes.remove(process)
        self.scheduler.end(process.loop)

    def _restore(self) -> None:
        """Make a backup, or set the database back to the one that was made."""
        if self._backup is None and len(self.database.content.campaigns()) < len(self.settings):
            return
        if self._backup is None:
            counts = {name: len(oracle.events) for name, oracle in self.oracles.items()}
            self._backup = self.database.copied(), counts, {}
            return
        if not self.is_shared:  # a file is restored while no process has it
            return
        content, counts, _ = self._backup
        self._backup = None
        self.database.restore(content)
        for name, oracle in list(self.oracles.items()):
            again = Oracle(self.settings[name])
            for number, event in enumerate(oracle.events[: counts.get(name, 0)], 1):
                again.take_in(number, event)
            self.oracles[name] = again
        # What was acknowledged behind the copy is lost, and its ids are given out again.
        self.acknowledged = {
            identity: found
            for identity, found in self.acknowledged.items()
            if int(identity.rpartition("-")[2]) <= counts.get(identity.rpartition("-")[0], 0)
        }
        self.reported = {}
        rolling = self.scheduler.random
        # A rolling restart: some processes start again at once, others a good deal later.
        for process in list(self.processes):
            if rolling.random() < 0.5:
                self._end(process)
        for process in list(self.processes):
            self._client_loop.call_later(5 + rolling.random() * 20, self._restart, process)
        self._client_loop.call_later(rolling.random(), lambda: self.processes.append(Process(self)))

    def _restart(self, process: Process) -> None:
        if process in self.processes:
            self._end(process)
            self._start()

    def acknowledge(self, process: Process, identity: str, user: str, arm: str) -> None:
        """Check a decision that a client was answered with."""
        name, _, number = identity.rpartition("-")
        if process.known_epoch != self.database.epoch:
            return  # until it notices, it may repeat what it knows; what it keeps is checked anyway
        found = self.acknowledged.setdefault(identity, (user, arm))
        self._require(found == (user, arm), f"{identity} was given to two: {found}, {user}")
        events = self.oracles[name].events
        kept = events[int(number) - 1] if int(number) <= len(events) else None
        if kept is None or (kept.user, kept.arm) != (user, arm):
            self.note(f"{identity} was acknowledged but is {kept}")

    def _watch(self, campaign: int, number: int, event: Any) -> None:
        name = self.database.content._campaigns[campaign][0]
        oracle = self.oracles.setdefault(name, Oracle(self.settings[name]))
        try:
            oracle.take_in(number, event)
        except BrokenError as broken:
            self.note(f"{name}: {broken}")

    def _settle(self) -> None:
        """Wait until nothing is under way, with clocks that are right and a store that works."""
        for process in self.processes:
            process.clock_offset = 0.0
            process.store.failures = 0.0
        if not self.processes:
            self.processes.append(Process(self))
        for process in self.processes:
            process.store.failures = 0.0
        self.failures = 0.0
        until = self.scheduler.now + QUIET
        self.scheduler.run(lambda: bool(self.broken), until)
        self.scheduler.run(self._is_idle, until + QUIET)

    def _is_idle(self) -> bool:
        """Tell whether no process is writing at this moment."""
        hosts = (process.host for process in self.processes)
        return all(host is not None and host.committer._writing is None for host in hosts)

    def _check_quiet(self) -> None:
        self._require(not self.broken, "; ".join(self.broken))
        for process in self.processes:
            self._require(not process.loop.faults, f"a loop failed: {process.loop.faults}")
            self._require(not process.waiting, f"never answered: {list(process.waiting.values())}")
        for identity, reward in self.reported.items():
            name, _, number = identity.rpartition("-")
            kept = [
                event.reward
                for event in self.oracles[name].events
                if event.kind == "feedback" and event.ref == int(number)
            ]
            self._require(kept == [reward], f"reward {reward} of {identity} is {kept}")
        for record in self.database.content.campaigns():
            self._check_campaign(record)

    def _check_campaign(self, record: Any) -> None:
        events = list(self.database.content.read(record.number))
        name = record.name
        if name not in self.oracles:
            return
        self._require([event for _, event in events] == self.oracles[name].events, "another log")
        content = self.database.content
        loaded = load_state(content, record)
        content._snapshots.pop(record.number, None)
        replayed = load_state(content, record)
        self._require(
            loaded.to_bytes() == replayed.to_bytes(), f"{name}: snapshot and replay differ"
        )
        wait = self.settings[name].get("wait")
        if wait is not None:
            now = START + self.scheduler.now
            overdue = [
                number
                for number, at in self.oracles[name].open_since().items()
                if at + wait < now - 10 and at < now - 10
            ]
            is_ready = any(
                process.host is not None
                and name in process.host.campaigns
                and process.host.committer.failure is None
                for process in self.processes
            )
            self._require(not (overdue and is_ready), f"{name}: {overdue} are overdue")
        for process in self.processes:
            self._check_served(process, name, replayed)

    def _check_served(self, process: Process, name: str, replayed: State) -> None:
        host = process.host
        if host is None or name not in host.campaigns:
            return
        campaign = host.campaigns[name]
        _, overview = overview_of(campaign, process.now())
        self._require(
            len(overview.history) <= MOST_BUCKETS, f"{len(overview.history)} buckets of history"
        )
        self._require(len(campaign.turns) == 0, "turns that nobody has")
        if process.known_epoch == self.database.epoch:
            self._require(host.committer.failure is None, f"not ready: {host.committer.failure}")
        if host.committer.failure is None:  # also where an older copy was restored
            live = campaign.decider.state.to_bytes()
            self._require(live == replayed.to_bytes(), f"{name}: live state and replay differ")

    def _settings(self, name: str) -> dict[str, Any]:
        rolling = self.scheduler.random
        arms = [f"{arm}-{name}" for arm in ARMS]
        is_timed = rolling.random() < 0.3
        rules = rolling.choice(TIME_RULES if is_timed else RULES)
        wait = rolling.choice([None, 5.0, 30.0])
        return {
            "arms": arms,
            "max_delay": 90.0 if is_timed else 3,
            "clock": "time" if is_timed else "rounds",
            "explore": rolling.choice([0.0, 0.3]),
            "wait": wait,
            "default_reward": None if wait is None else rolling.choice([None, 0.0]),
            "rules": _renamed(rules, name),
        }

    def _require(self, holds: bool, what: str) -> None:
        if not holds:
            raise BrokenError(what)

    @contextmanager
    def _logged(self) -> Iterator[None]:
        """Take what the service logs as a fault of its own for broken, unless it was simulated."""
        logger = logging.getLogger("fallow")
        handler = _Faults(self.note)
        logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)


class _Faults(logging.Handler):
    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._note = note

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        is_expected = any(words in message for words in EXPECTED)
        if record.exc_info is not None or not is_expected:
            self._note(f"logged: {message} {record.exc_info and record.exc_info[1]!r}")


class Client:
    """Makes requests one after the other, and repeats those that were not answered."""

    def __init__(self, world: World, loop: Loop, name: str, requests: int) -> None:
        self._world, self._loop, self._name, self._left = world, loop, name, requests
        self._open: list[tuple[str, str]] = []
        self._asked = 0

    def start(self) -> None:
        """Begin, with campaigns that may be there already."""
        self._setup = list(self._world.settings)
        self._loop.call_later(self._world.scheduler.random.random(), self._next)

    def _next(self) -> None:
        rolling = self._world.scheduler.random
        if self._setup:
            name = self._setup.pop()
            self._ask("PUT", f"/v1/campaigns/{name}", self._world.settings[name], self._ignore)
            return
        if self._left == 0:
            self._world.client_is_done()
            return
        self._left -= 1
        name = rolling.choice(list(self._world.settings))
        what = rolling.random()
        if what < 0.5 or not self._open:
            self._decide(name)
        elif what < 0.8:
            self._report(*self._open.pop(rolling.randrange(len(self._open))))
        elif what < 0.88:
            identity, _ = self._open.pop(rolling.randrange(len(self._open)))
            self._ask("POST", f"/v1/decisions/{identity}/cancel", {}, self._ignore)
        elif what < 0.93:
            users = [{"user": f"user {rolling.randrange(4)}"} for _ in range(rolling.randint(1, 5))]
            path = f"/v1/campaigns/{name}/decisions/batch"
            self._ask("POST", path, {"decisions": users}, self._ignore)
        elif what < 0.985:
            arm = rolling.choice(["polka", "jig"])
            method = rolling.choice(["PUT", "DELETE"])
            self._ask(method, f"/v1/campaigns/{name}/arms/{arm}-{name}", None, self._ignore)
        else:
            self._ask("GET", f"/v1/campaigns/{name}", None, self._look)

    def _decide(self, name: str) -> None:
        rolling = self._world.scheduler.random
        self._asked += 1
        user = f"user {rolling.randrange(4)}"
        body = {"user": user}
        if rolling.random() < 0.5:
            body["key"] = f"{self._name} {self._asked}"

        def then(process: Process, answer: Answer) -> None:
            if answer.status in (200, 201):
                found = answer.json
                self._world.acknowledge(process, found["id"], user, found["arm"])
                self._open.append((found["id"], found["arm"]))
            elif answer.status != 409:
                self._world.note(f"decision: {answer}")

        self._ask("POST", f"/v1/campaigns/{name}/decisions", body, then)

    def _report(self, identity: str, arm: str) -> None:
        rolling = self._world.scheduler.random
        reward = 0.0 if arm.startswith("news") else rolling.choice([0.5, 1.0])
        epoch = self._world.database.epoch

        def then(process: Process, answer: Answer) -> None:
            is_fresh = epoch == self._world.database.epoch == process.known_epoch
            if answer.status == 200 and is_fresh:
                self._world.reported[identity] = reward
            elif answer.status == 404 and is_fresh and identity in self._world.acknowledged:
                self._world.note(f"{identity} is unknown")

        self._ask("POST", f"/v1/decisions/{identity}/feedback", {"reward": reward}, then)

    def _look(self, _process: Process, answer: Answer) -> None:
        if answer.status == 200 and len(answer.json["history"]) > MOST_BUCKETS:
            self._world.note("an overview without bounds")

    def _ignore(self, _process: Process, answer: Answer) -> None:
        """Whatever it says is fine, but for a fault."""

    def _ask(
        self, method: str, path: str, body: Any, then: Callable[[Process, Answer], None]
    ) -> None:
        """Ask until there is an answer: another process, or the same again."""
        world, rolling = self._world, self._world.scheduler.random
        process = world.pick()
        if process is None:
            self._loop.call_later(1.0, self._ask, method, path, body, then)
            return
        world.requests += 1
        is_over = False

        def come(answer: Answer) -> None:
            self._loop.call_later(world.scheduler.delay(), take, answer)

        had_noticed = process.has_noticed

        def take(answer: Answer) -> None:
            nonlocal is_over
            if is_over:
                return
            is_over = True
            timer.cancel()
            if had_noticed and method != "GET" and answer.status in (200, 201):
                world.note(f"{method} {path}: answered by a process with a lost history")
            if answer.status >= 500 and answer.status != 503:
                world.note(f"{method} {path}: {answer.status} {answer.body!r}")
            if answer.status == 503:
                self._loop.call_later(rolling.random(), self._ask, method, path, body, then)
                return
            then(process, answer)
            self._loop.call_later(rolling.random() ** 4 * 4, self._next)  # often at once

        def give_up() -> None:
            nonlocal is_over
            is_over = True
            self._ask(method, path, body, then)

        timer = self._loop.call_later(TIMEOUT, give_up)
        process.ask(method, path, body, come)


def _renamed(rules: Any, name: str) -> Any:
    """Return rules for the arms of a campaign, whose names are its own."""
    if isinstance(rules, dict):
        return {
            (f"{key}-{name}" if key in ARMS else key): _renamed(value, name)
            for key, value in rules.items()
        }
    if isinstance(rules, list):
        return [_renamed(value, name) for value in rules]
    return f"{rules}-{name}" if rules in ARMS else rules
