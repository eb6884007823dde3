"""The table of calls: everything that clients can ask for, each once.

Routes, roles and the description for OpenAPI are read from it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

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
    StatusAnswer,
)
from fallow.live.service.tokens import ADMIN, READER, WRITER


class Call(NamedTuple):
    """What a method of an address does.

    Attributes
    ----------
    method, path
        The address; {arm} may have slashes, other parts may not.
    endpoint
        The method of `Endpoints` that answers.
    role
        The role that a token needs, None where no token is needed.
    summary
        What the call does.
    answers
        The types of successful answers by status; a text stands for its media type.
    body
        The type of the body, None where there is none.
    metric
        What answers are counted as. A call with a name of its own is frequent, so it takes the
        short way: its endpoint takes the variable part of the path and the body as bytes, and
        returns status and body.
    """

    method: str
    path: str
    endpoint: str
    role: int | None
    summary: str
    answers: dict[int, type | str]
    body: type | None = None
    metric: str = "other"

    @property
    def pattern(self) -> re.Pattern[str]:
        """What matches the whole path of a request."""
        path = self.path.replace("{arm}", "(?P<arm>.*)")
        return re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", path), re.DOTALL)

    @property
    def is_frequent(self) -> bool:
        """Whether it takes the short way."""
        return self.metric != "other"


CALLS = (
    Call(
        "GET",
        "/v1/campaigns",
        "list_campaigns",
        READER,
        "List all campaigns.",
        {200: CampaignsAnswer},
    ),
    Call(
        "GET",
        "/v1/campaigns/{name}",
        "overview",
        READER,
        "Tell all about a campaign.",
        {200: Overview},
    ),
    Call(
        "PUT",
        "/v1/campaigns/{name}",
        "create",
        ADMIN,
        "Make a campaign.",
        {201: CampaignAnswer, 200: CampaignAnswer},
        CampaignBody,
    ),
    Call(
        "POST",
        "/v1/campaigns/{name}/decisions",
        "decide",
        WRITER,
        "Decide what to show a user; under a key that was used before, answer the same.",
        {201: DecisionAnswer, 200: DecisionAnswer},
        DecisionBody,
        metric="decision",
    ),
    Call(
        "POST",
        "/v1/campaigns/{name}/decisions/batch",
        "decide_batch",
        WRITER,
        "Decide for many users.",
        {201: BatchAnswer},
        BatchBody,
    ),
    Call(
        "PUT",
        "/v1/campaigns/{name}/arms/{arm}",
        "add_arm",
        ADMIN,
        "Add an arm, or bring it back.",
        {200: StatusAnswer},
    ),
    Call(
        "DELETE",
        "/v1/campaigns/{name}/arms/{arm}",
        "retire_arm",
        ADMIN,
        "Choose an arm no more.",
        {200: StatusAnswer},
    ),
    Call(
        "GET",
        "/v1/campaigns/{name}/log",
        "log",
        READER,
        "Send events, oldest first, as lines of JSON.",
        {200: "application/jsonl"},
    ),
    Call(
        "GET",
        "/v1/campaigns/{name}/stream",
        "stream",
        READER,
        "Tell all about a campaign whenever it changes.",
        {200: "text/event-stream"},
    ),
    Call(
        "POST",
        "/v1/decisions/{id}/feedback",
        "feedback",
        WRITER,
        "Report the reward of a decision.",
        {200: StatusAnswer},
        FeedbackBody,
        metric="feedback",
    ),
    Call(
        "POST",
        "/v1/decisions/{id}/cancel",
        "cancel",
        WRITER,
        "Say that a decision was not shown.",
        {200: StatusAnswer},
    ),
    Call(
        "GET",
        "/v1/backup",
        "backup",
        ADMIN,
        "Copy the whole store, a file of SQLite.",
        {200: "application/vnd.sqlite3"},
    ),
    Call("GET", "/healthz", "health", None, "Tell whether the process is alive.", {200: Health}),
    Call("GET", "/readyz", "ready", None, "Tell whether events can be kept.", {200: Health}),
    Call("GET", "/metrics", "metrics", None, "Count for Prometheus.", {200: "text/plain"}),
    Call("GET", "/openapi.json", "openapi", None, "Describe this interface.", {200: dict}),
    Call("GET", "/", "page", None, "Show the page.", {200: "text/html"}),
)
"""In the order in which they are described."""
