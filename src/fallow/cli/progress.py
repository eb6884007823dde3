"""The progress bar of a stage of work, and how the stage ends at Ctrl-C."""

import os
import sys
from collections.abc import Callable, Iterator
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


class RateColumn(ProgressColumn):
    """Steps per second."""

    def render(self, task: Task) -> Text:
        """Return the rate, once there is one."""
        return Text("" if task.speed is None else f"{task.speed:,.1f}/s")


@contextmanager
def stage(steps: str, total: int, consequence: str) -> Iterator[Callable[[int], None]]:
    """Show a bar with count, rate and time left while a stage of work is done.

    The bar goes to standard error, vanishes when the stage is done, and is not there at all where
    nobody would see it move.

    Parameters
    ----------
    steps, total
        What the work consists of, and how many there are.
    consequence
        What Ctrl-C means for the work so far. It ends the program at once, without waiting for runs
        that are under way in other threads.

    Yields
    ------
    A function to be called with the number of steps just done.
    """
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
    )
    progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = progress.add_task(steps, total=total)
    try:
        with progress:
            yield lambda count: progress.advance(task, count)
    except KeyboardInterrupt:
        done = f"{progress.tasks[0].completed:.0f} of {total} {steps}"
        print(f"fallow: interrupted after {done}, {consequence}", file=sys.stderr, flush=True)
        os._exit(130)
