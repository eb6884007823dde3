"""Starts and ends the service."""

from __future__ import annotations

from collections.abc import Callable

from fallow.live.service.app import Service
from fallow.live.service.demo import Demo
from fallow.live.service.driver import Driver
from fallow.live.service.listen import Place, listen, run
from fallow.live.service.tokens import Token
from fallow.live.stores import Store


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
        say(address)

    try:
        await driver.start()
        service = Service(driver, tokens)
        await listen(service, place, begin, service.drain)
    finally:
        await driver.close()
