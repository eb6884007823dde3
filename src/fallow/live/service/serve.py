"""Starts and ends the service."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable

from fallow.live.service.app import Service
from fallow.live.service.demo import Demo
from fallow.live.service.host import Host
from fallow.live.service.listen import Place, listen, run
from fallow.live.service.tokens import Token
from fallow.live.service.warm import warm_up
from fallow.live.stores import Store

SWITCH_SECONDS = 0.0005
"""After this time, a thread that plans lets the event loop go on."""
YOUNG = 10_000
"""New objects after which the garbage collector looks at them."""


def serve(
    store: Store, tokens: list[Token], place: Place, say: Callable[[str], None], is_demo: bool
) -> None:
    """Serve the campaigns of a store until a signal comes; say the address when it listens."""
    run(_serve(store, tokens, place, say, is_demo))


async def _serve(
    store: Store, tokens: list[Token], place: Place, say: Callable[[str], None], is_demo: bool
) -> None:
    host = Host(store)
    service = Service(host, tokens)

    def begin(address: str) -> None:
        host.warming = host.spawn(warm_up())
        host.start()
        if is_demo:
            host.spawn(Demo(host).run())
        host.spawn(_spare_the_collector())
        say(address)

    try:
        await listen(service, place, begin, service.drain)
    finally:
        await host.close()


async def _spare_the_collector() -> None:
    """Let the garbage collector skip what stays for good, and run less often.

    Going through everything that was imported takes it a tenth of a second, in which nobody is
    answered.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG)
    sys.setswitchinterval(SWITCH_SECONDS)  # so that requests do not wait long for a plan
