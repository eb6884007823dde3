"""Who may do what: a file of tokens that only its owner can read.

Each line is a token with at most a role in front and an expiry date behind:

    TOKEN
    admin TOKEN
    writer TOKEN
    reader TOKEN until=2027-01-31
    reader TOKEN until=2027-01-31T18:00:00Z

- Without a role the token is an admin's: it may do everything.
- A token has 16 to 500 letters, digits or -._~+/ and perhaps = at its end, as RFC 6750 writes them.
  Each is in the file once.
- A date lasts until the end of its day. Dates and times are in UTC unless they name an offset.
- Empty lines and lines that begin with # are left out. An indented # is refused.
"""

from __future__ import annotations

import hmac
import math
import os
import re
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from datetime import time as time_of_day
from pathlib import Path

from starlette.exceptions import HTTPException

from fallow import checks
from fallow.errors import InputError

READER, WRITER, ADMIN = range(3)
"""Reads; decides and reports as well; makes campaigns and changes arms as well."""
ROLES = {"reader": READER, "writer": WRITER, "admin": ADMIN}
SHORTEST, LONGEST = 16, 500
"""Characters of a token."""
PLAIN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
ROLE_LIKE = re.compile(rf"({'|'.join(ROLES)}|until)[=:]", re.IGNORECASE)
FORM = f"[{'|'.join(ROLES)}] TOKEN [until=DATE]"
HOW = "make one by: (umask 077; openssl rand -hex 24 > FILE)"


class Token:
    """A secret, its role, and how many requests it may still make at once.

    Parameters
    ----------
    secret
        The token itself.
    role
        One of those above.
    rate
        Requests a second, and as many at once; 0: as many as come.
    until
        When it expires, in seconds since 1970.
    clock
        Returns the time now, in seconds since 1970.

    Examples
    --------
    >>> token = Token(b"0123456789abcdef", READER, until=100.0, clock=lambda: 101.0)
    >>> token.is_expired
    True
    """

    def __init__(
        self,
        secret: bytes,
        role: int,
        rate: float = 0.0,
        until: float = math.inf,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.secret, self.role = secret, role
        self._until, self._clock = until, clock
        self._rate, self._most = rate, max(rate, 1.0)
        self._left, self._at = self._most, time.monotonic()

    @property
    def is_expired(self) -> bool:
        """Whether its time is over."""
        return self._clock() > self._until

    def spend(self) -> bool:
        """Count a request, and tell whether it may be made."""
        if not self._rate:
            return True
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


def find_token(tokens: list[Token], secret: bytes) -> Token | None:
    """Return the token that a client gave; how long this takes does not tell how near it was.

    Raises
    ------
    HTTPException
        If it has expired.
    """
    found = None
    for token in tokens:
        if hmac.compare_digest(token.secret, secret):
            found = token
    if found is not None and found.is_expired:
        raise HTTPException(
            401,
            "the token must not have expired, got one that has; ask for a new one",
            {"www-authenticate": "Bearer"},
        )
    return found


def read_tokens(path: Path, rate: float, clock: Callable[[], float] = time.time) -> list[Token]:
    """Return the tokens in a file, whose format is described above.

    Raises
    ------
    InputError
        If a line breaks a rule, or others may read the file; no message shows any of a token.
    """
    try:
        with path.open(encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode & 0o077
            if mode != 0 and os.name == "posix":  # elsewhere the mode says nothing of others
                raise InputError(
                    str(path),
                    "must be readable by its owner only",
                    f"mode {mode:03o} for others; do: chmod 600 {path}",
                )
            lines = file.read().splitlines()
    except UnicodeDecodeError:
        raise InputError(str(path), "must be text in UTF-8", f"other bytes; {HOW}") from None
    except OSError as error:
        raise InputError(str(path), f"could not be read: {error.strerror}; {HOW}") from None
    tokens: dict[bytes, tuple[int, Token]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        where = f"line {number} of {path}"
        token = _token(where, line, rate, clock)
        first, _ = tokens.setdefault(token.secret, (number, token))
        if first != number:
            raise InputError(where, "must have a token of its own", f"that of line {first}")
    if not tokens:
        raise InputError(str(path), "must hold a token", f"none; {HOW}")
    return [token for _, token in tokens.values()]


def _token(where: str, line: str, rate: float, clock: Callable[[], float]) -> Token:
    """Return the token of a line; no error shows any of it."""
    words = line.split()
    if any(word.startswith("#") for word in words):
        raise InputError(
            where, "must begin with its # if it is a comment; tokens must not begin with #"
        )
    until = _expiry(where, words.pop()) if words[-1].startswith("until=") else math.inf
    role = words.pop(0) if len(words) == 2 else "admin"
    if role not in ROLES or len(words) != 1:
        raise InputError(where, f"must be like {FORM}", "something else")
    (secret,) = words
    if secret in ROLES:
        raise InputError(where, "must have a token behind its role", f"none; {HOW}")
    if ROLE_LIKE.match(secret):
        raise InputError(where, f"must be like {FORM}", "a token that looks like another part")
    if not (SHORTEST <= len(secret) <= LONGEST and PLAIN.fullmatch(secret)):
        raise InputError(
            where,
            f"must have a token of {SHORTEST} to {LONGEST} letters, digits or -._~+/ and perhaps "
            "= at its end",
            f"{checks.count(len(secret))} characters; {HOW}",
        )
    return Token(secret.encode(), ROLES[role], rate, until, clock)


def _expiry(where: str, word: str) -> float:
    """Return the end of a day or a time, in seconds since 1970."""
    text = word.removeprefix("until=")
    try:
        try:
            moment = datetime.combine(date.fromisoformat(text), time_of_day.max)
        except ValueError:
            moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            where,
            "must end in a date or a time like until=2027-01-31 or until=2027-01-31T18:00:00Z",
            "neither",
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
