"""How long does it take to start, for the first time and again?"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from benchmarks.ratios import REPEATS, Ratio, in_turns, spread
from benchmarks.section import Section

ROOT = Path(__file__).parent.parent
NUMPY = "`import numpy`"
PLAN = "import fallow; fallow.plan(fallow.catalog.figure2())"
REACHES = {"`import fallow`": "under 0.6 s", "`fallow --help`": "under 0.6 s"}


def measure() -> Section:
    return _measured(
        "Start-up",
        {
            "`import fallow`": partial(_python, "import fallow"),
            "`fallow --help`": partial(_run, [sys.executable, "-m", "fallow.cli", "--help"]),
            "first call, `plan` of Figure 2, from the cache": partial(_python, PLAN),
            "first call, `plan` of Figure 2, compiled": partial(_compile, PLAN),
        },
        "Whole processes; compiled: with an empty cache. That a second process compiles nothing "
        "is a test (`tests/test_kernels.py`).",
    )


def measure_demo() -> Section:
    section = _measured(
        "The demo",
        {"`make demo`": _demo},
        f"Whole processes, {REPEATS} each. `make demo` is `python -m reproduction report` of all "
        "experiments into an empty folder, once the environment is set up and the kernels are in "
        "the cache.",
    )
    return Section(section.title, section.header, section.rows, section.remark)


def _measured(title: str, works: Mapping[str, Callable[[], None]], remark: str) -> Section:
    # The cold processes clear what they need themselves, and the others have run before.
    _python(PLAN)
    times = in_turns({NUMPY: partial(_python, "import numpy"), **works}, warm=True)
    ratios = [
        Ratio.of(f"start-up: {name.replace('`', '')}, against import numpy", times[NUMPY], taken)
        for name, taken in times.items()
        if name != NUMPY
    ]
    shown = ["1", *map(str, ratios)]
    rows = [
        (name, REACHES.get(name, ""), spread(taken), ratio)
        for (name, taken), ratio in zip(times.items(), shown, strict=True)
    ]
    return Section(
        title, ("Process", "Reach", "Measured", f"times as fast as {NUMPY}"), rows, remark, ratios
    )


def _python(code: str, **variables: str) -> None:
    _run([sys.executable, "-c", code], **variables)


def _compile(code: str) -> None:
    with tempfile.TemporaryDirectory() as empty:
        _python(code, NUMBA_CACHE_DIR=empty)


def _demo() -> None:
    """Run what `make demo` runs, but write nothing into the project."""
    experiments = sorted(map(str, (ROOT / "reproduction" / "experiments").glob("*.toml")))
    print("  make demo", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        page, tournament = f"{folder}/reproduction.md", str(ROOT / "docs" / "tournament.json")
        command = [sys.executable, "-m", "reproduction", "report", *experiments, "--out"]
        _run([*command, f"{folder}/report", "--reproduction", page, "--tournament", tournament])


def _run(command: list[str], **variables: str) -> None:
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **variables})
