"""What the service refuses, by whom and how: tokens, limits, and bodies that break a rule."""

from __future__ import annotations

import re
from typing import Any

import pytest
from service_helpers import SECRETS, SETTINGS, Asked, counts, play

from fallow.live.service.http import MOST_BODY_BYTES
from fallow.live.service.tokens import ADMIN, READER, WRITER, Token


@pytest.mark.parametrize(
    ("method", "path", "least"),
    [
        ("GET", "/v1/campaigns", READER),
        ("GET", "/v1/campaigns/morning", READER),
        ("GET", "/v1/campaigns/morning/log", READER),
        ("POST", "/v1/campaigns/morning/decisions", WRITER),
        ("POST", "/v1/campaigns/morning/decisions/batch", WRITER),
        ("POST", "/v1/decisions/morning-1/feedback", WRITER),
        ("POST", "/v1/decisions/morning-1/cancel", WRITER),
        ("PUT", "/v1/campaigns/morning", ADMIN),
        ("PUT", "/v1/campaigns/morning/arms/tango", ADMIN),
        ("DELETE", "/v1/campaigns/morning/arms/hymn", ADMIN),
    ],
)
def test_tokens_have_roles(method: str, path: str, least: int) -> None:
    async def scene(asked: Asked) -> None:
        for role, secret in SECRETS.items():
            answer = await asked.ask(method, path, secret=secret)
            assert (answer.status != 403) == (role >= least)
            assert answer.status not in (401, 500)
        for wrong in (None, "", "x", SECRETS[ADMIN][:-1], f"{SECRETS[ADMIN]}x", "\u00fc"):
            refused = await asked.ask(method, path, secret=wrong)
            assert refused.status == 401
            assert refused.headers["www-authenticate"] == "Bearer"
            assert SECRETS[ADMIN][:-1] not in refused.body.decode()

    play(scene)


def test_a_token_has_a_rate() -> None:
    async def scene(asked: Asked) -> None:
        secret = SECRETS[READER]
        answers = [await asked.ask("GET", "/v1/campaigns", secret=secret) for _ in range(30)]
        assert [answer.status for answer in answers[:5]] == [200] * 5
        assert answers[-1].status == 429
        assert answers[-1].headers["retry-after"] == "1"
        assert (await asked.ask("GET", "/v1/campaigns", secret=SECRETS[WRITER])).status == 200

    play(scene, rate=5)


def test_a_cool_down_says_when_to_ask_again() -> None:
    async def scene(asked: Asked) -> None:
        while (refused := await asked.decide()).status == 201:
            pass
        assert refused.status == 409
        assert 1 <= int(refused.headers["retry-after"]) <= 30

    play(scene, clock="time", max_delay=60, rules={"cooldowns": 30})


def test_a_token_may_have_less_than_one_request_a_second() -> None:
    token = Token(b"", READER, rate=0.1)
    assert [token.spend() for _ in range(3)] == [True, False, False]


@pytest.mark.parametrize(
    ("path", "body", "status", "word"),
    [
        ("campaigns/morning/decisions", b"", 400, "truncated"),
        ("campaigns/morning/decisions", b"{", 400, "truncated"),
        ("campaigns/morning/decisions", b"[]", 422, "object"),
        ("campaigns/morning/decisions", b"{}", 422, "user"),
        ("campaigns/morning/decisions", b'{"user": 3}', 422, "str"),
        ("campaigns/morning/decisions", b'{"user": ""}', 422, "empty"),
        ("campaigns/morning/decisions", b'{"user": "a", "kye": "b"}', 422, "kye"),
        ("campaigns/morning/decisions", b'{"user": "a\\u0000"}', 422, "control"),
        ("campaigns/morning/decisions", b'{"user": "a", "key": "\\n"}', 422, "control"),
        ("campaigns/morning/decisions", b'{"user": "a", "key": ""}', 422, "empty"),
        ("campaigns/morning/decisions", b'{"user": "\\ud800 and so on"}', 400, "surrogate"),
        ("campaigns/morning/decisions", b'{"user": "\xff"}', 400, "utf-8"),
        ("campaigns/morning/decisions", b'{"user": "%b"}' % (b"x" * 201), 422, "200"),
        ("campaigns/morning/decisions", b" " * (MOST_BODY_BYTES + 1), 413, "1,000,000"),
        ("campaigns/nosuch/decisions", b'{"user": "a"}', 404, "nosuch"),
        ("campaigns/morning/decisions/batch", b'{"decisions": [{"user": "\\t"}]}', 422, "control"),
        (
            "campaigns/morning/decisions/batch",
            b'{"decisions": [{"user": "a"}, {"user": "b", "key": ""}]}',
            422,
            "empty",
        ),
        ("decisions/morning-1/feedback", b'{"reward": NaN}', 400, "malformed"),
        ("decisions/morning-1/feedback", b'{"reward": 1e999}', 422, "range"),
        ("decisions/morning-1/feedback", b'{"reward": 1.5}', 422, "1.0"),
        ("decisions/morning-1/feedback", b'{"reward": true}', 422, "bool"),
        ("decisions/morning-1/feedback", b'{"reward": 1%b}' % (b"0" * 5000), 422, ""),
        ("decisions/morning-1/feedback", b'{"reward": null}', 422, "null"),
        ("decisions/a/b/feedback", b'{"reward": 1}', 404, "openapi"),
        ("nosuch", b"{}", 404, "openapi"),
    ],
)
def test_what_breaks_a_rule_is_refused(path: str, body: bytes, status: int, word: str) -> None:
    async def scene(asked: Asked) -> None:
        await asked.decide()
        answer = await asked.ask("POST", f"/v1/{path}", body)
        assert answer.status == status, answer.body
        assert answer.headers["content-type"] == "application/json"
        assert word in answer.json["error"]
        assert len(answer.body) < 500
        assert (await counts(asked))["events"] == 1

    play(scene)


