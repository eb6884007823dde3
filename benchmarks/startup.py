"""How long does it take to start, for the first time and again?"""

import os
import re
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
README = "".join(
    re.findall("```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
)
PLAN = "import fallow; fallow.plan(fallow.catalog.random_geometric(arms=20, max_delay=20))"
COLD_README = "the README's plan, with nothing compiled"
REACHES = {
    "`import fallow`": "under 0.6 s",
    "`fallow --help`": "under 0.6 s",
    COLD_README: "under 1 s",
}


def measure() -> Section:
    return _measured(
        "Start-up",
        {
            "`import fallow`": partial(python, "import fallow"),
            "`fallow --help`": partial(process, [sys.executable, "-m", "fallow", "--help"]),
            COLD_README: partial(compile_anew, README),
            "the README's plan, again": partial(python, README),
            "`plan` of 20 arms with delays to 20, with nothing compiled": partial(
                compile_anew, PLAN
            ),
            "`plan` of 20 arms with delays to 20, again": partial(python, PLAN),
        },
        "Whole processes; with nothing compiled: with an empty cache. The README's plan needs no "
        "compiler at all (`tests/test_tiers.py`). That a second process compiles nothing is a test "
        "(`tests/test_kernels.py`).",
    )


def measure_demo() -> Section:
    return _measured(
        "The demo",
        {"`make demo`": _demo},
        f"Whole processes, {REPEATS} each. `make demo` is `python -m reproduction report` of all "
        "experiments into an empty folder, once the environment is set up and the kernels are in "
        "the cache.",
    )


def _measured(title: str, works: Mapping[str, Callable[[], None]], remark: str) -> Section:
    # The cold processes clear what they need themselves, and the others have run before.
    python(PLAN)
    times = in_turns({NUMPY: partial(python, "import numpy"), **works}, warm=True)
    rows = [
        (name, REACHES.get(name, ""), spread(taken), str(Ratio.of(times[NUMPY], taken)))
        for name, taken in times.items()
    ]
    return Section(
        title, ("Process", "Reach", "Measured", f"times as fast as {NUMPY}"), rows, remark
    )


def python(code: str, **variables: str) -> None:
    """Run code in a new process of the interpreter."""
    process([sys.executable, "-c", code], **variables)


def compile_anew(code: str) -> None:
    """Run code in a new process that finds no compiled kernels."""
    with tempfile.TemporaryDirectory() as empty:
        python(code, NUMBA_CACHE_DIR=empty)


def _demo() -> None:
    """Run what `make demo` runs, but write nothing into the project."""
    experiments = sorted(map(str, (ROOT / "reproduction" / "experiments").glob("*.toml")))
    print("  make demo", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        page, tournament = (
            f"{folder}/reproduction.md",
            str(ROOT / "docs" / "explanation" / "tournament.json"),
        )
        command = [sys.executable, "-m", "reproduction", "report", *experiments, "--out"]
        process([*command, f"{folder}/report", "--reproduction", page, "--tournament", tournament])


def process(command: list[str], **variables: str) -> None:
    """Run a command and wait for it."""
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **variables})
