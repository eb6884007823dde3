"""Every loop that is worth compiling; callers have validated what they pass.

Small work is done by the interpreter, from the very same source and with the very same results: to
compile it takes seconds, and to import the compiler longer than all else. The compiler keeps
machine code on disk beside each file and compiles it again only when that very file changes. So a
kernel and all that it calls live in one file, with the constants that they use; only types are
imported.
"""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property, wraps
from importlib import import_module
from pkgutil import iter_modules
from threading import Event, Lock
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

import numpy as np

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Function = Callable[Parameters, Result]
Scope = dict[str, Any]


class _Watched(logging.Handler):
    """Prints what is logged where somebody sits there and waits: at a terminal or a notebook."""

    def emit(self, record: logging.LogRecord) -> None:
        if sys.stderr and (sys.stderr.isatty() or "ipykernel" in sys.modules):
            print(f"fallow: {record.getMessage()}", file=sys.stderr)


log = logging.getLogger(__name__)
log.setLevel(logging.INFO)
log.addHandler(_Watched())

LIMIT = 200_000
"""Steps that a process leaves to the interpreter, a tenth of a second or two."""
LARGE = 5 * LIMIT
"""Steps of a call up to which it does not wait for a compiler that is being got ready."""
CALL = 10
"""Steps that a call takes beside its work."""
_compiles_here = ContextVar("compiles_here", default=False)


class Interpreter:
    """How many steps the interpreter may still take in this process.

    Attributes
    ----------
    steps
        That number.
    compiler_is_ready
        Cleared while the compiler is being got ready: see `compiler_awaited`.
    """

    def __init__(self, steps: float = LIMIT) -> None:
        self.steps = steps
        self.compiler_is_ready = Event()
        self.compiler_is_ready.set()
        self._lock = Lock()

    def takes(self, work: float) -> bool:
        """Take on a call if its work fits, and count it."""
        if not self.compiler_is_ready.is_set():
            if work <= LARGE:
                return True
            self.compiler_is_ready.wait()
        with self._lock:
            if work > self.steps:
                return False
            self.steps -= work
            return True


class File:
    """The kernels of one file, as functions of the interpreter and as machine code."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.functions: dict[str, FunctionType] = {}
        self.is_compiled = False  # for good
        self._lock = Lock()

    @cached_property
    def interpreted(self) -> Scope:
        """The file's names, with kernels that call each other in the interpreter."""
        return self._linked(lambda function: function)

    @property
    def compiled(self) -> Scope:
        """The file's names, with kernels that are compiled at their first call."""
        with self._lock:
            return self._dispatchers

    @cached_property
    def _dispatchers(self) -> Scope:
        return self._linked(_dispatcher)

    def _linked(self, made: Callable[[FunctionType], Any]) -> Scope:
        """Return the file's names, each kernel made of a function that sees the others so made."""
        scope = dict(self.scope)
        for name, function in self.functions.items():
            scope[name] = made(FunctionType(function.__code__, scope, name, function.__defaults__))
        return scope


INTERPRETER = Interpreter()
FILES: dict[str, File] = {}


def compiled(function: Function[Parameters, Result]) -> Function[Parameters, Result]:
    """Compile a function at its first call, whatever the size of its work.

    Compiled code is cached on disk and runs free of the interpreter's lock.
    """
    return _kernel(function, lambda: np.inf)


def tiered(
    work: Callable[..., float],
) -> Callable[[Function[Parameters, Result]], Function[Parameters, Result]]:
    """Leave a function to the interpreter while its work is small, and else compile it.

    Its file is compiled once its work and all that the interpreter has done in this process come to
    more than LIMIT. Sizes alone decide, no clock and no cache; and either way gives the same bits.

    Parameters
    ----------
    work
        The most passes that the function makes through its inner loops, given those of its
        arguments that are named here.
    """

    def decorate(function: Function[Parameters, Result]) -> Function[Parameters, Result]:
        return _kernel(function, work)

    return decorate


def _kernel(
    function: Function[Parameters, Result], work: Callable[..., float]
) -> Function[Parameters, Result]:
    assert isinstance(function, FunctionType)
    name = function.__name__
    file = FILES.setdefault(function.__module__, File(function.__globals__))
    file.functions[name] = function
    names, asked = _arguments(function), _arguments(work)

    @wraps(function)
    def kernel(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        result: Result
        if not (file.is_compiled or _compiles_here.get()):
            given = {**dict(zip(names, args, strict=False)), **kwargs}
            if INTERPRETER.takes(CALL + work(*(given[each] for each in asked))):
                with np.errstate(all="ignore"):  # as the compiler does
                    result = file.interpreted[name](*args, **kwargs)
                return result
            file.is_compiled = True
        result = file.compiled[name](*args, **kwargs)
        return result

    return kernel


def _arguments(function: Callable[..., Any]) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[: code.co_argcount]


def compile_all() -> None:
    """Compile whatever is called from now on, however small its work."""
    for module in iter_modules(__path__, f"{__name__}."):
        import_module(module.name)
        FILES[module.name].is_compiled = True


@contextmanager
def compiling() -> Iterator[None]:
    """Compile whatever is called in this block, and leave other threads as they are."""
    token = _compiles_here.set(True)
    try:
        yield
    finally:
        _compiles_here.reset(token)


@contextmanager
def compiler_awaited() -> Iterator[None]:
    """Leave small calls to the interpreter in this block, and let larger ones wait for its end.

    Another thread or process gets the compiler ready meanwhile. Each call is judged by its own
    size, up to LARGE, whatever was done before.
    """
    INTERPRETER.compiler_is_ready.clear()
    try:
        yield
    finally:
        INTERPRETER.compiler_is_ready.set()


def _dispatcher(function: FunctionType) -> Any:
    """Return what compiles a function for the types of each call, or finds it in the cache."""
    from numba import njit

    _watch_compiler()
    try:
        return njit(function, cache=True, nogil=True, error_model="numpy")
    except RuntimeError:  # there is no place for a cache that can be written to
        return njit(function, nogil=True, error_model="numpy")


@cache
def _watch_compiler() -> None:
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, compilation: event.Event) -> None:
            if compilation.data["dispatcher"].__module__ in FILES:
                _announce()

        def on_end(self, compilation: event.Event) -> None:
            pass

    event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]


@cache
def _announce() -> None:
    log.info("compiling, once for this machine: up to a minute; `fallow warmup` does it beforehand")
