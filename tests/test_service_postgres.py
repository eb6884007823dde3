"""Two services on one PostgreSQL: each knows what the other did, and either may be killed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from service_helpers import PATIENCE, SETTINGS, Load, check_log, served, wait_for_rewards

from benchmarks.postgres import Postgres

pytestmark = pytest.mark.slow


def test_each_knows_what_the_other_did(tmp_path: Path, postgres: Postgres) -> None:
    options = ("--store", postgres.emptied())
    decisions = "/v1/campaigns/morning/decisions"
    with served(tmp_path, *options) as one, served(tmp_path, *options) as other:
        assert one.ask("PUT", "/v1/campaigns/morning", SETTINGS).status == 201
        assert other.ask("PUT", "/v1/campaigns/morning", SETTINGS).status == 200
        decided = one.ask("POST", decisions, {"user": "ann", "key": "first"})
        again = other.ask("POST", decisions, {"user": "ann", "key": "first"})
        assert (decided.status, again.status) == (201, 200)
        assert decided.body == again.body
        identity = decided.json["id"]
        path = f"/v1/decisions/{identity}/feedback"
        assert other.ask("POST", path, {"reward": 0.5}).json == {"status": "applied"}
        assert one.ask("POST", path, {"reward": 0.5}).json == {"status": "duplicate"}
        assert one.ask("POST", path, {"reward": 0.6}).status == 409
        second = one.ask("POST", decisions, {"user": "bob"}).json["id"]
        assert other.ask("POST", f"/v1/decisions/{second}/cancel").status == 200
        until = time.monotonic() + PATIENCE
        while one.ask("GET", "/v1/campaigns/morning").json["counts"]["cancelled"] == 0:
            assert time.monotonic() < until
            time.sleep(0.05)


def test_kills_lose_nothing_that_was_acknowledged(tmp_path: Path, postgres: Postgres) -> None:
    options = ("--store", postgres.emptied())
    with served(tmp_path, *options) as one:
        with served(tmp_path, *options) as other:
            assert one.ask("PUT", "/v1/campaigns/morning", SETTINGS).status == 201
            # The same users ask both, so that each gets in the other's way.
            loads = [Load(each, f"client {n}") for each in (one, other) for n in range(3)]
            wait_for_rewards(loads, 200)
            other.process.kill()
        wait_for_rewards(loads, 100)
        postgres.stop("immediate")
        postgres.start()
        wait_for_rewards(loads, 100)
        assert one.ask("GET", "/readyz").status == 200
        one.process.kill()
        one.process.wait(PATIENCE)
        for load in loads:
            load.join(PATIENCE)
    with served(tmp_path, *options) as one, served(tmp_path, *options) as other:
        assert check_log(one, loads) == check_log(other, loads)
