"""Fields of the files of a study, each checked when it is read: others may have written them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from fallow import checks
from fallow.errors import InputError
from fallow.studies.batch import Failure

FORMAT = 1
"""Version of all formats; a file with another is not read."""


def table(name: str, value: object, keys: Collection[str]) -> Mapping[str, Any]:
    """Return a table with exactly these keys."""
    if not isinstance(value, dict):
        raise InputError(name, "must be a table", checks.short(value))
    checks.keys(name, value, keys)
    return value


def rows(name: str, value: object) -> list[Any]:
    """Return a list."""
    if not isinstance(value, list):
        raise InputError(name, "must be a list", checks.short(value))
    return value


def header(value: object, owner: Mapping[str, Any], keys: Collection[str]) -> Mapping[str, Any]:
    """Return what a file says of itself, after a check of its format and its owner."""
    wanted = {"format": FORMAT, **owner}
    found = table("header", value, (*wanted, *keys))
    for key, right in wanted.items():
        if found[key] != right:
            raise InputError(key, f"must be {right}", checks.short(found[key]))
    return found


def failures(value: object, runs: range) -> list[Failure]:
    """Return some runs that failed, in their order."""
    found: list[Failure] = []
    for each in rows("failures", value):
        if len(rows("a failure", each)) != 2:
            raise InputError("a failure", "must be a run and a message", checks.short(each))
        first = found[-1].run + 1 if found else runs.start
        run = checks.whole_number("the run of a failure", each[0], first, runs.stop - 1)
        found.append(Failure(run, checks.text("the message of a failure", each[1])))
    return found
