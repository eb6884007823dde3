"""The service answers requests made at random from its own description as it describes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    allow_header_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from service_helpers import SECRETS, SETTINGS, Process, served

from fallow.live.service.calls import CALLS
from fallow.live.service.openapi import document
from fallow.live.service.tokens import ADMIN

CASES = 5000 if os.environ.get("FALLOW_NIGHTLY") else 200
"""Requests in all, about."""
ENDLESS = "/v1/campaigns/{name}/stream"
EACH = -(-CASES // (len(CALLS) - 1))
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    allow_header_conformance,
]

pytestmark = pytest.mark.slow
schema = schemathesis.openapi.from_dict(document()).exclude(path=ENDLESS)


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with served(tmp_path_factory.mktemp("service")) as process:
        for name in ("0", "morning"):  # "0" is what is made up first
            assert process.ask("PUT", f"/v1/campaigns/{name}", SETTINGS).status == 201
        yield process


@schema.parametrize()
@settings(
    max_examples=EACH,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_answers_are_as_described(case: schemathesis.Case[Any], process: Process) -> None:
    if "name" in case.path_parameters and len(case.path_parameters["name"]) % 2:
        case.path_parameters["name"] = "morning"
    headers = {"Authorization": f"Bearer {SECRETS[ADMIN]}"}
    case.call_and_validate(base_url=process.address, headers=headers, checks=CHECKS)
