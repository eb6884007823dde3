"""What does handing out runs cost, and what do two workers gain?"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from statistics import median

from benchmarks.ratios import Ratio, in_turns, spread
from benchmarks.section import Section
from fallow.experiments.play import setting_of
from fallow.experiments.read import load_spec
from fallow.experiments.run import run
from fallow.experiments.spec import Spec
from fallow.experiments.workers import PATIENCE, Workers, cluster_workers, local_workers

SPEC = """
horizon = {horizon}
runs = {runs}
seed = 1

[instance]
catalog = "figure2"
seed = 3

[learners.{learner}]
"""
MEMORY = """
import resource, sys
from pathlib import Path
from fallow.experiments.read import load_spec
from fallow.experiments.run import run
if __name__ == "__main__":
    run(load_spec(Path(sys.argv[1])), Path(sys.argv[2]))
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        print(resource.getrusage(who).ru_maxrss / 1e3)
"""


def spec(learner: str, horizon: int, runs: int, folder: Path) -> Path:
    path = folder / f"{learner}-{runs}.toml"
    path.write_text(SPEC.format(learner=learner, horizon=horizon, runs=runs))
    return path


def measure() -> Section:
    """Measure the same runs in a bare loop, by one and two workers here, and on a cluster."""
    rows = []
    for learner, runs in (("low-switch", 5000), ("ranking-ucb", 500)):
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            crews = {
                "one worker": stack.enter_context(local_workers(1)),
                "two workers": stack.enter_context(local_workers(2)),
                "a cluster of one": stack.enter_context(cluster_workers("local:1")),
                "a cluster of two": stack.enter_context(cluster_workers("local:2")),
            }
            study = load_spec(spec(learner, 10**6, runs, Path(folder)))
            own: dict[str, list[float]] = {}
            works = _works(study, crews, Path(folder), own)
            start = time.monotonic()
            while time.monotonic() - start < 3 * PATIENCE:  # who plays is settled by then
                works["two workers"]()
            times = in_turns(works)
        bare = times.pop("a bare loop")
        rows.append((f"`{learner}`, {runs:,} runs", "a bare loop", spread(bare), "", "", ""))
        for name, seconds in times.items():
            ratio = Ratio.of(f"many runs: {learner} by {name}, against a bare loop", bare, seconds)
            overhead = 1e6 * (median(seconds) - median(bare)) / runs
            told = f"{overhead:.0f} µs" if "one" in name else ""
            handing = f"{1e6 * median(own[name]) / runs:.0f} µs" if "cluster" in name else ""
            rows.append((f"`{learner}`", name, spread(seconds), str(ratio), told, handing))
        for one, two in (("one worker", "two workers"), ("a cluster of one", "a cluster of two")):
            ratio = Ratio.of(
                f"many runs: {learner} by {two}, against {one}", times[one], times[two]
            )
            rows.append((f"`{learner}`", f"{two} against {one}", "", str(ratio), "", ""))
    return Section(
        "Many runs: what handing them out costs, and what two workers gain",
        (
            "study",
            "played by",
            "seconds",
            "times as fast as the bare loop",
            "overhead a run",
            "handing out a run",
        ),
        rows,
        "Figure 2's instance, seed 3, T = 10^6, 48 checkpoints. The bare loop plays the runs one "
        "after the other and keeps nothing; the others also tally and write what they found. A "
        "cluster is a scheduler and worker processes on this machine, started beforehand, which "
        "share the two cores with the process that hands out the runs; the last column is the "
        "processor time of that process.",
    )


def _works(
    study: Spec, crews: dict[str, Workers], folder: Path, own: dict[str, list[float]]
) -> dict[str, Callable[[], object]]:
    """Return what is to be timed; `own` is told the processor time of this process."""
    setting, number = setting_of(study), count()

    def bare() -> None:
        for run_number in range(study.runs):
            setting.play(run_number)

    def by(name: str) -> Callable[[], None]:
        def work() -> None:
            start = time.process_time()
            run(study, folder / str(next(number)), crews[name])
            own.setdefault(name, []).append(time.process_time() - start)

        return work

    return {"a bare loop": bare, **{name: by(name) for name in crews}}


def measure_memory() -> Section:
    """Measure the memory of a hundred times as many runs."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "memory.py"
        script.write_text(MEMORY)
        for runs in (10**3, 10**5):
            path = spec("low-switch", 10**6, runs, Path(folder))
            command = [sys.executable, str(script), str(path), str(Path(folder) / str(runs))]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            own, largest_child = map(float, output.split())
            reach = "under 500 MB" if runs == 10**5 else ""
            size = (Path(folder) / str(runs) / "tally-000.npz").stat().st_size / 1e6
            rows.append((f"{runs:,}", reach, f"{own:.0f}", f"{largest_child:.0f}", f"{size:.1f}"))
    return Section(
        "Many runs: memory",
        ("runs", "Reach", "peak, MB", "peak of a worker process, MB", "tally on disk, MB"),
        rows,
        "`LowSwitch`, T = 10^6, 50 checkpoints, two workers; Figure 2's instance, seed 3.",
    )
