"""Tutorials as notebooks.

    python -m docs.notebooks FOLDER

writes a notebook for each tutorial. Code is a cell, shell a cell of `%%bash`, a file one of
`%%writefile`; what code printed is left out, as it comes when the cell is run.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from docs.fences import Fence, read_fences

TUTORIALS = Path(__file__).parent / "tutorials"
SHELL = """# Cells of %%bash find the commands of this Python, and print as into a file.
import os
import sys

os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
os.environ.pop("FORCE_COLOR", None)
"""


def to_notebook(page: str) -> str:
    """Return a page as a notebook, in JSON."""
    cells, end = [], 0
    if any(fence.language == "sh" for fence, _ in read_fences(page)):
        cells.append(_code(Fence("python", "", SHELL, 0, 0)))
    for fence, shown in read_fences(page):
        if fence.runs or fence.title:  # all others are read, not run
            cells += [_prose(page[end : fence.begin]), _code(fence)]
            end = shown.end if shown else fence.end
    cells.append(_prose(page[end:]))
    notebook = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        "cells": [{"id": str(place), **cell} for place, cell in enumerate(cells) if cell["source"]],
    }
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _prose(text: str) -> dict[str, Any]:
    """Return a cell of prose. Other pages are named, not linked: a notebook is read elsewhere."""
    source = re.sub(r"\[([^]]+)\]\([^):]+\.md[^)]*\)", r"\1", text).strip()
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def _code(fence: Fence) -> dict[str, Any]:
    source = fence.text.removesuffix("\n")
    if fence.title:
        source = f"%%writefile {fence.title}\n{source}"
    elif fence.language == "sh":
        source = f"%%bash\n{source}"
    return {
        "cell_type": "code",
        "metadata": {},
        "source": source,
        "outputs": [],
        "execution_count": None,
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for page in TUTORIALS.glob("*.md"):
        notebook = to_notebook(page.read_text(encoding="utf-8"))
        (folder / f"{page.stem}.ipynb").write_text(notebook, encoding="utf-8")
