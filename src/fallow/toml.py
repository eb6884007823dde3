"""TOML: reading files, where every mistake ends in one error with its line; writing values."""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from fallow import checks
from fallow.errors import InputError

Key = str | int
T = TypeVar("T")

REQUIRED: Any = object()
"""The default of a key that must be given."""
MAX_BYTES = 2**26
"""Size of the largest file, 64 MiB, which takes a minute to read."""
MAX_DEPTH = 50
"""Largest number of lists and tables within each other, and of dots in a key."""
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
            "{" + ", ".join(f"{inline(key)} = {inline(item)}" for key, item in value.items()) + "}"
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
        level = [inner for outer in level for inner in _within(outer)]
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
    return [item for item in value if isinstance(item, dict | list)]


class Table:
    """A table of a TOML file whose keys are taken one by one; those left over are mistakes."""

    def __init__(self, file: Path, text: str, values: dict[str, Any], path: tuple[Key, ...] = ()):
        self.file, self.text, self.values, self.path = file, text, values, path
        self._left = set(values)
        self._known: list[str] = []

    @classmethod
    def load(cls, file: Path) -> Table:
        """Read a file."""
        try:
            return cls(file, *read_toml(file))
        except OSError as error:
            raise InputError(f"{file}", f"must be a TOML file: {error}") from None

    def take(self, key: str, read: Callable[[str, Any], T], default: T = REQUIRED) -> T:
        """Return the value of a key as `read` makes it of the key's full name and its value."""
        self._known.append(key)
        if key not in self.values:
            if default is REQUIRED:
                raise self.mistake(InputError(self.name(key), "must be given", "nothing"))
            return default
        self._left.discard(key)
        try:
            return read(self.name(key), self.values[key])
        except InputError as error:
            raise self.mistake(error, key) from None

    def tables(self, key: str) -> list[Table]:
        """Return the tables of an array of tables, none if the key is missing."""
        none: list[dict[str, Any]] = []
        tables = self.take(key, _list_of_tables, none)
        return [self._inner(values, key, index) for index, values in enumerate(tables)]

    def table(self, key: str, default: Any = REQUIRED) -> Table:
        """Return a table within this one."""
        return self._inner(self.take(key, _table, default), key)

    def _inner(self, values: dict[str, Any], *keys: Key) -> Table:
        return Table(self.file, self.text, values, (*self.path, *keys))

    def take_given(self, keys: Iterable[str]) -> dict[str, Any]:
        """Return the values, as they stand, of those keys that are given."""
        known = list(keys)
        self._known += known
        self._left -= set(known)
        given = {key: self.values[key] for key in known if key in self.values}
        for key, value in given.items():
            if _holds_date(value):
                rule = "of numbers, text, true, false, lists or tables"
                raise self.mistake(InputError(self.name(key), f"must be {rule}", f"{value}"), key)
        return given

    def rest(self) -> dict[str, Any]:
        """Take all keys that are left."""
        left = {key: value for key, value in self.values.items() if key in self._left}
        self._left.clear()
        return left

    def end(self) -> None:
        """Refuse keys that were not taken."""
        for key in self.values:
            if key in self._left:
                what = f"a key of {self.name()}" if self.path else "a key"
                rule = f"must be one of {', '.join(self._known)}"
                hint = checks.suggestion(key, self._known)
                raise self.mistake(InputError(what, rule, f"{key!r}{hint}"), key)

    def name(self, *keys: Key) -> str:
        """Return the full name of a key, such as learners.pi_low.delta."""
        return ".".join(map(str, (*self.path, *keys)))

    def holds(self, *keys: Key) -> bool:
        """Tell whether there is a key in this table, at the end of a path of keys."""
        return _holds(self.values, keys)

    def mistake(self, error: InputError, *keys: Key) -> InputError:
        """Return the error with the file in front, and the line if this key is in it."""
        line = _line(self.text, (*self.path, *keys))
        where = self.file if line is None else f"{self.file}, line {line}"
        return error.at(where)


def _holds_date(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_holds_date, value.values() if isinstance(value, dict) else value))
    return "datetime" in type(value).__module__


def _table(name: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(name, "must be a table", checks.short(value))
    return value


def _list_of_tables(name: str, value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise InputError(name, f"must be tables headed [[{name}]]", checks.short(value))
    return [_table(name, entry) for entry in value]


def _line(text: str, path: tuple[Key, ...]) -> int | None:
    """Return the line on which the statement begins that brings in a key.

    tomllib does not know lines. So this finds the longest part of the file, cut after a line, that
    can be read and does not have the key: the statement begins on the line after it.
    """
    lines = text.split("\n")

    def is_within(count: int) -> bool:
        """Tell whether the key is in the shortest part of at least `count` lines that is TOML."""
        for stop in range(count, len(lines)):
            is_listed = lines[stop - 1].endswith(",") and "#" not in lines[stop - 1]
            if not is_listed:  # within a list a statement cannot end
                with suppress(tomllib.TOMLDecodeError):
                    return _holds(tomllib.loads("\n".join(lines[:stop])), path)
        return _holds(tomllib.loads(text), path)

    line = bisect_left(range(len(lines) + 1), True, key=is_within)
    return line if 0 < line <= len(lines) else None


def _holds(document: Any, path: tuple[Key, ...]) -> bool:
    for key in path:
        try:
            document = document[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True
