"""Who plays the runs of studies: threads, processes, or the machines of a Dask cluster."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
)
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from threading import Thread, current_thread, main_thread
from typing import Any

from fallow import checks
from fallow.errors import InputError
from fallow.source import code_version
from fallow.studies.batch import Batch, check_version, pack, play_batch, play_packed
from fallow.studies.study import Study

IDLE_SECONDS = 60
"""How long processes wait for the next study before they end."""
WATCH_SECONDS = 0.5
"""Between two looks of a worker process whether its parent is still there."""
CONNECT_SECONDS = 5
"""How long to wait for a cluster's scheduler, and for its first worker."""


_started: list[Any] = []
"""Executors whose processes were started here, and may still wait for work."""


@dataclass(frozen=True)
class Workers:
    """Who plays the runs of a study, and how many batches are worked on at a time."""

    executor: Callable[[Study], Executor]
    count: Callable[[], int]

    def submit(self, study: Study, runs: range) -> Future[Batch]:
        """Hand in some runs of a study."""
        executor = self.executor(study)
        if isinstance(executor, ThreadPoolExecutor):
            return executor.submit(play_batch, study, runs)
        with without_ctrl_c():
            return executor.submit(play_packed, pack(study), runs)


@contextmanager
def without_ctrl_c() -> Iterator[None]:
    """Hold Ctrl-C back for a moment, and for good from processes and threads that are started.

    Executors do not survive an exception half-way, and processes leave Ctrl-C to their parent.
    """
    if sys.platform == "win32":  # which has no masks
        yield
        return
    resource_tracker.ensure_running()  # its start would let Ctrl-C through again
    held: list[int] = []
    in_main_thread = current_thread() is main_thread()  # the only one that hears of signals
    if in_main_thread:
        handler = signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if in_main_thread:
            signal.signal(signal.SIGINT, handler)
        for number in held[:1]:
            signal.raise_signal(number)


def start_processes(count: int) -> Executor:
    """Return an executor with `count` processes: that of the last study, if it still waits."""
    from loky import get_reusable_executor  # slow to import

    with without_ctrl_c():
        executor: Executor = get_reusable_executor(
            count, timeout=IDLE_SECONDS, initializer=_prepare_process, initargs=(os.getpid(),)
        )
    if executor not in _started:
        _started.append(executor)
    return executor


def stop_processes(executors: Collection[Any] | None = None) -> None:
    """Kill the processes of some executors, or all that were started, whatever they do."""
    for executor in list(_started if executors is None else executors):
        executor.shutdown(wait=True, kill_workers=True)
        if executor in _started:
            _started.remove(executor)


def _prepare_process(parent: int) -> None:
    """End when the parent process ends or is killed."""

    def end_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH_SECONDS)
        os._exit(1)

    Thread(target=end_with_parent, daemon=True).start()


@contextmanager
def local_workers(count: int | None = None) -> Iterator[Workers]:
    """Work on this machine, with this number of threads or processes; by default one per core.

    Threads play studies whose learners are compiled: their loops run side by side, and threads
    start at once. Learners in plain Python hold the interpreter's lock, so that each needs a
    process of its own. When all went well, processes wait for the next study.
    """
    if count is not None:
        checks.whole_number("workers", count, minimum=1)
    number = count or cores()
    threads, processes = ThreadPoolExecutor(number), set[Executor]()
    is_child = multiprocessing.parent_process() is not None

    def executor(study: Study) -> Executor:
        # A daemonic process may have no children.
        if number == 1 or study.is_compiled or multiprocessing.current_process().daemon:
            return threads
        executor = start_processes(number)
        processes.add(executor)
        return executor

    try:
        yield Workers(executor, lambda: number)
    except BaseException as error:
        # A thread ends with its batch, for which nobody waits; processes are killed.
        threads.shutdown(wait=False, cancel_futures=True)
        stop_processes(processes)
        if not isinstance(error, BrokenExecutor):
            raise
        raise OSError(
            "a worker process was ended from outside, most likely for want of memory; start again, "
            "with fewer workers"
        ) from None
    threads.shutdown(wait=False)
    if is_child:  # whose parent would wait for processes that wait
        stop_processes(processes)


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _close(cluster: Any) -> None:
    """End a cluster that was started here, also while one of its workers is being started again."""
    with suppress(AssertionError):  # that it has been, which distributed takes for granted
        cluster.close()


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

    for logger in ("distributed", "distributed.client", "tornado.application"):
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    start_cluster: Any = distributed.LocalCluster  # these two have no types
    connect: Any = distributed.Client
    with ExitStack() as stack:
        scheduler: Any = address
        kind, _, number = address.partition(":")
        if kind == "local":
            if not number.isdecimal() or int(number) < 1:
                raise InputError("cluster", "must be like local:4 or an address", address)
            with ThreadPoolExecutor(1) as starter:
                with without_ctrl_c():
                    started = starter.submit(
                        start_cluster,
                        n_workers=int(number),
                        threads_per_worker=1,
                        dashboard_address="127.0.0.1:0",  # any port, seen from here only
                        silence_logs=logging.CRITICAL,
                    )
                scheduler = started.result()
                stack.callback(_close, scheduler)
        try:
            client = stack.enter_context(connect(scheduler, timeout=CONNECT_SECONDS))
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(
                "cluster",
                "must be the address of a Dask scheduler with workers",
                f"{address}: {error}",
            ) from None
        for worker, version in client.run(code_version, on_error="return").items():
            check_version(code_version(), str(version), worker)
        executor = client.get_executor(pure=False)
        stack.callback(executor.shutdown, wait=False)

        def count() -> int:
            """Return how many threads there are now; while there is none, batches wait."""
            try:
                threads: int = sum(client.nthreads().values())
            except OSError:
                raise CancelledError from None
            return max(1, threads)

        try:
            yield Workers(lambda _: executor, count)
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
