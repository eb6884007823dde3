"""TOML: reading files, where all that is wrong ends in one clear error; and writing values."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from fallow import checks
from fallow.errors import InputError

MAX_BYTES = 2**26
"""Largest file, 64 MiB, which takes a minute to read."""
MAX_DEPTH = 50
"""Most lists and tables within each other, and most dots in a key."""
_TOKENS = re.compile(
    r'''
      """ (?: [^"\\]++ | \\. | "(?!"") )*+ "{0,5}   # strings, which may end early by mistake
    | \'{3} (?: [^\']++ | \'(?!\'\') )*+ \'{0,5}
    | " (?: [^"\\\n]++ | \\. )*+ "?
    | \' [^\'\n]*+ \'?
    | \# [^\n]*+                                   # comments
    | [][{}=,.\n]
    ''',
    re.DOTALL | re.VERBOSE,
)


def read_toml(path: str | Path) -> tuple[str, dict[str, Any]]:
    """Return the text of a TOML file, and the document that it holds.

    Raises
    ------
    OSError
        If the file cannot be opened.
    InputError
        If it is not TOML, too large or too deep.
    """
    try:
        with Path(path).open("rb") as file:
            return _parse(file.read(MAX_BYTES + 1))
    except ValueError as error:
        raise InputError(str(path), f"must be a TOML file: {error}") from None


def parse_toml(content: bytes) -> tuple[str, dict[str, Any]]:
    """Return TOML as text, and the document that it holds; an InputError as for a file."""
    try:
        return _parse(content)
    except ValueError as error:
        raise InputError("text", f"must be TOML: {error}") from None


def _parse(content: bytes) -> tuple[str, dict[str, Any]]:
    checks.at_most("its size in bytes", len(content), MAX_BYTES)
    text = content.decode().replace("\r\n", "\n")
    return text, _read(text)


def inline(value: Any) -> str:
    """Return text, whole numbers, lists and tables of them as TOML on one line.

    Examples
    --------
    >>> inline({"songs": ["hymn", "waltz"], "rounds": 3})
    '{"songs" = ["hymn", "waltz"], "rounds" = 3}'
    """
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{inline(key)} = {inline(each)}" for key, each in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    # JSON's escapes are TOML's, except that TOML wants the delete character escaped too.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _read(text: str) -> dict[str, Any]:
    _check_depth(text)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # of int()
        raise InputError("a whole number", "must have at most 4,300 digits", "more") from None
    level: list[Any] = [document]
    for _ in range(MAX_DEPTH):
        level = [inner for each in level for inner in _within(each)]
        if not level:
            return document
    raise _too_deep()


def _check_depth(text: str) -> None:
    """Refuse deep brackets and long dotted keys, for which the parser takes time squared."""
    depth = dots = 0
    for match in _TOKENS.finditer(text):
        token = match[0]
        if token == ".":
            dots += 1
        elif token in "[]{}=,\n":
            depth += (token in "[{") - (token in "]}")
            dots = 0
        if max(depth, dots) > MAX_DEPTH:
            raise _too_deep()


def _too_deep() -> InputError:
    rule = f"must be at most {MAX_DEPTH} within each other"
    return InputError("lists and tables", rule, "more")


def _within(value: dict[str, Any] | list[Any]) -> list[Any]:
    """Return the lists and tables in a list or table, whose keys are checked."""
    if isinstance(value, dict):
        for key in value:
            checks.text("a key", key, longest=checks.MAX_NAME)
        value = list(value.values())
    return [each for each in value if isinstance(each, dict | list)]
