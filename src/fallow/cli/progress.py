"""The progress bar of some work, and what Ctrl-C means for it."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from fallow import signals
from fallow.cli.terminal import print_error
from fallow.studies.batch import Failure
from fallow.studies.run import Progress as RunProgress
from fallow.studies.run import Watcher

FAILURES = 20
"""Failed runs that are told one by one."""


class FailuresColumn(ProgressColumn):
    """How many steps failed."""

    def render(self, task: Task) -> Text:
        """Return the number, once there is one."""
        failed = task.fields["failed"]
        return Text(f"{failed:,} failed" if failed else "", style="red")


class RateColumn(ProgressColumn):
    """Steps per second."""

    def render(self, task: Task) -> Text:
        """Return the rate, once there is one."""
        return Text("" if task.speed is None else f"{task.speed:,.1f}/s")


class Bar:
    """A bar with count, rate, time left and failures.

    It goes to standard error, and is not there at all where nobody would see it move.
    """

    def __init__(self, steps: str, total: int) -> None:
        self.done = self._failed = 0
        console = Console(stderr=True)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            RateColumn(),
            TimeRemainingColumn(),
            FailuresColumn(),
        )
        self.progress = Progress(
            *columns, console=console, transient=True, disable=not console.is_terminal
        )
        self._task = self.progress.add_task(steps, total=total, failed=0)

    def found(self, count: int, failed: int = 0) -> None:
        """Take note of steps that were done before; the clock starts anew."""
        self.done += count
        self._failed += failed
        self.progress.reset(self._task, completed=self.done, failed=self._failed)

    def advance(self, count: int, failed: int = 0) -> None:
        """Take note of steps just done."""
        self.done += count
        self._failed += failed
        self.progress.update(self._task, completed=self.done, failed=self._failed)


class Screen(Watcher):
    """Moves a bar, and keeps what is to be said when it has gone."""

    def __init__(self, bar: Bar) -> None:
        self.bar = bar
        self.failed = 0
        self.failures: list[tuple[float | None, Failure]] = []

    def found(self, progress: RunProgress) -> None:
        """Start the bar further on."""
        self.bar.found(progress.runs, progress.failed)
        self._keep(progress)

    def done(self, progress: RunProgress) -> None:
        """Move the bar."""
        self.bar.advance(progress.runs, progress.failed)
        self._keep(progress)

    def damaged(self, message: str) -> None:
        """Say what is wrong with a file."""
        print_error(message)

    def _keep(self, progress: RunProgress) -> None:
        self.failed += progress.failed
        new = [(progress.point, failure) for failure in progress.failures]
        self.failures = [*self.failures, *new][:FAILURES]


@contextmanager
def progress_bar(steps: str, total: int, meaning: str) -> Iterator[Bar]:
    """Show a bar while some work is done; it vanishes when that is over.

    Parameters
    ----------
    steps, total
        What the work consists of, and how many there are.
    meaning
        What Ctrl-C and SIGTERM mean for the work so far.
    """
    bar = Bar(steps, total)
    with (
        signals.consequence(lambda: f" after {bar.done} of {total} {steps}, {meaning}"),
        bar.progress,
    ):
        yield bar
