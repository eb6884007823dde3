"""Getting the compiler ready beside the service, which answers small requests meanwhile."""

from __future__ import annotations

import asyncio
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from fallow import kernels
from fallow.live.trial import compile_decisions
from fallow.machine_code import has_machine_code, keep_stamp

MOST_CELLS = 160
"""Arms x delays of a campaign whose calls are all small enough for the interpreter."""
NICENESS = 10
"""How far the process that compiles stands back behind the service."""


def needs_compiler(arms: int, columns: int) -> bool:
    """Tell whether a campaign is to wait until the compiler is ready.

    Its calls would wait for that themselves, on the event loop, too.

    Examples
    --------
    >>> needs_compiler(arms=3, columns=11), needs_compiler(arms=1000, columns=11)
    (False, True)
    """
    return arms * columns > MOST_CELLS


async def warm_up() -> None:
    """Get the compiler ready; another process fills its cache first, unless that is full.

    Until then small calls are left to the interpreter, and larger ones wait.
    """
    thread = ThreadPoolExecutor(1, "compiler")  # of its own: calls that wait may fill all others
    try:
        with kernels.compiler_awaited():
            if not has_machine_code():
                with suppress(OSError):  # no process can be had: then it is compiled here
                    await _run(sys.executable, "-P", "-m", __name__)
            await asyncio.get_running_loop().run_in_executor(thread, compile_decisions)
    finally:
        thread.shutdown(wait=False)


async def _run(*command: str) -> None:
    """Run a process to its end, or kill it if that is not waited for."""
    # Apart from the terminal: Ctrl-C is for the service, which then ends the process quietly.
    process = await asyncio.create_subprocess_exec(*command, start_new_session=True)
    try:
        await process.wait()
    finally:
        with suppress(ProcessLookupError):  # it has ended
            process.kill()
        await process.wait()


def _fill_cache() -> None:
    """Compile all that campaigns call, for the processes to come."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    compile_decisions()
    keep_stamp()


if __name__ == "__main__":
    _fill_cache()
