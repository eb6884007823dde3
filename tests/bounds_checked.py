"""Runs tests of kernels and learners with bounds checking on, and tells which kernels they missed.

A program of its own: the compiler reads NUMBA_BOUNDSCHECK once, and keeps checked code in the
folder NUMBA_CACHE_DIR.
"""

import importlib
import pkgutil
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
    for module in pkgutil.iter_modules(kernels.__path__):
        scope = vars(importlib.import_module(f"{kernels.__name__}.{module.name}"))
        all_kernels = {
            name: value.py_func if hasattr(value, "py_func") else value.__wrapped__
            for name, value in scope.items()
            if hasattr(value, "py_func") or hasattr(value, "__wrapped__")
        }
        waiting = [name for name in all_kernels if getattr(scope[name], "signatures", [])]
        used: set[str] = set()
        while waiting:
            name = waiting.pop()
            used.add(name)
            calls = all_kernels[name].__code__.co_names
            waiting += [each for each in calls if each in all_kernels and each not in used]
        found += [f"{module.name}.{name}" for name in all_kernels if name not in used]
    return found


if __name__ == "__main__":
    with pytest.raises(IndexError):  # else nothing is checked
        own_delays(np.array([10**9]), 1)
    tests = Path(__file__).parent
    files = [str(tests / name) for name in FILES]
    failed = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", *files])
    missed = unused()
    print("kernels without a call:", ", ".join(missed) or "none")
    sys.exit(int(failed) or len(missed))
