"""The progress bar of a stage of work, and what Ctrl-C means for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

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

from fallow.cli import signals


class Advance(Protocol):
    """Is told of steps that were done, some of which may have failed."""

    def __call__(self, count: int, failed: int = 0) -> None:
        """Move the bar."""


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


@contextmanager
def stage(steps: str, total: int, meaning: str) -> Iterator[Advance]:
    """Show a bar with count, rate, time left and failures while a stage of work is done.

    The bar goes to standard error, vanishes when the stage is done, and is not there at all where
    nobody would see it move.

    Parameters
    ----------
    steps, total
        What the work consists of, and how many there are.
    meaning
        What Ctrl-C and SIGTERM mean for the work so far.

    Yields
    ------
    A function to be called with the number of steps just done and, if some failed, how many.
    """
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
        FailuresColumn(),
    )
    progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = progress.add_task(steps, total=total, failed=0)

    def advance(count: int, failed: int = 0) -> None:
        before = progress.tasks[0].fields["failed"]
        progress.update(task, advance=count, failed=before + failed)

    def what_is_done() -> str:
        progress.stop()
        return f" after {progress.tasks[0].completed:.0f} of {total} {steps}, {meaning}"

    with signals.consequence(what_is_done), progress:
        yield advance
