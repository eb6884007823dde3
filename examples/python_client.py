"""A client of `fallow serve` that needs only the standard library: copy it and change it.

    FALLOW_TOKEN_FILE=token python examples/python_client.py morning ann

decides for the user ann in the campaign morning, asks her how she liked it, and reports that.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import sys
import time
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

BUSY = (429, 502, 503, 504)
"""Answers after which the same request may well succeed."""
LONGEST_PAUSE = 10.0


class RefusedError(Exception):
    """The service said no."""


class Client:
    """Asks for decisions and reports what they paid, again and again until it is heard.

    It keeps one connection open, so let each thread have its own client.

    Parameters
    ----------
    url
        Where the service is.
    token
        A token that may write.
    tries
        How often a request is sent, at most.
    pause
        Seconds before the second try, at most; twice as long before each further one. How long it
        really is is drawn at random, so that many clients do not come back all at once.
    timeout
        Seconds to wait for an answer.
    """

    def __init__(
        self, url: str, token: str, tries: int = 7, pause: float = 0.2, timeout: float = 10.0
    ) -> None:
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._connection = kind(parts.netloc, timeout=timeout)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._tries, self._pause = tries, pause

    def decide(self, campaign: str, user: str, key: str | None = None) -> dict[str, Any]:
        """Return what to show to a user: `id`, `arm`, `delay` and `expected`.

        The key is made before the first try. If the answer gets lost, the service knows the
        decision by its key and answers it again. Give your own to be safe from a crash as well.
        """
        body = {"user": user, "key": key or uuid.uuid4().hex}
        return self._post(body, "campaigns", campaign, "decisions")

    def feedback(self, decision: str, reward: float) -> None:
        """Report what a decision paid, from 0 to 1. Saying the same twice does no harm."""
        self._post({"reward": reward}, "decisions", decision, "feedback")

    def cancel(self, decision: str) -> None:
        """Report that what was decided was not shown. Saying it twice does no harm."""
        self._post({}, "decisions", decision, "cancel")

    def close(self) -> None:
        """Close the connection; the next call opens it again."""
        self._connection.close()

    def _post(self, body: dict[str, Any], *names: str) -> dict[str, Any]:
        path = "/".join(["/v1", *(quote(name, safe="") for name in names)])
        for already in range(self._tries):
            if already:
                longest = min(LONGEST_PAUSE, self._pause * 2 ** (already - 1))
                time.sleep(random.uniform(0, longest))
            try:
                self._connection.request("POST", path, json.dumps(body), self._headers)
                response = self._connection.getresponse()
                status, content = response.status, response.read()
            except (OSError, http.client.HTTPException) as error:
                self.close()
                problem: Exception = error
                continue
            if status < 300:
                answer: dict[str, Any] = json.loads(content)
                return answer
            problem = RefusedError(f"status {status}: {content.decode(errors='replace')}")
            if status not in BUSY:
                break
        raise problem


def read_token() -> str:
    """Return the token from FALLOW_TOKEN, or the first one in the file FALLOW_TOKEN_FILE."""
    if token := os.environ.get("FALLOW_TOKEN"):
        return token
    path = Path(os.environ.get("FALLOW_TOKEN_FILE", "token"))
    line, _, _ = path.read_text(encoding="utf-8").partition("\n")
    return line.strip().rpartition(" ")[2]  # without the role, if there is one


def main(campaign: str, user: str) -> None:
    """Decide, ask the person at the terminal, and report."""
    url = os.environ.get("FALLOW_URL", "http://127.0.0.1:8321")
    with closing(Client(url, read_token())) as client:
        decision = client.decide(campaign, user)
        try:
            answer = input(f"{decision['arm']}, for {user}. Do you like it (y or n)? ")
        except EOFError:
            client.cancel(decision["id"])  # nobody is there
        else:
            client.feedback(decision["id"], 1.0 if answer.lower().startswith("y") else 0.0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Decide, ask, and report.")
    parser.add_argument("campaign")
    parser.add_argument("user")
    try:
        main(**vars(parser.parse_args()))
    except (OSError, http.client.HTTPException, RefusedError) as error:
        sys.exit(f"that did not work: {error}")
