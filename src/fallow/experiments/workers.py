"""Who plays the runs of an experiment: threads, processes, or the machines of a cluster."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from threading import Thread
from typing import Any, ParamSpec, TypeVar

from fallow import checks
from fallow.experiments.play import check_version

P = ParamSpec("P")
R = TypeVar("R")

PATIENCE = 3.0
"""Seconds of work by threads after which it is seen whether they stand in each other's way."""
BUSY = 0.75
"""Share of the cores' time below which they do."""
CONNECT_SECONDS = 5
"""How long to wait for a cluster's scheduler, and for its first worker."""


@dataclass(frozen=True)
class Workers:
    """Where tasks are handed in, and how many are worked on at a time, which may change."""

    executor: Executor
    count: Callable[[], int]


class LocalWorkers(Executor):
    """Threads at first; processes from when threads are seen to stand in each other's way.

    Compiled learners run side by side in threads, which start at once. Learners in plain Python
    hold Python's lock, so that threads keep no more than one core busy; that is measured, and
    processes take over.
    """

    def __init__(self, count: int) -> None:
        self.kind = "threads"
        self._count = count
        self._executor: Executor = ThreadPoolExecutor(count)
        self._window: tuple[float, float] | None = None
        self._others = set(multiprocessing.active_children())

    def submit(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Hand in a task."""
        if self.kind == "threads" and self._threads_are_in_the_way():
            self._executor.shutdown(wait=False)  # what was handed in is still done
            self._executor = self._started_processes()
            self.kind = "processes"
        future = self._executor.submit(function, *args, **kwargs)
        if self._window is None:  # the first task may compile, which says nothing of the others
            future.add_done_callback(lambda _: self._open_window())
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks."""
        self._executor.shutdown(wait=wait, cancel_futures=cancel_futures)

    def abandon(self) -> None:
        """End at once: processes are ended, and nobody waits for runs under way in threads."""
        for process in set(multiprocessing.active_children()) - self._others:
            process.terminate()
        self.shutdown(wait=self.kind == "processes", cancel_futures=True)

    def _started_processes(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        executor = ProcessPoolExecutor(self._count, context, _end_with_parent)
        with _ignored_by_children(signal.SIGINT):
            for _ in range(self._count):  # a process is started for each
                executor.submit(int)
        return executor

    def _open_window(self) -> None:
        self._window = time.monotonic(), time.process_time()

    def _threads_are_in_the_way(self) -> bool:
        if self._window is None or time.monotonic() - self._window[0] < PATIENCE:
            return False
        opened, worked = self._window
        share = (time.process_time() - worked) / (time.monotonic() - opened)
        self._open_window()
        return share < BUSY * min(self._count, os.cpu_count() or 1)


def _end_with_parent() -> None:
    """End this process when the one that started it ends, even if that is killed."""

    def wait() -> None:
        parent = multiprocessing.parent_process()
        assert parent is not None
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()


@contextmanager
def local_workers(count: int | None = None) -> Iterator[Workers]:
    """Work on this machine, with one worker a core by default."""
    if count is not None:
        checks.whole_number("workers", count, minimum=1)
    threads = count or os.cpu_count() or 1
    executor = LocalWorkers(threads)
    try:
        yield Workers(executor, lambda: threads)
    finally:
        executor.abandon()


@contextmanager
def cluster_workers(address: str) -> Iterator[Workers]:
    """Work on a Dask cluster (extra `cluster`).

    Parameters
    ----------
    address
        Of the scheduler, such as tcp://10.0.0.1:8786; or local:4 for a cluster of four processes
        that is started on this machine, and ends with the work.
    """
    import distributed  # slow to import, and seldom needed

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    start_cluster: Any = distributed.LocalCluster  # these two have no types
    connect: Any = distributed.Client
    with ExitStack() as stack:
        scheduler: Any = address
        kind, _, number = address.partition(":")
        if kind == "local":
            if not number.isdecimal() or int(number) < 1:
                raise ValueError(f"cluster must be like local:4 or an address, got {address}")
            with _ignored_by_children(signal.SIGINT):
                started = start_cluster(
                    n_workers=int(number),
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",  # any port, seen from here only
                    silence_logs=logging.CRITICAL,
                )
            scheduler = stack.enter_context(started)
        try:
            client = stack.enter_context(connect(scheduler, timeout=CONNECT_SECONDS))
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except (OSError, ValueError, TimeoutError) as error:
            raise ValueError(
                f"cluster must be the address of a Dask scheduler with workers, got {address}: "
                f"{error}"
            ) from None
        for worker, found in client.run(version, "fallow", on_error="return").items():
            check_version(version("fallow"), str(found), worker)
        executor = client.get_executor(pure=False)
        stack.callback(executor.shutdown, wait=False)
        # Workers may come and go; while there is none, tasks wait for the next.
        yield Workers(executor, lambda: max(1, sum(client.nthreads().values())))


@contextmanager
def _ignored_by_children(number: signal.Signals) -> Iterator[None]:
    """Leave a signal to this process: those that it starts meanwhile ignore it, as it does."""
    handler = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, handler)
