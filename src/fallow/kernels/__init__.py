"""Every compiled function; callers have validated what they pass.

The compiler keeps machine code on disk beside each file and compiles anew only when that very file
changes, so a kernel and all it calls live in one file.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def compiled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a function on its first call, cached on disk, free of the interpreter's lock."""
    compile_lazily = numba.njit(cache=True, nogil=True, error_model="numpy")
    return cast(Callable[Parameters, Result], compile_lazily(function))
