"""Virtual time, and an event loop for each simulated process."""

from __future__ import annotations

import asyncio
import heapq
import random
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from itertools import count
from typing import Any

SLOWEST = 0.4
"""Seconds that a thread or the network takes at most, mostly far less."""


class Scheduler:
    """Runs the callbacks of several loops, one at a time, in an order that the seed decides.

    Callbacks of one loop run in the order in which they were scheduled, as asyncio runs them.

    Attributes
    ----------
    now
        Virtual seconds since the start.
    """

    def __init__(self, generator: random.Random) -> None:
        self.random = generator
        self.now = 0.0
        self._loops: list[Loop] = []
        self._timers: list[tuple[float, int, asyncio.Handle, Loop]] = []
        self._numbers = count()

    def new_loop(self) -> Loop:
        """Return the loop of a new process."""
        loop = Loop(self)  # type: ignore[abstract]  # files and sockets are not simulated
        self._loops.append(loop)
        return loop

    def end(self, loop: Loop) -> None:
        """Let a process die: nothing of it ever runs again."""
        loop.is_dead = True
        self._loops.remove(loop)

    def at(self, when: float, handle: asyncio.Handle, loop: Loop) -> None:
        """Run a callback at a time."""
        heapq.heappush(self._timers, (when, next(self._numbers), handle, loop))

    def delay(self) -> float:
        """Return how long something takes elsewhere."""
        return self.random.random() ** 4 * SLOWEST

    def run(self, is_over: Callable[[], bool], until: float) -> None:
        """Run until something is so, or a time has come."""
        while not is_over() and self.now < until:
            busy = [loop for loop in self._loops if loop.ready]
            if busy:
                self.random.choice(busy).step()
            elif self._timers:
                self._advance()
            else:
                return

    def _advance(self) -> None:
        when, _, handle, loop = heapq.heappop(self._timers)
        self.now = max(self.now, when)
        if not loop.is_dead and not handle.cancelled():
            loop.ready.append(handle)


class Loop(asyncio.AbstractEventLoop):
    """The event loop of one process, with threads that take virtual time."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._free_at: dict[object, float] = {}
        self.ready: deque[asyncio.Handle] = deque()
        self.is_dead = False
        self.faults: list[dict[str, Any]] = []

    def step(self) -> None:
        """Run one callback."""
        handle = self.ready.popleft()
        if handle.cancelled():
            return
        events._set_running_loop(self)
        try:
            handle._run()
        finally:
            events._set_running_loop(None)

    def time(self) -> float:
        return self._scheduler.now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return not self.is_dead

    def is_closed(self) -> bool:
        return self.is_dead

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.faults.append(context)

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, Any], *, name: object = None, context: Context | None = None
    ) -> asyncio.Task[Any]:
        return asyncio.Task(coro, loop=self, context=context)

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self.ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._scheduler.at(when, handle, self)
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A cancelled timer is skipped when its time has come."""

    async def shutdown_asyncgens(self) -> None:
        """Nothing is left open when a simulation ends."""

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, function: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Call a function some time later, and hand over its result later still.

        In between the process may die. A thread pool of one does one thing after the other.
        """
        future = self.create_future()
        begins = self.time() + self._scheduler.delay()
        if getattr(executor, "_max_workers", 2) == 1:
            begins = max(begins, self._free_at.get(executor, 0.0))
            self._free_at[executor] = begins

        def work() -> None:
            try:
                result, error = function(*args), None
            except Exception as raised:
                result, error = None, raised
            self.call_later(self._scheduler.delay(), finish, result, error)

        def finish(result: Any, error: Exception | None) -> None:
            if future.cancelled():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self.call_at(begins, work)
        return future
