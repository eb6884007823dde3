"""Every compiled function; callers have validated what they pass.

The compiler keeps machine code on disk beside each file and compiles anew only when that very file
changes, so a kernel and all it calls live in one file.
"""

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

LOCK = Lock()
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def compiled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a function, and all others of its file, when one of them is first called.

    Importing the compiler takes longer than importing everything else, and much that people do
    (`fallow --help`, building instances) calls no kernel. Compiled code is cached on disk and runs
    free of the interpreter's lock.
    """
    scope: dict[str, Any] = function.__globals__
    name = function.__name__

    @wraps(function)
    def kernel(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with LOCK:
            if scope[name] is kernel:
                _compile_all(scope)
        result: Result = scope[name](*args, **kwargs)
        return result

    return kernel


def _compile_all(scope: dict[str, Any]) -> None:
    """Put the compiler's dispatchers in place of a file's kernels, as they call each other."""
    for name, value in scope.items():
        if hasattr(value, "__wrapped__"):
            scope[name] = _dispatcher(value.__wrapped__)


def _dispatcher(function: Callable[..., Any]) -> Any:
    from numba import njit

    try:
        return njit(function, cache=True, nogil=True, error_model="numpy")
    except RuntimeError:  # there is no place for a cache that can be written to
        return njit(function, nogil=True, error_model="numpy")
