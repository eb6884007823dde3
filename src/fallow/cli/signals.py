"""How Ctrl-C and SIGTERM end a command."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
CLEAR_LINE_SHOW_CURSOR = "\r\x1b[K\x1b[?25h"
"""What a progress bar leaves to be done."""
_consequences: list[Callable[[], str]] = [lambda: ", no file is half written"]


class Ended(BaseException):
    """A signal that was sent while there was something to save first."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number, self.message = number, _message(number)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """End the program at once, with a message, without waiting for runs in other threads.

    An exception would not do: in compiled code and in imports it may be lost, or worse.
    """
    before = {number: signal.signal(number, _end) for number in SIGNALS}
    try:
        yield
    except Ended as ended:
        _exit(ended.number, ended.message)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def consequence(text: Callable[[], str]) -> Iterator[None]:
    """Say in the message what a signal means for the work that is done here."""
    _consequences.append(text)
    try:
        yield
    finally:
        _consequences.pop()


@contextmanager
def raise_at_signals() -> Iterator[None]:
    """Raise `Ended` at the first signal, while the main thread only waits, adds up and writes."""
    before = {number: signal.signal(number, _raise) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _raise(number: int, _frame: FrameType | None) -> NoReturn:
    for each in SIGNALS:
        signal.signal(each, _end)  # the second signal is the last
    raise Ended(number)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    _exit(number, _message(number))


def _message(number: int) -> str:
    return f"fallow: {SIGNALS[signal.Signals(number)]}{_consequences[-1]()}"


def _exit(number: int, message: str) -> NoReturn:
    if sys.stderr.isatty():
        print(CLEAR_LINE_SHOW_CURSOR, end="", file=sys.stderr)
    print(message, file=sys.stderr, flush=True)
    end_process(128 + number)


def end_process(code: int) -> NoReturn:
    """End at once, without waiting for threads, but leave no semaphore of worker processes."""
    if "multiprocessing.util" in sys.modules:
        sys.modules["multiprocessing.util"]._run_finalizers()
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
