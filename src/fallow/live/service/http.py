"""What servers here share: bodies, files of a page, and how errors are answered."""

from __future__ import annotations

import logging
import math
import os
import traceback
from pathlib import Path
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope

from fallow.errors import InputError
from fallow.live.errors import ConflictError, UnknownError
from fallow.live.stores import StoreError
from fallow.text import visible

MOST_BODY_BYTES = 1_000_000
PAGE_FOLDER = Path(__file__).parent / "page"
PAGE_HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
    "accept-ranges": "none",
}

STATUSES = (
    (UnknownError, 404),
    (ConflictError, 409),
    (msgspec.ValidationError, 422),
    (msgspec.DecodeError, 400),
    (UnicodeDecodeError, 400),
    (InputError, 422),
    (StoreError, 503),
)
"""The HTTP status for an error; the first that fits."""
INTERNAL = "an error in the service, which its log tells of; it was not the request's"

encode = msgspec.json.Encoder().encode
logger = logging.getLogger("fallow.service")


class PageFiles(StaticFiles):
    """The files of the page."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Answer a request; a file's name ends without a slash."""
        if scope["path"].endswith("/"):
            raise HTTPException(404)
        return await super().get_response(path, scope)

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """Return a file, with headers that keep everything else out."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(PAGE_HEADERS)
        return response


async def read_body(receive: Receive) -> bytes:
    """Return the body of a request, unless it is too long."""
    message = await receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body", False) and len(body) <= MOST_BODY_BYTES:
        message = await receive()
        body += message.get("body", b"")
    if len(body) > MOST_BODY_BYTES:
        raise HTTPException(413, f"a body must have at most {MOST_BODY_BYTES:,} bytes, got more")
    return body


def json_answer(content: Any, status: int = 200) -> Response:
    """Return content as JSON."""
    return Response(encode(content), status, media_type="application/json")


def refusal(error: Exception, nowhere: str) -> tuple[int, str, dict[str, str]]:
    """Return status, message and headers for an error; `nowhere` is that of unknown addresses."""
    if isinstance(error, HTTPException):
        headers = dict(error.headers or {})
        message = error.detail
        if error.status_code == 404:
            message = nowhere
        elif error.status_code == 405:
            message = f"the method must be one of {headers.get('Allow', 'GET, HEAD')}"
        return error.status_code, message, headers
    if isinstance(error, RecursionError) and "deserializing" in str(error):  # as msgspec says
        error = msgspec.DecodeError("a body must have fewer lists within lists, got too many")
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), 500)
    if status == 500:
        for part in traceback.format_exception(error):
            for line in part.splitlines():
                logger.error(visible(line))
        return status, INTERNAL, {}
    headers = {}
    if isinstance(error, ConflictError) and error.retry_after is not None:
        headers["retry-after"] = str(math.ceil(error.retry_after))
    return status, str(error), headers
