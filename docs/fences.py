"""The code blocks of a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_FENCE = re.compile(r'^```(\w*)(?: title="(.+?)")?\n(.*?)^```$', flags=re.DOTALL | re.MULTILINE)
RUN = ("python", "sh")
"""Languages that are run, unless the block is a file."""


class Fence(NamedTuple):
    """A code block: its language, the file that it is (or ""), its text, and where it stands."""

    language: str
    title: str
    text: str
    begin: int
    end: int

    @property
    def runs(self) -> bool:
        """Whether it is code that is run."""
        return self.language in RUN and not self.title


def read_fences(page: str) -> Iterator[tuple[Fence, Fence | None]]:
    """Yield the blocks in order, each that is run together with the output shown beneath it.

    Such output is a block of language `text` with nothing between.
    """
    fences = [
        Fence(found[1], found[2] or "", found[3], *found.span()) for found in _FENCE.finditer(page)
    ]
    while fences:
        fence = fences.pop(0)
        shown = None
        if fence.runs and fences and _is_output(page, fence, fences[0]):
            shown = fences.pop(0)
        yield fence, shown


def _is_output(page: str, code: Fence, other: Fence) -> bool:
    return other.language == "text" and not page[code.end : other.begin].strip()
