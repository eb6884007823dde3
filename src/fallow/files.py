"""Files that are whole or absent."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that whoever looks finds all of it or the one before, even after a crash."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError as error:
        raise OSError(
            f"{path} could not be written: {error.strerror}; what was written before is whole, and "
            "the same command can be started again"
        ) from error
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def seal(content: bytes) -> bytes:
    """Return some content followed by its digest, so that damage is noticed."""
    return content + hashlib.sha256(content).digest()


def unseal(content: bytes) -> bytes:
    """Return what was sealed; a ValueError if it was damaged since."""
    inner = content[:-32]
    if seal(inner) != content:
        raise ValueError("a damaged file")
    return inner


def remove_unfinished(folder: Path) -> None:
    """Remove what writers that were killed left in a folder, in which nobody writes now."""
    for path in folder.glob(".*.unfinished"):
        path.unlink(missing_ok=True)
