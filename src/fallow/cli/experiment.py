"""Specs from the command line, run with a progress bar; slow to import."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from fallow.cli.progress import Bar, stage
from fallow.cli.signals import put_in_order_first
from fallow.studies.read import load_spec
from fallow.studies.run import Watcher, run
from fallow.studies.spec import Spec
from fallow.studies.tally import FAILURES, Failure, Tally
from fallow.studies.workers import Workers


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
    with stage(f"runs of {spec.name}", total, kept) as bar, put_in_order_first():
        screen = Screen(bar)
        run(spec, out / spec.name, workers, rows, screen)
    for point, failure in screen.failures:
        at = "" if point is None else f" --point {point!r}"
        print(
            f"fallow: a run of {spec.name} failed: {failure.message}; to see it alone: "
            f"fallow replay {shlex.quote(str(file))} {failure.run}{at}",
            file=sys.stderr,
        )
    if screen.failed:
        print(
            f"fallow: {screen.failed} of {total} runs of {spec.name} failed, and are missing from "
            f"its curves; to play them again, remove {out / spec.name}",
            file=sys.stderr,
        )
    return screen.failed


class Screen(Watcher):
    """Moves a bar, and keeps what is to be said when it has gone."""

    def __init__(self, bar: Bar) -> None:
        self.bar = bar
        self.failed = 0
        self.failures: list[tuple[float | None, Failure]] = []

    def found(self, point: float | None, tally: Tally) -> None:
        """Start the bar further on."""
        self.bar.found(len(tally), tally.failed)
        self._keep(point, tally)

    def done(self, point: float | None, tally: Tally) -> None:
        """Move the bar."""
        self.bar.advance(len(tally), tally.failed)
        self._keep(point, tally)

    def damaged(self, message: str) -> None:
        """Say what is wrong with a file."""
        print(f"fallow: {message}", file=sys.stderr)

    def _keep(self, point: float | None, tally: Tally) -> None:
        self.failed += tally.failed
        new = [(point, failure) for failure in tally.failures]
        self.failures = [*self.failures, *new][:FAILURES]
