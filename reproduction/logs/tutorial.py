"""The code of a page is run, and what it prints stands beneath it."""

from __future__ import annotations

import re
from contextlib import chdir, redirect_stdout
from io import StringIO
from tempfile import TemporaryDirectory
from typing import Any

BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n.*?```\n)?", flags=re.DOTALL)


def run_code(page: str) -> tuple[str, dict[str, Any]]:
    r"""Run the Python code of a page, block after block, in an empty folder.

    Returns the page with what each block printed, and the names that are defined in the end.

    Examples
    --------
    >>> fence = "`" * 3
    >>> page, _ = run_code(f"{fence}python\nprint(6 * 7)\n{fence}\n")
    >>> print(page.replace(fence, "---"))
    ---python
    print(6 * 7)
    ---
    <BLANKLINE>
    ---text
    42
    ---
    <BLANKLINE>
    """
    names: dict[str, Any] = {}

    def run(block: re.Match[str]) -> str:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(block[1], names)
        code = f"```python\n{block[1]}```\n"
        return f"{code}\n```text\n{printed.getvalue()}```\n" if printed.getvalue() else code

    with TemporaryDirectory() as folder, chdir(folder):
        return BLOCK.sub(run, page), names
