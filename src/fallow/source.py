"""Which code computes the results."""

import hashlib
from functools import cache
from pathlib import Path

SHOWING = ("cli", "drawing")
"""Parts of the package that show results, and cannot change them."""


@cache
def code_version() -> str:
    """Return the version of the package and a digest of its source, such as 0.2.0+3f2a9c41d07e.

    Results are tied to it: changed code does not go on with results of the old.

    Examples
    --------
    >>> code_version() == code_version()
    True
    """
    from importlib.metadata import version  # slow to import

    package = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if place.parts[0] not in SHOWING:
            # Line endings are not part of the code.
            content = path.read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{place.as_posix()} {len(content)}\n".encode() + content)
    return f"{version('fallow')}+{digest.hexdigest()[:12]}"
