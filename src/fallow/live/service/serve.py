"""Starts and ends the service."""

from __future__ import annotations

import gc
from collections.abc import Callable

from fallow.live.service.app import Service
from fallow.live.service.demo import Demo
from fallow.live.service.driver import Driver
from fallow.live.service.listen import Place, listen, run
from fallow.live.service.tokens import Token
from fallow.live.service.warm import warm_up
from fallow.live.stores import Store

YOUNG = 10_000
"""New objects after which the garbage collector looks at them."""


def serve(
    store: Store, tokens: list[Token], place: Place, say: Callable[[str], None], is_demo: bool
) -> None:
    """Serve the campaigns of a store until a signal comes; say the address when all is ready."""
    run(_serve(store, tokens, place, say, is_demo))


async def _serve(
    store: Store, tokens: list[Token], place: Place, say: Callable[[str], None], is_demo: bool
) -> None:
    driver = Driver(store)

    def begin(address: str) -> None:
        if is_demo:
            driver.spawn(Demo(driver).run())
        _spare_the_collector()
        say(address)

    try:
        driver.warming = driver.spawn(warm_up())
        await driver.start()
        service = Service(driver, tokens)
        await listen(service, place, begin, service.drain)
    finally:
        await driver.close()


def _spare_the_collector() -> None:
    """Let the garbage collector leave alone what is there for good, and come less often.

    Going through all that was imported takes it a tenth of a second, in which nobody is answered.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG)
