"""Who may do what: tokens, one a line in a file that only its owner can read."""

from __future__ import annotations

import hmac
import os
import time
from pathlib import Path

from fallow import checks

READER, WRITER, ADMIN = range(3)
"""Reads; decides and reports as well; makes campaigns and changes arms as well."""
ROLES = {"reader": READER, "writer": WRITER, "admin": ADMIN}
LONGEST = 500
"""Characters of a token."""
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
    """

    def __init__(self, secret: bytes, role: int, rate: float = 0.0) -> None:
        self.secret, self.role = secret, role
        self._rate, self._most = rate, max(rate, 1.0)
        self._left, self._at = self._most, time.monotonic()

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
    """Return the token that a client gave; how long this takes does not tell how near it was."""
    found = None
    for token in tokens:
        if hmac.compare_digest(token.secret, secret):
            found = token
    return found


def read_tokens(path: Path, rate: float) -> list[Token]:
    """Return the tokens in a file: `TOKEN`, or `reader TOKEN`, `writer TOKEN`, `admin TOKEN`.

    Lines that begin with # are left out.
    """
    try:
        with path.open(encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode & 0o077
            if mode != 0 and os.name == "posix":  # elsewhere the mode says nothing of others
                raise ValueError(
                    f"{path} must be readable by its owner only, got mode {mode:03o} for others; "
                    f"do: chmod 600 {path}"
                )
            lines = file.read().splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path} must be text in UTF-8, got other bytes; {HOW}") from None
    except OSError as error:
        raise ValueError(f"{path} could not be read: {error.strerror}; {HOW}") from None
    tokens = [
        _token(f"line {number} of {path}", line, rate)
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.startswith("#")
    ]
    if not tokens:
        raise ValueError(f"{path} must hold a token, got none; {HOW}")
    return tokens


def _token(where: str, line: str, rate: float) -> Token:
    """Return the token of a line; no error shows any of it."""
    *role, secret = line.split()
    if len(role) > 1 or (role and role[0] not in ROLES):
        raise ValueError(f"{where} must be TOKEN, or {', '.join(ROLES)} and a TOKEN, got neither")
    if secret in ROLES:
        raise ValueError(f"{where} must have a token behind its role, got none; {HOW}")
    if not (len(secret) <= LONGEST and secret.isascii() and secret.isprintable()):
        raise ValueError(
            f"{where} must have a token of up to {LONGEST} plain characters, got "
            f"{checks.count(len(secret))}; {HOW}"
        )
    return Token(secret.encode(), ROLES[role[0]] if role else ADMIN, rate)
