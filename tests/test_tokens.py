"""The file of tokens: what its lines may be, and when tokens expire."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from service_helpers import SECRETS, Asked, ask_app, play

from fallow.errors import InputError
from fallow.live.service.app import Service
from fallow.live.service.tokens import ADMIN, READER, WRITER, Token, read_tokens

SECRET = "s3cret" * 4


def write(folder: Path, *lines: str) -> Path:
    """Write a file that only its owner can read."""
    path = folder / "tokens"
    path.touch(mode=0o600)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_a_line_is_a_token_with_a_role(tmp_path: Path) -> None:
    longest = "a-._~+/=" + "=" * 492
    lines = (SECRET, f"admin {SECRET}1", "", f" writer\t{SECRET}2 ", f"reader {longest}", "x" * 16)
    tokens = read_tokens(write(tmp_path, "# comment", *lines), 0.0)
    assert [token.role for token in tokens] == [ADMIN, ADMIN, WRITER, READER, ADMIN]
    secrets = [SECRET, f"{SECRET}1", f"{SECRET}2", longest, "x" * 16]
    assert [token.secret.decode() for token in tokens] == secrets
    assert not any(token.is_expired for token in tokens)


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("x" * 15, "16 to 500"),
        ("x" * 501, "16 to 500"),
        (f"{SECRET}\u00fc", "16 to 500"),
        (f"{SECRET}=x", "16 to 500"),
        (f" #{SECRET}", "if it is a comment"),
        (f"reader #{SECRET}", "if it is a comment"),
        (f"{SECRET} # whose", "if it is a comment"),
        (f"reader={SECRET}", "looks like another part"),
        (f"Writer:{SECRET}", "looks like another part"),
        (f"ADMIN={SECRET}", "looks like another part"),
        (f"until:{SECRET}", "looks like another part"),
        (f"until={SECRET}", "must end in a date"),
        ("until=2027-01-31T18:00:00", "must be like [reader|writer|admin] TOKEN [until=DATE]"),
        (f"Reader {SECRET}", "must be like"),
        (f"{SECRET} reader", "must be like"),
        (f"reader {SECRET} 2027-01-31", "must be like"),
        (f"reader {SECRET} until=2027-02-29", "must end in a date"),
        (f"reader {SECRET} until=", "must end in a date"),
        (f"reader {SECRET} until=2027-01-31 until=2027-01-31", "must be like"),
        ("reader until=2027-01-31", "must have a token behind its role"),
    ],
)
def test_what_may_be_a_mistake_is_refused(tmp_path: Path, line: str, rule: str) -> None:
    path = write(tmp_path, "# whose", line)
    with pytest.raises(InputError) as caught:
        read_tokens(path, 0.0)
    assert str(caught.value).startswith(f"line 2 of {path} must ")
    assert rule in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_no_token_is_there_twice(tmp_path: Path) -> None:
    path = write(tmp_path, f"reader {SECRET}", "", f"admin {SECRET}")
    with pytest.raises(
        InputError, match=r"^line 3 .* must have a token of its own, got .* line 1$"
    ):
        read_tokens(path, 0.0)


@pytest.mark.parametrize(
    ("until", "last", "over"),
    [
        ("2027-01-31", "2027-01-31T23:59:59+00:00", "2027-02-01T00:00:00+00:00"),
        ("2027-01-31T18:00:00", "2027-01-31T18:00:00+00:00", "2027-01-31T18:00:01+00:00"),
        ("2027-01-31T18:00Z", "2027-01-31T18:00:00+00:00", "2027-01-31T18:00:01+00:00"),
        ("2027-01-31T18:00:00+02:00", "2027-01-31T16:00:00+00:00", "2027-01-31T16:00:01+00:00"),
        ("9999-12-31", "9999-12-31T23:59:59+00:00", None),
        ("2001-01-01", None, "2027-01-31T00:00:00+00:00"),
    ],
)
def test_a_token_expires(tmp_path: Path, until: str, last: str | None, over: str | None) -> None:
    now = datetime.now(UTC)
    path = write(tmp_path, f"reader {SECRET} until={until}", f"{SECRET}2")
    expiring, lasting = read_tokens(path, 0.0, lambda: now.timestamp())
    for moment, expected in ((last, False), (over, True)):
        if moment is not None:
            now = datetime.fromisoformat(moment)
            assert expiring.is_expired == expected
            assert not lasting.is_expired


def test_only_the_right_token_learns_that_it_has_expired() -> None:
    async def scene(asked: Asked) -> None:
        now = [99.0]
        token = Token(SECRET.encode(), READER, until=100.0, clock=lambda: now[0])
        other = Token(SECRETS[ADMIN].encode(), ADMIN)
        service = Service(asked.host, [token, other])
        for moment, status, is_named in ((99.0, 200, False), (101.0, 401, True)):
            now[0] = moment
            for secret in (SECRET, SECRET[:-1]):
                headers = {"authorization": f"Bearer {secret}"}
                answer = await ask_app(service, "GET", "/v1/campaigns", headers=headers)
                is_right = secret == SECRET
                assert answer.status == (status if is_right else 401)
                assert (b"expired" in answer.body) == (is_named and is_right)
                if answer.status == 401:
                    assert answer.headers["www-authenticate"] == "Bearer"
                    assert "s3cret" not in answer.body.decode()

    play(scene)
