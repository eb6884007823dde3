"""TOML documents: written, and changed at random."""

import json
from copy import deepcopy
from datetime import date, datetime, time
from random import Random
from typing import Any

HOSTILE: tuple[Any, ...] = (
    *(0, 1, 2, 3, -1, 7, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63, 2**64, 10**18, -(10**18)),
    *(10**400, 16**4200, True, False, 0.0, -0.0, 0.5, 1.5, -1e-300, 5e-324, 1e-310, 1e300, 1e308),
    *(float("nan"), float("inf"), float("-inf"), 1 - 2**-53),
    *(
        "",
        "x",
        "0",
        "nan",
        "\0",
        "\x7f",
        "é\u2028",
        "x" * 10_001,
        "ghost",
        "figure2",
        "a:b",
        "../x",
    ),
    *(date(1979, 5, 27), datetime(1979, 5, 27, 7, 32), time(7, 32)),
    *([], [[]], [0], [1, 2], [0.5, "x"], [[0.5], [0.5, 0.6]], [float("nan")], [10**400], [True]),
    *([1] * 2000, list(range(2000)), {}, {"x": 1}, {"": {}}, {"geometric": 0.5}, {"arms": 3}),
)
"""Values that few keys may have."""
KEYS = ("", "x", "\0", "seed", "means", "names", "learner", "options", "drift", "x" * 101)


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


def change(document: dict[str, Any], generator: Random) -> dict[str, Any]:
    """Return a document with one to three changes somewhere in it."""
    changed = deepcopy(document)
    for _ in range(generator.choice((1, 1, 1, 2, 3))):
        places = list(_places(changed))
        if places:
            container, key = generator.choice(places)
            _change_at(container, key, generator, places)
    return changed


def _places(container: Any) -> Any:
    """Return all lists and tables, each with the keys or places of what it holds."""
    entries = container.items() if isinstance(container, dict) else enumerate(container)
    for key, value in entries:
        yield container, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _change_at(container: Any, key: Any, generator: Random, places: list[Any]) -> None:
    other_container, other_key = generator.choice(places)
    value = container[key]
    match generator.randrange(7):
        case 0 | 1:
            container[key] = deepcopy(generator.choice(HOSTILE))
        case 2:
            del container[key]
        case 3 if isinstance(container, dict):
            container[generator.choice(KEYS)] = deepcopy(generator.choice(HOSTILE))
        case 4:
            container[key] = deepcopy(other_container[other_key])
        case 5:
            container[key] = generator.choice(([value], [value] * 2, {"x": value}))
        case _ if isinstance(value, int | float) and abs(value) < 10**18:
            container[key] = generator.choice((-value, value + 1, value * 1000, value * 0.9))
        case _:
            container[key] = deepcopy(generator.choice(HOSTILE))


def damage(text: str, generator: Random) -> bytes:
    """Return a text with some of its bytes cut, doubled, moved or replaced."""
    content = bytearray(text.encode())
    for _ in range(generator.randint(1, 4)):
        start = generator.randrange(len(content) + 1)
        part = content[start : start + generator.choice((1, 1, 2, 5, 30))]
        at = generator.randrange(len(content) + 1)
        match generator.randrange(4):
            case 0:
                del content[start : start + len(part)]
            case 1:
                content[at:at] = part
            case 2:
                content[start : start + 1] = bytes([generator.randrange(256)])
            case _:
                content[at:at] = generator.choice((b"[", b"]", b'"', b"\n", b"9" * 20, b"{" * 60))
    return bytes(content)


def broken(document: dict[str, Any], text: str, generator: Random) -> bytes:
    """Return a file made of a document or of its text, changed at random."""
    if generator.random() < 0.3:
        return damage(text, generator)
    return write_toml(change(document, generator)).encode()
