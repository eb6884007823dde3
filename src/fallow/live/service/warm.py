"""Compiling beside the service: from the first second on requests are answered, slowly at first."""

from __future__ import annotations

import asyncio
import math
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from fallow import kernels
from fallow.live.desk import Desk
from fallow.live.settings import Settings
from fallow.live.state import State
from fallow.planners.plan import plan

if TYPE_CHECKING:
    from fallow.live.service.host import Host


def needs_compiler(arms: int, columns: int) -> bool:
    """Tell whether a table is too large for the interpreter."""
    return arms * columns > 200


async def warm_up(host: Host) -> None:
    """Leave everything to the interpreter until another process has filled the compiler's cache."""
    kernels.INTERPRETER.steps = math.inf
    with suppress(OSError):  # no process can be had: then it is compiled here
        await _run(sys.executable, "-P", "-m", __name__)
    await host.think(compile_decisions)


async def _run(*command: str) -> None:
    """Run a process to its end, or kill it if that is not waited for."""
    # Apart from the terminal: Ctrl-C is for the service, which then ends the process quietly.
    process = subprocess.Popen(command, start_new_session=True)
    try:
        await asyncio.to_thread(process.wait)
    finally:
        process.kill()
        process.wait()


def compile_decisions() -> None:
    """Compile all that a campaign calls, or read it from the cache."""
    kernels.compile_all()
    desk = Desk("trial", State(Settings(("hymn", "waltz"), max_delay=2)))
    desk.plan_now()
    desk.decide("ann", None, 0.0)
    plan(desk.policy.expected)


if __name__ == "__main__":
    compile_decisions()
