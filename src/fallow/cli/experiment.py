"""Specs from the command line, run with a progress bar; slow to import."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from fallow.cli.progress import Advance, stage
from fallow.cli.signals import put_in_order_first
from fallow.experiments.read import load_spec
from fallow.experiments.run import Watcher, run
from fallow.experiments.spec import Spec
from fallow.experiments.tally import FAILURES, Failure, Tally
from fallow.experiments.workers import Workers


def load_specs(files: Sequence[Path]) -> dict[Path, Spec]:
    """Read all specs before any is run."""
    specs = {file: load_spec(file) for file in files}
    names = [file.stem for file in files]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"FILE must have different names, got {name} twice")
    return specs


def run_spec(
    file: Path, spec: Spec, out: Path, workers: Workers | None = None, rows: bool = False
) -> int:
    """Run what is missing of an experiment in its folder, and return how many runs failed."""
    total = spec.runs * len(spec.points)
    kept = f"finished runs are kept in {out}, the same command goes on from there"
    with stage(f"runs of {spec.name}", total, kept) as advance, put_in_order_first():
        screen = Screen(advance)
        run(spec, out / spec.name, workers, rows, screen)
    for point, failure in screen.failures[:FAILURES]:
        at = "" if point is None else f" --point {point!r}"
        print(
            f"fallow: a run of {spec.name} failed: {failure.message}; to see it alone: "
            f"fallow replay {shlex.quote(str(file))} {failure.run}{at}",
            file=sys.stderr,
        )
    if screen.failed:
        print(f"fallow: {screen.failed} of {total} runs of {spec.name} failed", file=sys.stderr)
    return screen.failed


class Screen(Watcher):
    """Moves a bar, and keeps what is to be said when it has gone."""

    def __init__(self, advance: Advance) -> None:
        self.advance = advance
        self.failed = 0
        self.failures: list[tuple[float | None, Failure]] = []

    def done(self, point: float | None, runs: int, tally: Tally) -> None:
        """Move the bar."""
        self.advance(runs, tally.failed)
        self.failed += tally.failed
        self.failures += [(point, failure) for failure in tally.failures]

    def damaged(self, message: str) -> None:
        """Say what is wrong with a file."""
        print(f"fallow: {message}", file=sys.stderr)
