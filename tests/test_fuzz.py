"""Whatever is read from elsewhere is either right or refused: cases by the thousand, with limits.

`make fuzz` plays ten times as many. A fault names its kind and number; to see it alone:
PYTHONPATH=tests:. python -m fuzzing.runner KIND NUMBER 1
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = {"states": 20_000, "trajectories": 5_000}
"""By night; a tenth of them at other times."""
HANG = 540
"""Seconds after which no end can be expected; a case alone may take two."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
def test_no_case_gets_through_or_hangs(kind: str) -> None:
    count = CASES[kind] if os.environ.get("FALLOW_NIGHTLY") else CASES[kind] // 10
    tests = Path(__file__).parent
    played = subprocess.run(
        [sys.executable, "-m", "fuzzing.runner", kind, "0", str(count)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(tests)])},
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )
    assert played.returncode == 0, f"{kind} crashed: {played.stderr[-300:]}"
    found = json.loads(played.stdout)
    assert found["faults"] == []
    assert sum(found["ends"].values()) == count
    for end in ("read", "refused"):  # else the fuzzer would look at one side only
        assert found["ends"][end] > count / 100
