"""The application: who may call, which call it is, and how errors are answered.

Decisions and feedback, of which there are many, take a short way; all else goes by Starlette.
"""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.routing import Mount, Route, Router
from starlette.types import Message, Receive, Scope, Send

from fallow.live.service.calls import Calls
from fallow.live.service.host import Host
from fallow.live.service.messages import Problem
from fallow.live.service.tokens import ADMIN, READER, WRITER, Token, find_token
from fallow.live.service.web import PAGE, PageFiles, encode, logger, read_body, refusal
from fallow.live.stores import StoreError
from fallow.text import visible

NEEDED = {"GET": READER, "HEAD": READER, "POST": WRITER}
"""The role that a method needs; admin for all others."""
BACKUP = "/v1/backup"
CAMPAIGNS, DECISIONS = "/v1/campaigns/", "/v1/decisions/"
NOWHERE = "the address must be one of those in /openapi.json"


class Service:
    """What uvicorn runs.

    Parameters
    ----------
    host
        Has the campaigns.
    tokens
        Who may call.
    """

    def __init__(self, host: Host, tokens: list[Token]) -> None:
        self._tokens, self._count = tokens, host.metrics.answers
        self._calls = Calls(host)
        self.drain = self._calls.drain
        routes = (
            Route(path.replace("{arm}", "{arm:path}"), endpoint, methods=methods)
            for path, methods, endpoint in self._calls.endpoints()
        )
        self._router = Router(
            [*routes, Mount("/page", PageFiles(directory=PAGE, check_dir=False))],
            redirect_slashes=False,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path, kind = scope["path"], "other"
        try:
            if path.startswith("/v1/"):
                self._admit(scope)
            if scope["method"] == "POST" and path.endswith("/decisions"):
                name = path[len(CAMPAIGNS) : -len("/decisions")]
                if path.startswith(CAMPAIGNS) and "/" not in name:
                    kind = "decision"
                    status, body = await self._calls.decide(name, await read_body(receive))
                    await self._answer(send, kind, status, body)
                    return
            elif scope["method"] == "POST" and path.endswith("/feedback"):
                identity = path[len(DECISIONS) : -len("/feedback")]
                if path.startswith(DECISIONS) and "/" not in identity:
                    kind = "feedback"
                    status, body = await self._calls.feedback(identity, await read_body(receive))
                    await self._answer(send, kind, status, body)
                    return
            scope["app"] = self  # so that Starlette raises what it refuses
            await self._router(scope, receive, self._counted(send, kind))
        except Exception as error:
            if scope.get("is_streaming"):
                if not isinstance(error, StoreError):
                    raise
                logger.error("a log or stream broke off: %s", visible(str(error)))
                return  # the server cuts the connection, as all other answers would look complete
            status, message, headers = refusal(error, NOWHERE)
            await self._answer(send, kind, status, encode(Problem(message)), headers)

    def _admit(self, scope: Scope) -> None:
        """Check the token of a request, and what it may do."""
        given = b""
        for name, value in scope["headers"]:
            if name == b"authorization":
                given = value
        scheme, _, secret = given.partition(b" ")
        token = find_token(self._tokens, secret.strip()) if scheme.lower() == b"bearer" else None
        if token is None:
            raise HTTPException(
                401,
                "a request must have the header 'Authorization: Bearer TOKEN' with a known token",
                {"www-authenticate": "Bearer"},
            )
        needed = ADMIN if scope["path"] == BACKUP else NEEDED.get(scope["method"], ADMIN)
        if token.role < needed:
            raise HTTPException(403, "the role of this token does not allow this request")
        if not token.spend():
            raise HTTPException(
                429,
                "too many requests with this token; the limit is set by --rate",
                {"retry-after": "1"},
            )

    def _counted(self, send: Send, kind: str) -> Send:
        """Return a way to send that counts answers."""

        async def send_and_count(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._count[kind, message["status"]] += 1
            await send(message)

        return send_and_count

    async def _answer(
        self,
        send: Send,
        kind: str,
        status: int,
        body: bytes,
        headers: dict[str, str] | None = None,
    ) -> None:
        self._count[kind, status] += 1
        lines = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
        ]
        if headers:
            lines += [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": lines})
        await send({"type": "http.response.body", "body": body})
