"""Whether all that campaigns call is in the compiler's cache: known without the compiler itself.

A stamp beside the cached files says by which sources, versions and processor they were made.
"""

import hashlib
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

PACKAGE = Path(__file__).parent
STAMP = "fallow-campaigns.stamp"
PROCESSOR = ("model name", "CPU part", "flags", "Features")
"""Lines of /proc/cpuinfo that say what machine code a processor runs."""


def has_machine_code() -> bool:
    """Tell whether all that campaigns call was compiled before, by this very program.

    If files were deleted since then, what is missing is compiled when it is called.

    Examples
    --------
    >>> isinstance(has_machine_code(), bool)
    True
    """
    folder = _folder()
    try:
        return folder is not None and (folder / STAMP).read_text() == _digest()
    except (OSError, UnicodeDecodeError):
        return False


def keep_stamp() -> None:
    """Note that all that campaigns call is in the cache by now."""
    folder = _folder()
    with suppress(OSError):  # then the next process looks for itself
        if folder is not None:
            (folder / STAMP).write_text(_digest())


def _folder() -> Path | None:
    """Return the folder that the compiler uses: the first that can be written to."""
    return next((folder for folder in _folders() if os.access(folder, os.W_OK)), None)


def _folders() -> Iterator[Path]:
    """Yield the folders that the compiler tries, in its order."""
    kernels = PACKAGE / "kernels"
    name = f"{kernels.name}_{hashlib.sha1(str(kernels).encode()).hexdigest()}"
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(chosen, name)
    yield kernels / "__pycache__"
    yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "numba", name)


def _digest() -> str:
    """Return a digest of all that machine code depends on."""
    from importlib.metadata import version  # slow to import, and seldom needed

    digest = hashlib.sha256()
    for source in sorted(PACKAGE.rglob("*.py")):
        digest.update(source.read_bytes())
    settings = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    versions = sys.version, np.__version__, version("numba")
    digest.update(repr((versions, _processor(), settings)).encode())
    return digest.hexdigest()


def _processor() -> list[str]:
    """Return what is known of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return [platform.machine(), platform.processor()]
    return sorted({line for line in lines if line.startswith(PROCESSOR)})
