"""Reading a TOML file key by key, with errors that say on which line the mistake is."""

from __future__ import annotations

import tomllib
from bisect import bisect_left
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from fallow import checks
from fallow.errors import InputError
from fallow.toml import read_toml

Key = str | int
T = TypeVar("T")

REQUIRED: Any = object()
"""The default of a key that must be given."""


class Table:
    """A table of a TOML file whose keys are taken one by one; those left over are mistakes."""

    def __init__(self, file: Path, text: str, values: dict[str, Any], place: tuple[Key, ...] = ()):
        self.file, self.text, self.values, self.place = file, text, values, place
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
        found = self.take(key, _list_of_tables, none)
        return [self._inner(values, key, place) for place, values in enumerate(found)]

    def table(self, key: str, default: Any = REQUIRED) -> Table:
        """Return a table within this one."""
        return self._inner(self.take(key, _table, default), key)

    def _inner(self, values: dict[str, Any], *place: Key) -> Table:
        return Table(self.file, self.text, values, (*self.place, *place))

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
        """Refuse keys that nobody took."""
        for key in self.values:
            if key in self._left:
                what = f"a key of {self.name()}" if self.place else "a key"
                rule = f"must be one of {', '.join(self._known)}"
                hint = checks.suggestion(key, self._known)
                raise self.mistake(InputError(what, rule, f"{key!r}{hint}"), key)

    def name(self, *keys: Key) -> str:
        """Return the full name of a key, such as learners.pi_low.delta."""
        return ".".join(map(str, (*self.place, *keys)))

    def mistake(self, error: InputError, *keys: Key) -> InputError:
        """Return the error with the file in front, and the line if this key is in it."""
        line = _line(self.text, (*self.place, *keys))
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
    return [_table(name, each) for each in value]


def _line(text: str, place: tuple[Key, ...]) -> int | None:
    """Return the line on which the statement begins that brings in a key.

    tomllib does not tell. So this finds the longest part of the file, cut after a line, that can be
    read and does not have the key: the statement begins on the line after it.
    """
    lines = text.split("\n")

    def is_within(count: int) -> bool:
        """Tell whether the key is in the shortest part, of so many lines or more, that is TOML."""
        for stop in range(count, len(lines)):
            is_listed = lines[stop - 1].endswith(",") and "#" not in lines[stop - 1]
            if not is_listed:  # within a list there is no end of a statement
                with suppress(tomllib.TOMLDecodeError):
                    return _holds(tomllib.loads("\n".join(lines[:stop])), place)
        return _holds(tomllib.loads(text), place)

    line = bisect_left(range(len(lines) + 1), True, key=is_within)
    return line if 0 < line <= len(lines) else None


def _holds(document: Any, place: tuple[Key, ...]) -> bool:
    for key in place:
        try:
            document = document[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True
