"""Runs tests of kernels and learners with bounds checking on, and tells which kernels they missed.

A program of its own: the compiler reads NUMBA_BOUNDSCHECK once, and keeps checked code in the
folder NUMBA_CACHE_DIR.
"""

import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import all_kernels, reached

from fallow import kernels
from fallow.kernels.cycles import own_delays

FILES = (
    "test_kernels.py",
    "test_learner_contract.py",
    "test_cycle.py",
    "test_planners.py",
    "test_schedule.py",
    "test_rules.py",
    "test_ruled_schedule.py",
    "test_campaign_rules.py",
    "test_groups.py",
    "test_log.py",
    "test_rest_matters.py",
)


def unused() -> set[str]:
    """Return the kernels that were not compiled for any call, by a test or by another kernel."""
    called = [
        f"{module}.{name}"
        for module, file in kernels.FILES.items()
        for name in file.functions
        if file.compiled[name].signatures
    ]
    return all_kernels() - reached(called)


if __name__ == "__main__":
    kernels.compile_all()  # the interpreter would check bounds anyway, but not of machine code
    with pytest.raises(IndexError):  # else nothing is checked
        own_delays(np.array([10**9]), 1)
    tests = Path(__file__).parent
    files = [str(tests / name) for name in FILES]
    options = ["-q", "-x", "-p", "no:cacheprovider", "-m", "not slow"]
    failed = pytest.main([*options, "--hypothesis-profile", "bounds", *files])
    missed = unused()
    print("kernels without a call:", ", ".join(sorted(missed)) or "none")
    sys.exit(int(failed) or len(missed))
