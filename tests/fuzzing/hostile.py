"""Values that nobody expects, and changes of nested values."""

import copy
import math
from datetime import date, datetime, time
from random import Random
from typing import Any

NUMBERS: list[Any] = [
    *(0, 1, -1, 2, 3, 7, 2**31, 2**53 + 1, 2**62, 2**63 - 1, 2**63, -(2**63), 10**9, 10**19),
    *(10**400, 16**4200, 0.0, -0.0, 0.5, 1.5, -0.5, 1 - 2**-53, 5e-324, 1e308, -1e308),
    *(math.inf, -math.inf, math.nan),
]
OTHERS: list[Any] = [
    *(None, True, False, "", "x", "0", "nan", "\0", "\x1b[31m", "\x7f", "é\u2028", "x" * 10_001),
    *("ghost", "figure2", "a:b", "../x", date(1979, 5, 27), datetime(1979, 5, 27, 7), time(7, 32)),
    *([], [[]], [None], [0], [1, 2], [0.5, "x"], [[0.5], [0.5, 0.6]], [10**400], [True]),
    *([1] * 2000, list(range(2000)), {}, {"x": 1}, {"": {}}, {"geometric": 0.5}, {"arms": 3}),
]
KEYS = ("", "x", "\0", "x" * 101, "arms", "format", "plays", "seed", "means", "names", "options")


def value(generator: Random) -> Any:
    """Return a hostile value."""
    return copy.deepcopy(generator.choice(NUMBERS if generator.random() < 0.6 else OTHERS))


def change(tree: Any, generator: Random, donors: tuple[Any, ...] = ()) -> Any:
    """Return a copy of nested lists and dicts with a few changes; some parts come from donors."""
    changed = [copy.deepcopy(tree)]
    for _ in range(generator.choice((1, 1, 1, 2, 3, 5))):
        if not changed:
            return None
        holder, key = generator.choice(_places(changed))
        holder[key] = _changed(holder[key], generator, donors)
        _rearrange(holder, key, generator)
    return changed[0] if changed else None


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Return all places within nested lists and dicts."""
    found, waiting = [], [tree]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], list | dict):
                waiting.append(holder[key])
    return found


def _changed(old: Any, generator: Random, donors: tuple[Any, ...]) -> Any:
    """Return something else for a value: near it, hostile, or from elsewhere."""
    kind = generator.random()
    if isinstance(old, int | float) and not isinstance(old, bool) and kind < 0.5:
        near = [
            old + 1,
            old - 1,
            -old,
            float(old) if abs(old) < 1e300 else old,
            old * 2,
            old * 1000,
        ]
        return generator.choice(near)
    if donors and kind < 0.7:
        holder, key = generator.choice(_places([generator.choice(donors)]))
        return copy.deepcopy(holder[key])
    if kind < 0.75:
        return [old]
    if kind < 0.77:
        nest: Any = old
        for _ in range(generator.choice((3, 100, 400))):
            nest = [nest]
        return nest
    return value(generator)


def _rearrange(holder: Any, key: Any, generator: Random) -> None:
    """Now and then take an element away, or have it twice, or two in each other's places."""
    kind = generator.random()
    if kind < 0.1:
        del holder[key]
    elif kind < 0.2 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif kind < 0.25:
        other = generator.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        holder[key], holder[other] = holder[other], holder[key]
    elif kind < 0.3 and isinstance(holder, dict):
        holder[generator.choice(KEYS)] = value(generator)


def change_bytes(content: bytes, generator: Random) -> bytes:
    """Return bytes with a few changed, cut, repeated or put in."""
    changed = bytearray(content)
    for _ in range(generator.choice((1, 1, 2, 5, 20))):
        place = generator.randrange(len(changed) + 1)
        kind = generator.random()
        if kind < 0.5 and place < len(changed):
            changed[place] = generator.randrange(256)
        elif kind < 0.6:
            del changed[place:]
        elif kind < 0.8:
            del changed[place : place + generator.randrange(1, 9)]
        else:
            changed[place:place] = changed[place : place + generator.randrange(1, 99)]
    return bytes(changed)
