"""Whatever is read from elsewhere is either right or refused: cases by the thousand, with limits.

`make fuzz` plays ten times as many. A fault names its kind and number; to see it alone:
PYTHONPATH=tests:. python -m fuzzing.runner KIND NUMBER 1
"""

import json
import os
import subprocess
import sys
from random import Random
from typing import Any

import pytest
from fuzzing.states import is_small, play, states
from helpers import python_path
from hypothesis import given, settings
from hypothesis import strategies as st

from fallow.learners import load

CASES = {
    "states": 20_000,
    "trajectories": 5_000,
    "specs": 5_000,
    "instances": 5_000,
    "options": 5_000,
}
"""By night; a tenth of them at other times."""
HANG = 540
"""Seconds after which no end can be expected; a case alone may take two."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
def test_no_case_gets_through_or_hangs(kind: str) -> None:
    count = CASES[kind] if os.environ.get("FALLOW_NIGHTLY") else CASES[kind] // 10
    played = subprocess.run(
        [sys.executable, "-m", "fuzzing.runner", kind, "0", str(count)],
        env={**os.environ, "PYTHONPATH": python_path()},
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


plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
documents = st.recursive(
    plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner), max_leaves=9
)


@settings(max_examples=500)
@given(st.sampled_from(states()), st.data())
def test_a_state_with_anything_in_one_place_is_right_or_refused(
    state: dict[str, Any], data: st.DataObject
) -> None:
    changed = json.loads(json.dumps(state))
    part = data.draw(st.sampled_from(["parameters", "progress"]))
    names = sorted(changed[part])
    if names:
        changed[part][data.draw(st.sampled_from(names))] = data.draw(documents)
    try:
        learner: Any = load(changed)
    except ValueError:
        return
    if is_small(learner):
        play(learner, Random(0))
