"""The interface described in the format of OpenAPI, from the table of calls."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import version
from typing import Any

import msgspec

from fallow.live.service.calls import CALLS, Call
from fallow.live.service.messages import ErrorAnswer

REFERENCE = "#/components/schemas/{name}"
AFTER = {
    "name": "after",
    "in": "query",
    "description": "The number of an event; only later ones are sent.",
    "schema": {"type": "integer", "minimum": 0, "maximum": 10**18 - 1},
}


@cache
def document() -> dict[str, Any]:
    """Return the description of all calls."""
    kinds = {kind for call in CALLS for kind in (*call.answers.values(), call.body)}
    types = sorted((kind for kind in kinds if isinstance(kind, type)), key=lambda each: str(each))
    types.append(ErrorAnswer)
    schemas, components = msgspec.json.schema_components(types, ref_template=REFERENCE)
    by_type = dict(zip(types, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for call in CALLS:
        paths.setdefault(call.path, {})[call.method.lower()] = _operation(call, by_type)
    return {
        "openapi": "3.1.0",
        "info": {"title": "fallow", "version": version("fallow")},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(call: Call, by_type: dict[type, Any]) -> dict[str, Any]:
    def content(kind: type | str) -> dict[str, Any]:
        if isinstance(kind, str):
            return {"content": {kind: {"schema": {"type": "string"}}}}
        return {"content": {"application/json": {"schema": by_type[kind]}}}

    refused = {"description": "Refused, and why.", **content(ErrorAnswer)}
    operation: dict[str, Any] = {
        "summary": call.summary,
        "parameters": [
            {
                "name": name,
                "in": "path",
                "required": True,
                "schema": {"type": "string", "minLength": 1},
            }
            for name in re.findall(r"{(\w+)}", call.path)
        ],
        "responses": {
            **{
                str(status): {"description": "Done.", **content(kind)}
                for status, kind in call.answers.items()
            },
            "4XX": refused,
            "503": {**refused, "description": "Nothing was kept, and why; ask again later."},
        },
    }
    if call.endpoint == "log":
        operation["parameters"].append(AFTER)
    if call.role is not None:
        operation["security"] = [{"token": []}]
    if call.body is not None:
        operation["requestBody"] = {"required": True, **content(call.body)}
    return operation
