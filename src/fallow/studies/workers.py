"""Who plays the runs of an experiment: threads, processes, or the machines of a cluster."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any, ParamSpec, TypeVar

from fallow import checks
from fallow.replicate import cores
from fallow.studies.play import check_version

P = ParamSpec("P")
R = TypeVar("R")

PATIENCE = 3.0
"""Seconds of work by threads after which it is seen whether they stand in each other's way."""
BUSY = 0.75
"""Share of the cores' time below which they do."""
IGNORE_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""Run by the workers of a cluster that is started here: who hands out the work ends them."""
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
        self._count = count
        self._threads = ThreadPoolExecutor(count)
        self._processes: ProcessPoolExecutor | None = None
        self._children: list[BaseProcess] = []
        self._under_way = 0
        self._window: tuple[float, float] | None = None

    @property
    def kind(self) -> str:
        """Who plays what is handed in now."""
        return "threads" if self._processes is None else "processes"

    def submit(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Hand in a task."""
        if self._processes is None and self._threads_are_in_the_way():
            self._start_processes()
        future = (self._processes or self._threads).submit(function, *args, **kwargs)
        self._under_way += 1
        future.add_done_callback(self._note_done)
        return future

    def abandon(self) -> None:
        """Take no more tasks, and let those under way come to nothing.

        Processes are ended; a thread ends with its task, but need not be waited for.
        """
        self._threads.shutdown(wait=False, cancel_futures=True)
        for child in self._children:
            child.terminate()
        if self._processes is not None:
            self._processes.shutdown(cancel_futures=True)

    def _start_processes(self) -> None:
        others = multiprocessing.active_children()
        context = multiprocessing.get_context("spawn")
        self._processes = ProcessPoolExecutor(self._count, context, _prepare_process)
        for _ in range(self._count):  # a process is started for each
            self._processes.submit(int)
        self._children = [each for each in multiprocessing.active_children() if each not in others]

    def _note_done(self, _: Future[Any]) -> None:
        self._under_way -= 1
        if self._window is None:  # the first task may compile, which says nothing of the others
            self._window = time.monotonic(), time.process_time()

    def _threads_are_in_the_way(self) -> bool:
        if self._under_way == 0:
            self._window = None
        if self._window is None or time.monotonic() - self._window[0] < PATIENCE:
            return False
        opened, worked = self._window
        share = (time.process_time() - worked) / (time.monotonic() - opened)
        self._window = time.monotonic(), time.process_time()
        return self._count > 1 and share < BUSY * min(self._count, cores())


def _prepare_process() -> None:
    """Leave Ctrl-C to the process that hands out the work, and end when that ends or is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with_parent() -> None:
        parent = multiprocessing.parent_process()
        assert parent is not None
        parent.join()
        os._exit(1)

    Thread(target=end_with_parent, daemon=True).start()


@contextmanager
def local_workers(count: int | None = None) -> Iterator[Workers]:
    """Work on this machine, with one worker a core by default."""
    if count is not None:
        checks.whole_number("workers", count, minimum=1)
    threads = count or cores()
    executor = LocalWorkers(threads)
    try:
        yield Workers(executor, lambda: threads)
    except BrokenExecutor:
        raise OSError(
            "a worker process was ended from outside, most likely for want of memory; start the "
            "same command again, with fewer workers: it goes on from there"
        ) from None
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

    for logger in ("distributed", "distributed.client"):
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    start_cluster: Any = distributed.LocalCluster  # these two have no types
    connect: Any = distributed.Client
    with ExitStack() as stack:
        scheduler: Any = address
        kind, _, number = address.partition(":")
        if kind == "local":
            if not number.isdecimal() or int(number) < 1:
                raise ValueError(f"cluster must be like local:4 or an address, got {address}")
            started = start_cluster(
                n_workers=int(number),
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",  # any port, seen from here only
                silence_logs=logging.CRITICAL,
                preload=[IGNORE_CTRL_C],
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

        def threads() -> int:
            """Return how many there are now; while there is none, tasks wait for the next."""
            try:
                count: int = sum(client.nthreads().values())
            except OSError:
                raise CancelledError from None
            return max(1, count)

        try:
            yield Workers(executor, threads)
        except distributed.KilledWorker as error:
            raise OSError(
                f"workers were ended by the same runs again and again, most likely for want of "
                f"memory: {error}; give them more, and start the same command again"
            ) from None
        except CancelledError:
            raise OSError(
                "the connection to the cluster was lost; start the same command again when the "
                "cluster is there: it goes on from there"
            ) from None
