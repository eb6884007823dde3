"""How Ctrl-C and SIGTERM end a command."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from types import FrameType
from typing import NoReturn

SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
CLEAR_LINE_SHOW_CURSOR = "\r\x1b[K\x1b[?25h"
"""What a progress bar leaves to be done."""
A_MOMENT = 0.05
"""In seconds: after it, a finalizer in which a signal came has ended."""
QUIET_TRACKERS = "ignore:resource_tracker"
"""For the processes that remove a killed program's semaphores: they need not say so."""
_consequences: list[Callable[[], str]] = [lambda: ", no file is half written"]


class Ended(BaseException):
    """A signal that was sent while there was something to save first."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number, self.message = number, _message(number)

    def end(self) -> NoReturn:
        """End the program with the message of the moment of the signal."""
        _exit(self.number, self.message)


def end_at_signals() -> None:
    """Let signals end this program at once, with a message and all its processes.

    An exception would not do: in compiled code and in imports it may be lost, or worse.
    """
    for number in SIGNALS:
        signal.signal(number, _end)
    sys.warnoptions.append(QUIET_TRACKERS)


@contextmanager
def consequence(text: Callable[[], str]) -> Iterator[None]:
    """Say in the message what a signal means for the work that is done here."""
    _consequences.append(text)
    try:
        yield
    finally:
        _consequences.pop()


@contextmanager
def save_at_signals() -> Iterator[None]:
    """Raise `Ended` at the first signal, and end the program when it comes here.

    For work whose main thread only waits, adds up and writes. Those who do the work are not waited
    for: they may never answer.
    """
    before = {number: signal.getsignal(number) for number in SIGNALS}
    unraisable = sys.unraisablehook
    try:
        try:
            _raise_at_signals()
            sys.unraisablehook = _raise_again
            yield
        finally:
            sys.unraisablehook = unraisable
            for number, handler in before.items():
                signal.signal(number, handler)
    except Ended as ended:
        ended.end()


def _raise_at_signals() -> None:
    for number in SIGNALS:
        signal.signal(number, _raise)


def _raise_again(lost: "sys.UnraisableHookArgs") -> None:
    """Repeat a signal that came in a finalizer or the like, from which nothing can be raised."""
    if isinstance(lost.exc_value, Ended):
        _raise_at_signals()
        Timer(A_MOMENT, os.kill, [os.getpid(), lost.exc_value.number]).start()
    else:
        sys.__unraisablehook__(lost)


def _raise(number: int, _frame: FrameType | None) -> NoReturn:
    for each in SIGNALS:
        signal.signal(each, _end)  # the second signal is the last
    raise Ended(number)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    _exit(number, _message(number))


def _message(number: int) -> str:
    return f"fallow: {SIGNALS[signal.Signals(number)]}{_consequences[-1]()}"


def _exit(number: int, message: str) -> NoReturn:
    start = CLEAR_LINE_SHOW_CURSOR if sys.stderr.isatty() else ""
    line = f"{start}{message}\n".encode(sys.stderr.encoding, "backslashreplace")
    with suppress(OSError):
        os.write(sys.stderr.fileno(), line)  # print may be what was interrupted
    end_process(128 + number)


def end_process(code: int) -> NoReturn:
    """End at once, with all processes that were started, and without waiting for threads."""
    with suppress(OSError, RuntimeError):  # RuntimeError: a flush was interrupted
        sys.stdout.flush()
        sys.stderr.flush()
    # Python's own list lacks a process that another thread is just starting. Where there is no
    # /proc, processes see for themselves that they are alone. Resource trackers ignore SIGTERM.
    for children in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):  # a thread or a process that has just ended
            for child in children.read_text().split():
                os.kill(int(child), signal.SIGTERM)
    os._exit(code)
