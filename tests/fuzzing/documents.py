"""TOML documents: written, and changed at random."""

import json
from datetime import date, time
from random import Random
from typing import Any

from fuzzing import hostile


def write_toml(document: dict[str, Any]) -> str:
    """Return a document as TOML, one line a key."""
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in document.items())


def _key(key: str) -> str:
    return json.dumps(key).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    match value:
        case dict():
            return (
                f"{{{', '.join(f'{_key(key)} = {_value(each)}' for key, each in value.items())}}}"
            )
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case str():
            return _key(value)
        case bool():
            return str(value).lower()
        case int() if value > 2**64:
            return hex(value)  # Python prints no long number
        case date() | time():
            return value.isoformat()
        case _:
            return repr(value)


def broken(document: dict[str, Any], text: str, generator: Random) -> bytes:
    """Return a file made of a document or of its text, changed at random."""
    if generator.random() < 0.3:
        return hostile.change_bytes(text.encode(), generator)
    changed = hostile.change(document, generator, donors=(document,))
    return write_toml(changed if isinstance(changed, dict) else {"": changed}).encode()
