"""Files that are whole or absent, and what to do with one that is neither."""

import hashlib
import json
import os
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

from fallow.errors import InputError


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that whoever looks finds all of it or the one before, even after a crash."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except IsADirectoryError:
        raise OSError(f"{path} must be a file, got a folder; rename or remove it") from None
    except OSError as error:
        raise OSError(
            f"{path} could not be written: {error.strerror}; what was written before is whole, and "
            "the same command can be started again"
        ) from error
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def read_whole(path: Path) -> bytes:
    """Return what is in a file; an InputError if that cannot be read, or is no file."""
    try:
        if not path.is_file():  # a pipe would never end
            raise InputError("it", "must be a file", "something else")
        return path.read_bytes()
    except OSError as error:
        raise InputError("it", "must be a file that can be read", f"{error.strerror}") from None
    except MemoryError:
        raise InputError("it", "must fit into memory", "a larger file") from None


def set_aside(path: Path) -> Path:
    """Rename whatever has the name of a file to `*.damaged`, or `*.damaged-2`, and return that."""
    names = (f"{path.name}.damaged{'' if number == 1 else f'-{number}'}" for number in count(1))
    free = next(path.with_name(name) for name in names if not os.path.lexists(path.parent / name))
    return path.rename(free)


def seal(content: bytes) -> bytes:
    """Return some content followed by its digest, so that damage is noticed."""
    return content + hashlib.sha256(content).digest()


def unseal(content: bytes) -> bytes:
    """Return what was sealed; an InputError if it was damaged since."""
    inner = content[:-32]
    if seal(inner) != content:
        raise InputError("digest", "must fit the content", "a damaged file")
    return inner


def parse_json(content: bytes | str) -> Any:
    """Return the values of a JSON document; an InputError if it is none, or has NaN or infinity."""
    try:
        return json.loads(content, parse_constant=_refuse)
    except RecursionError:
        raise InputError("it", "must be JSON", "lists in lists without end") from None
    except ValueError as error:  # of the parser, or of `_refuse`
        raise InputError("it", "must be JSON", f"{error}") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant}, which is no number of JSON")


def remove_unfinished(folder: Path) -> None:
    """Remove what writers that were killed left in a folder, in which nobody writes now."""
    for path in folder.glob(".*.unfinished"):
        with suppress(OSError):  # a folder of that name, which disturbs nobody
            path.unlink()
