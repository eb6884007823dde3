"""Runs tests of kernels and learners with bounds checking on, and tells which kernels they missed.

A program of its own: the compiler reads NUMBA_BOUNDSCHECK once, and keeps checked code in the
folder NUMBA_CACHE_DIR.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

from fallow import kernels
from fallow.kernels.cycles import own_delays

FILES = ("test_kernels.py", "test_learner_contract.py", "test_cycle.py", "test_planners.py")


def unused() -> list[str]:
    """Return the kernels that were not compiled for any call, by a test or by another kernel."""
    found = []
    for module, file in kernels.FILES.items():
        waiting = [name for name in file.functions if file.compiled[name].signatures]
        used: set[str] = set()
        while waiting:
            name = waiting.pop()
            used.add(name)
            calls = file.functions[name].__code__.co_names
            waiting += [each for each in calls if each in file.functions and each not in used]
        found += [f"{module}.{name}" for name in file.functions if name not in used]
    return found


if __name__ == "__main__":
    kernels.compile_all()  # the interpreter would check bounds anyway, but not of machine code
    with pytest.raises(IndexError):  # else nothing is checked
        own_delays(np.array([10**9]), 1)
    tests = Path(__file__).parent
    files = [str(tests / name) for name in FILES]
    failed = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", *files])
    missed = unused()
    print("kernels without a call:", ", ".join(missed) or "none")
    sys.exit(int(failed) or len(missed))
