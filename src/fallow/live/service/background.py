"""Where and how often the service works beside its requests: threads, tasks and intervals."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

logger = logging.getLogger("fallow.service")

PLANNING_THREADS = 4
"""So that a small campaign does not wait for a large one."""

T = TypeVar("T")


class Intervals(NamedTuple):
    """Seconds from one time to the next, at least.

    Attributes
    ----------
    tick
        Looking for overdue feedback and for events of other processes.
    stream
        Messages of a stream.
    ping
        Comments of a silent stream, so that no proxy takes it for dead.
    overview, plan, rest
        Making an overview, the plan in it, and the verdict on rest.
    """

    tick: float = 1.0
    stream: float = 1.0
    ping: float = 15.0
    overview: float = 0.9
    plan: float = 5.0
    rest: float = 60.0


USUAL_INTERVALS = Intervals()


class Background:
    """Threads and tasks of a service, made on the thread of a running event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._store_thread = ThreadPoolExecutor(1, "store")
        self._planning_threads = ThreadPoolExecutor(PLANNING_THREADS, "plans")
        self._study_thread = ThreadPoolExecutor(1, "studies")
        self._tasks: set[asyncio.Task[None]] = set()

    async def use_store(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in the thread that writes to the store."""
        return await self._loop.run_in_executor(self._store_thread, function, *arguments)

    async def think(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in a thread that plans or loads."""
        return await self._loop.run_in_executor(self._planning_threads, function, *arguments)

    async def study(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a slow function for the page, in a thread of its own."""
        return await self._loop.run_in_executor(self._study_thread, function, *arguments)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task that runs until the service ends."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def abandon(self) -> None:
        """Give up a store that does not answer."""
        self._store_thread.shutdown(wait=False, cancel_futures=True)

    async def cancel_tasks(self) -> None:
        """End all tasks."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def close(self) -> None:
        """End all threads."""
        self._planning_threads.shutdown(wait=False, cancel_futures=True)
        self._study_thread.shutdown(wait=False, cancel_futures=True)
        self._store_thread.shutdown()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a background task failed", exc_info=error)
