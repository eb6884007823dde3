"""The page and its answers over HTTP, for this machine only.

A page of another site must neither drive this one nor read it. Nothing is kept here and there is no
one to tell apart, so there is no token: a request must be for a name of this machine, which a name
that an attacker lets point here is not, and a browser must say that it comes from this very page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route, Router
from starlette.types import Receive, Scope, Send

from fallow.explore.answer import answer
from fallow.explore.messages import MOST_DELAY, SliderSettings, Start
from fallow.explore.model import Explored
from fallow.live.service import http
from fallow.live.service.messages import ErrorAnswer
from fallow.live.service.server import Address, listen, run

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
"""Of this machine. Any port will do: a tunnel may have another."""
OWN_PAGE = Path(__file__).parent / "page"
USUAL_DELAY = 12
"""Up to which sliders for delays go, unless the instance has a longer one."""
NOWHERE = "the address must be that of the page, /"

_settings = msgspec.json.Decoder(SliderSettings).decode


class Explorer:
    """What uvicorn runs.

    Parameters
    ----------
    explored
        Where the sliders start.
    """

    def __init__(self, explored: Explored) -> None:
        self._explored = explored
        # One answer at a time to sliders that move, and one to those that rest, which takes longer.
        self._turns = {False: asyncio.Lock(), True: asyncio.Lock()}
        self._threads = ThreadPoolExecutor(len(self._turns))
        self._router = Router(
            [
                Route("/", self._page),
                Route("/start", self._start),
                Route("/answer", self._answer, methods=["POST"]),
                Mount("/page", http.PageFiles(directory=http.PAGE_FOLDER)),
                Mount("/explore", http.PageFiles(directory=OWN_PAGE)),
            ],
            redirect_slashes=False,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            _check_sender(Request(scope))
            scope["app"] = self  # so that Starlette raises what it refuses
            await self._router(scope, receive, send)
        except Exception as error:
            status, message, headers = http.refusal(error, NOWHERE)
            refused = http.json_answer(ErrorAnswer(message), status)
            refused.headers.update(headers)
            await refused(scope, receive, send)

    async def _page(self, _request: Request) -> Response:
        return FileResponse(OWN_PAGE / "index.html", headers=http.PAGE_HEADERS)

    async def _start(self, _request: Request) -> Response:
        explored = self._explored
        usual = min(MOST_DELAY, max(USUAL_DELAY, explored.instance.max_delay))
        rules = [switch.text for switch in explored.switches]
        return http.json_answer(
            Start(list(explored.instance.names), rules, usual, explored.settings)
        )

    async def _answer(self, request: Request) -> Response:
        settings = _settings(await http.read_body(request.receive))
        async with self._turns[settings.thorough]:
            if await request.is_disconnected():  # the sliders have moved on
                return Response(status_code=204)
            work = asyncio.get_running_loop().run_in_executor(
                self._threads, answer, self._explored, settings
            )
            return http.json_answer(await work)


def _check_sender(request: Request) -> None:
    """Refuse requests that are not for this machine, or come from another page."""
    host = request.headers.get("host", "")
    if host.rpartition(":")[0] not in NAMES and host not in NAMES:
        raise HTTPException(403, f"the host must be one of {', '.join(NAMES)}, got another")
    if request.headers.get("origin", f"http://{host}") != f"http://{host}":
        raise HTTPException(403, f"the origin must be http://{host}, got another")


def explore(explored: Explored, port: int, say: Callable[[str], None]) -> None:
    """Serve the page on this machine until a signal comes; say the address when it is there."""

    async def serve() -> None:
        await listen(Explorer(explored), Address(HOST, port), say, drain=lambda: None)

    run(serve())
