"""The interface described in the format of OpenAPI, from the types of what is sent."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import version
from typing import Any, NamedTuple

import msgspec

from fallow.live.service.messages import (
    BatchAnswer,
    BatchBody,
    CampaignAnswer,
    CampaignBody,
    CampaignsAnswer,
    DecisionAnswer,
    DecisionBody,
    FeedbackBody,
    Health,
    Overview,
    Problem,
    StatusAnswer,
)

REFERENCE = "#/components/schemas/{name}"
AFTER = {
    "name": "after",
    "in": "query",
    "description": "The number of an event; only later ones are sent.",
    "schema": {"type": "integer", "minimum": 0, "maximum": 10**18 - 1},
}


class Call(NamedTuple):
    """What a method of an address does.

    `answers` are the types of successful answers by status; a text stands for its media type.
    """

    summary: str
    answers: dict[int, type | str]
    body: type | None = None


CALLS: dict[str, dict[str, Call]] = {
    "/v1/campaigns": {"GET": Call("List all campaigns.", {200: CampaignsAnswer})},
    "/v1/campaigns/{name}": {
        "GET": Call("Tell all about a campaign.", {200: Overview}),
        "PUT": Call("Make a campaign.", {201: CampaignAnswer, 200: CampaignAnswer}, CampaignBody),
    },
    "/v1/campaigns/{name}/decisions": {
        "POST": Call(
            "Decide what to show a user; under a key that was used before, answer the same.",
            {201: DecisionAnswer, 200: DecisionAnswer},
            DecisionBody,
        )
    },
    "/v1/campaigns/{name}/decisions/batch": {
        "POST": Call("Decide for many users.", {201: BatchAnswer}, BatchBody)
    },
    "/v1/campaigns/{name}/arms/{arm}": {
        "PUT": Call("Add an arm, or bring it back.", {200: StatusAnswer}),
        "DELETE": Call("Choose an arm no more.", {200: StatusAnswer}),
    },
    "/v1/campaigns/{name}/log": {
        "GET": Call("Send events, oldest first, as lines of JSON.", {200: "application/jsonl"})
    },
    "/v1/campaigns/{name}/stream": {
        "GET": Call("Tell all about a campaign whenever it changes.", {200: "text/event-stream"})
    },
    "/v1/decisions/{id}/feedback": {
        "POST": Call("Report the reward of a decision.", {200: StatusAnswer}, FeedbackBody)
    },
    "/v1/decisions/{id}/cancel": {
        "POST": Call("Say that a decision was not shown.", {200: StatusAnswer})
    },
    "/v1/backup": {
        "GET": Call("Copy the whole store, a file of SQLite.", {200: "application/vnd.sqlite3"})
    },
    "/healthz": {"GET": Call("Tell whether the process is alive.", {200: Health})},
    "/readyz": {"GET": Call("Tell whether events can be kept.", {200: Health})},
    "/metrics": {"GET": Call("Count for Prometheus.", {200: "text/plain"})},
    "/openapi.json": {"GET": Call("Describe this interface.", {200: dict})},
    "/": {"GET": Call("Show the page.", {200: "text/html"})},
}


@cache
def document() -> dict[str, Any]:
    """Return the description of all calls."""
    calls = [call for methods in CALLS.values() for call in methods.values()]
    kinds = {kind for call in calls for kind in (*call.answers.values(), call.body)}
    types = sorted((kind for kind in kinds if isinstance(kind, type)), key=lambda each: str(each))
    schemas, components = msgspec.json.schema_components([*types, Problem], ref_template=REFERENCE)
    by_type = dict(zip([*types, Problem], schemas, strict=True))
    return {
        "openapi": "3.1.0",
        "info": {"title": "fallow", "version": version("fallow")},
        "paths": {
            path: {method.lower(): _operation(path, call, by_type) for method, call in each.items()}
            for path, each in CALLS.items()
        },
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(path: str, call: Call, by_type: dict[type, Any]) -> dict[str, Any]:
    def content(kind: type | str) -> dict[str, Any]:
        if isinstance(kind, str):
            return {"content": {kind: {"schema": {"type": "string"}}}}
        return {"content": {"application/json": {"schema": by_type[kind]}}}

    refused = {"description": "Refused, and why.", **content(Problem)}
    operation: dict[str, Any] = {
        "summary": call.summary,
        "parameters": [
            {
                "name": name,
                "in": "path",
                "required": True,
                "schema": {"type": "string", "minLength": 1},
            }
            for name in re.findall(r"{(\w+)}", path)
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
    if path.endswith("/log"):
        operation["parameters"].append(AFTER)
    if path.startswith("/v1/"):
        operation["security"] = [{"token": []}]
    if call.body is not None:
        operation["requestBody"] = {"required": True, **content(call.body)}
    return operation
