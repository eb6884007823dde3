"""Compiling beside the service: from the first second on requests are answered, slowly at first."""

from __future__ import annotations

import asyncio
import math
import sys

from fallow import kernels
from fallow.live.desk import Desk
from fallow.live.service.driver import Driver
from fallow.live.settings import Settings
from fallow.live.state import State
from fallow.planners.plan import plan


async def warm_up(driver: Driver) -> None:
    """Leave everything to the interpreter until another process has filled the compiler's cache."""
    kernels.INTERPRETER.steps = math.inf
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", __name__)
    try:
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
    await driver.think(compile_decisions)


def compile_decisions() -> None:
    """Compile all that a campaign calls, or read it from the cache."""
    kernels.compile_all()
    desk = Desk("trial", State(Settings(("hymn", "waltz"), max_delay=2)))
    desk.decide("ann", None, 0.0)
    plan(desk.policy.expected)


if __name__ == "__main__":
    compile_decisions()