@pytest.mark.parametrize(
    "change",
    [
        {"arms": []},
        {"arms": ["a", "a"]},
        {"arms": ["a\u0000"]},
        {"arms": ["a" * 101]},
        {"max_delay": 0},
        {"max_delay": 2.5},
        {"max_delay": 10**40},
        {"max_delay": 10**7},
        {"clock": "sundial"},
        {"default_reward": 0.5},
        {"default_reward": 2, "wait": 1},
        {"wait": -1},
        {"explore": 1.1},
        {"rules": {"cooldowns": {"tango": 3}}},
        {"rules": {"cooldowns": dict.fromkeys("abc", 4)}},
        {"rules": {"nosuch": 3}},
        {"rules": []},
        {"colour": "red"},
    ],
)
def test_settings_that_break_a_rule_are_refused(change: dict[str, Any]) -> None:
    async def scene(asked: Asked) -> None:
        body = {"arms": ["a", "b", "c"], "max_delay": 4, **change}
        answer = await asked.ask("PUT", "/v1/campaigns/evening", body)
        assert answer.status == 422, answer
        assert " must " in answer.json["error"] or "`" in answer.json["error"]
        assert len((await asked.ask("GET", "/v1/campaigns")).json["campaigns"]) == 1

    play(scene)


def test_names_of_campaigns_are_plain() -> None:
    async def scene(asked: Asked) -> None:
        for name in ("-x", "a b", "\u00fc", "x" * 101, "a\n"):
            answer = await asked.ask("PUT", f"/v1/campaigns/{name}", SETTINGS)
            assert answer.status == 422, name

    play(scene)


def test_a_wrong_method_is_told_the_right_ones() -> None:
    async def scene(asked: Asked) -> None:
        answer = await asked.ask("PATCH", "/v1/campaigns/morning")
        assert answer.status == 405
        assert {"GET", "PUT"} <= set(answer.headers["Allow"].split(", "))
        assert "PUT" in answer.json["error"]
        refused = await asked.ask("GET", "/v1/campaigns/morning/decisions")
        assert (refused.status, refused.headers["Allow"]) == (405, "POST")
        refused = await asked.ask("POST", "/v1/campaigns/morning")
        assert (refused.status, refused.headers["Allow"]) == (405, "GET, HEAD, PUT")

    play(scene)


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_lists_within_lists_are_not_followed_without_end(opening: bytes, closing: bytes) -> None:
    async def scene(asked: Asked) -> None:
        for depth in (*range(300, 1100, 50), 10_000, 400_000 if closing == b"]" else 150_000):
            nested = opening * depth + b"0" + closing * depth
            rules = b'{"arms": ["a"], "max_delay": 2, "rules": {"cooldowns": %b}}' % nested
            answer = await asked.ask("PUT", "/v1/campaigns/evening", rules)
            assert answer.status in (400, 422), (depth, answer)
        assert answer.status == 400
        assert "fewer lists within lists" in answer.json["error"]
        assert (await asked.decide()).status == 201

    play(scene)


@pytest.mark.parametrize("fault", [ValueError("shapes"), RecursionError("maximum recursion depth")])
def test_a_fault_in_a_decision_is_not_the_callers(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fault: Exception
) -> None:
    async def scene(asked: Asked) -> None:
        def fail(*_: object) -> None:
            raise fault

        monkeypatch.setattr(asked.host.campaigns["morning"].decider, "decide", fail)
        answer = await asked.decide()
        assert answer.status == 500
        assert str(fault) not in answer.json["error"]
        assert "Traceback (most recent call last):" in caplog.text
        assert f"{type(fault).__name__}: {fault}" in caplog.text
        caplog.clear()
        body = {"decisions": [{"user": "ann"}]}
        batch = await asked.ask("POST", "/v1/campaigns/morning/decisions/batch", body)
        assert batch.status == 500
        assert f"{type(fault).__name__}: {fault}" in caplog.text

    play(scene)


def test_an_error_of_the_service_is_told_in_its_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(asked: Asked) -> None:
        def fail(*_: object) -> None:
            raise RuntimeError("secret\x1b[31m\nline")

        monkeypatch.setattr(asked.host.campaigns["morning"].decider, "decide", fail)
        answer = await asked.decide()
        assert answer.status == 500
        assert "secret" not in answer.json["error"]
        assert "RuntimeError: secret\\x1b[31m" in caplog.text
        assert "\x1b" not in caplog.text

    play(scene)


def test_the_page_needs_no_token_and_takes_nothing_from_elsewhere() -> None:
    async def scene(asked: Asked) -> None:
        page = await asked.ask("GET", "/", secret=None)
        assert page.headers["content-type"].startswith("text/html")
        scripts = re.findall(rb'src="(/?page/[\w.]+)"', page.body)
        assert scripts
        script = await asked.ask("GET", f"/{scripts[0].decode().lstrip('/')}", secret=None)
        for answer in (page, script):
            assert answer.status == 200
            assert answer.headers["content-security-policy"].startswith("default-src 'self';")
            assert answer.headers["x-content-type-options"] == "nosniff"
        for path in (
            *("/page/../app.py", "/page//etc/passwd", "/page/nosuch.js", "/page/"),
            f"/{scripts[0].decode().lstrip('/')}/",
        ):
            refused = await asked.ask("GET", path, secret=None)
            assert refused.status == 404
            assert "openapi" in refused.json["error"]

    play(scene)
