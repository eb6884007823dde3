"""What does handing out runs cost, and what do two workers gain?"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import reduce
from itertools import count
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.ratios import Ratio, in_turns, spread
from benchmarks.section import Section
from fallow.arrays import FloatArray
from fallow.studies.batch import Batch
from fallow.studies.read import load_spec
from fallow.studies.result import Result
from fallow.studies.run import run
from fallow.studies.spec import Spec
from fallow.studies.tally import Tally
from fallow.studies.workers import Workers, cluster_workers, local_workers

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
from fallow.studies.read import load_spec
from fallow.studies.run import run
from fallow.studies.workers import stop_processes
run(load_spec(Path(sys.argv[1])), Path(sys.argv[2]))
status = Path("/proc/self/status").read_text()
print(int(status.partition("VmHWM:")[2].split()[0]) / 1e3)
stop_processes()
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3)
"""


def spec(learner: str, horizon: int, runs: int, folder: Path) -> Path:
    path = folder / f"{learner}-{runs}.toml"
    path.write_text(SPEC.format(learner=learner, horizon=horizon, runs=runs))
    return path


def measure() -> Section:
    """Measure the same runs in a bare loop, by one and two workers here, and on a cluster."""
    rows = []
    for learner, runs in (("low-switch", 5000), ("ranking-ucb", 500)):
        with tempfile.TemporaryDirectory() as folder:
            study = load_spec(spec(learner, 10**6, runs, Path(folder)))
            times = _local_times(study, Path(folder)) | _cluster_times(study, Path(folder))
        bare = times.pop("a bare loop")
        rows.append((f"`{learner}`, {runs:,} runs", "a bare loop", spread(bare), "", ""))
        for name, seconds in times.items():
            ratio = Ratio.of(bare, seconds)
            overhead = 1e6 * (median(seconds) - median(bare)) / runs
            told = f"{overhead:.0f} µs" if "one" in name else ""
            rows.append((f"`{learner}`", name, spread(seconds), str(ratio), told))
        for one, two in (("one worker", "two workers"), ("a cluster of one", "a cluster of two")):
            gain = Ratio.of(times[one], times[two])
            rows.append((f"`{learner}`", f"{two} against {one}", "", str(gain), ""))
    return Section(
        "Many runs: what handing them out costs, and what two workers gain",
        ("study", "played by", "seconds", "times as fast as the bare loop", "overhead a run"),
        rows,
        "Figure 2's instance, seed 3, T = 10^6, 48 checkpoints. The bare loop plays the runs one "
        "after the other and keeps nothing; the others also tally and write what they found. A "
        "cluster is a scheduler and worker processes on this machine, started beforehand, which "
        "share the two cores with the process that hands out the runs. Workers were timed in turns "
        "with the bare loop, the clusters in turns after them, since a cluster slows down all that "
        "is timed beside it.",
    )


def _local_times(study: Spec, folder: Path) -> dict[str, list[float]]:
    with local_workers(1) as one, local_workers(2) as two:
        works = _works(study, {"one worker": one, "two workers": two}, folder / "local")
        works["two workers"]()  # processes are started by then
        return in_turns(works)


def _cluster_times(study: Spec, folder: Path) -> dict[str, list[float]]:
    with cluster_workers("local:1") as one, cluster_workers("local:2") as two:
        crews = {"a cluster of one": one, "a cluster of two": two}
        works = _works(study, crews, folder / "cluster")
        del works["a bare loop"]
        return in_turns(works)


def _works(study: Spec, crews: dict[str, Workers], folder: Path) -> dict[str, Callable[[], object]]:
    alone, number = study.study(), count()

    def bare() -> None:
        for run_number in range(study.runs):
            alone.play(run_number)

    def by(crew: Workers) -> Callable[[], None]:
        return lambda: run(study, folder / str(next(number)), crew)

    return {"a bare loop": bare, **{name: by(crew) for name, crew in crews.items()}}


def measure_adding() -> Section:
    """Measure what the process that hands out the runs has to do for each of them."""
    runs = 2**13
    values = np.random.default_rng(0).random((runs, 4, 1, 48))
    batches = {
        size: [_batch(range(start, start + size), values) for start in range(0, runs, size)]
        for size in (1, 64, 512, 1024)
    }

    def adding(size: int) -> Callable[[], object]:
        return lambda: reduce(lambda whole, batch: whole.add(batch, [0.0]), batches[size], Tally())

    times = in_turns(
        {
            "sort": lambda: np.sort(values, axis=0),
            **{str(size): adding(size) for size in batches},
        }
    )
    rows = []
    for size in map(str, batches):
        ratio = Ratio.of(times["sort"], times[size])
        rows.append((size, f"{1e6 * median(times[size]) / runs:.1f} µs", str(ratio)))
    return Section(
        "Many runs: adding up",
        ("runs of a batch", "for each run", "times as fast as `np.sort` of all values"),
        rows,
        f"{runs:,} runs of one learner, 48 checkpoints, one switching cost: what is left to do for "
        "the process that hands out batches of this size.",
    )


def _batch(runs: range, values: FloatArray) -> Batch:
    """Return made-up totals of some runs."""
    rewards = values[runs.start : runs.stop, 0]
    counts = np.zeros(rewards.shape, np.int64)
    ones = np.ones(len(runs))
    gains = {"ghost": ones, "optimum": ones}
    rounds = np.arange(1, rewards.shape[2] + 1)
    return Batch(
        runs, Result(("one",), tuple(runs), rounds, rewards, counts, counts[:, :, 0], gains), []
    )


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
            size = (Path(folder) / str(runs) / "tally-000.bin").stat().st_size / 1e6
            rows.append((f"{runs:,}", reach, f"{own:.0f}", f"{largest_child:.0f}", f"{size:.1f}"))
    return Section(
        "Many runs: memory",
        ("runs", "Reach", "peak, MB", "peak of a worker process, MB", "tally on disk, MB"),
        rows,
        "`LowSwitch`, T = 10^6, 50 checkpoints, two workers; Figure 2's instance, seed 3.",
    )
