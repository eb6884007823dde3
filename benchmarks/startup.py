"""How long does it take to start, for the first time and again?"""

import os
import subprocess
import sys
import tempfile
import time

from benchmarks.section import Section, seconds, spread

PLAN = (
    "import fallow; fallow.plan(fallow.catalog.figure2()); fallow.plan(fallow.catalog.figure2(), 0)"
)


def measure() -> Section:
    numpy = seconds(lambda: python("import numpy"))
    package = seconds(lambda: python("import fallow"))
    usage = seconds(lambda: run([sys.executable, "-m", "fallow.cli", "--help"]))
    cached = seconds(lambda: python(PLAN))
    with tempfile.TemporaryDirectory() as empty:
        start = time.perf_counter()
        python(PLAN, NUMBA_CACHE_DIR=empty)
        compiling = time.perf_counter() - start
    rows = [
        ("`import numpy`, for comparison", "", spread(numpy)),
        ("`import fallow`", "under 0.6 s", spread(package)),
        ("`fallow --help`", "under 0.6 s", spread(usage)),
        ("plan Figure 2 both ways, kernels from the cache", "no recompilation", spread(cached)),
        ("the same with an empty cache: compile everything", "", f"{compiling:.1f} s"),
    ]
    return Section(
        "Start-up",
        ("Process", "Reach", "Measured"),
        rows,
        "Whole processes. That a second process compiles nothing is a test "
        "(`tests/test_kernels.py`).",
    )


def python(code: str, **variables: str) -> None:
    run([sys.executable, "-c", code], **variables)


def run(command: list[str], **variables: str) -> None:
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **variables})
