"""No kernel reads or writes beyond its arrays: tests are run once more, with bounds checked."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import python_path


@pytest.mark.slow
def test_every_kernel_keeps_within_its_arrays(tmp_path: Path) -> None:
    tests = Path(__file__).parent
    run = subprocess.run(
        [sys.executable, tests / "bounds_checked.py"],
        env={
            **os.environ,
            "NUMBA_BOUNDSCHECK": "1",
            "NUMBA_CACHE_DIR": str(tmp_path),
            "PYTHONPATH": python_path(),
        },
        cwd=tests.parent,
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    assert "kernels without a call: none" in run.stdout
