"""Pages whose code is run.

Blocks of `python` run in order in one namespace, blocks of `sh` each by a bash of its own, all in
one folder. A block with a title, such as `toml title="songs.toml"`, is a file and is written there.
A block of `text` right beneath code is what it prints; `...` in it stands for anything.

    python -m tests.pages docs/tutorials/*.md

runs pages and writes beneath their code what it prints, where they show something else.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stdout, suppress
from difflib import unified_diff
from doctest import ELLIPSIS, OutputChecker
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from docs.fences import read_fences
from fallow.studies.workers import stop_processes

PORT = "8321"
"""Where `fallow serve` listens on pages; when they are run, it listens at a free port."""
PATIENCE = 300
"""Seconds after which a block of shell is given up."""


def run_page(path: Path, folder: Path) -> dict[str, Any]:
    """Run a page in a folder, check what it shows, and return the names that it defines."""
    page = path.read_text(encoding="utf-8")
    printed, names = rewrite(page, folder, str(path))
    lines = unified_diff(page.splitlines(), printed.splitlines(), "shown", "printed", n=1)
    assert printed == page, "\n".join(lines)
    return names


def rewrite(page: str, folder: Path, name: str) -> tuple[str, dict[str, Any]]:
    """Return a page with what its code really prints, and the names that it defines."""
    port = free_port()
    names: dict[str, Any] = {"__name__": "__main__"}
    parts, done = [], 0
    with _inside(folder), _shell() as run_shell:
        for fence, shown in read_fences(page):
            code = fence.text.replace(PORT, port)
            if fence.title:
                Path(fence.title).write_text(code, encoding="utf-8")
                sys.modules.pop(Path(fence.title).stem, None)  # another page may have had one
            elif fence.language == "python":
                above = page.count("\n", 0, fence.begin) + 1
                printed = _run_python("\n" * above + code, names, name)
            elif fence.language == "sh":
                printed = run_shell(code)
            if shown and not _matches(shown.text, printed := printed.replace(port, PORT)):
                parts += [page[done : shown.begin], f"```text\n{_tidy(printed)}```"]
                done = shown.end
    return "".join([*parts, page[done:]]), names


def _matches(shown: str, printed: str) -> bool:
    return OutputChecker().check_output(shown, _tidy(printed), ELLIPSIS)


def _tidy(printed: str) -> str:
    """Return lines without spaces at their ends, each with an end."""
    return re.sub(r"[ \t]+$", "", printed, flags=re.MULTILINE).removesuffix("\n") + "\n"


def _run_python(code: str, names: dict[str, Any], name: str) -> str:
    with redirect_stdout(StringIO()) as printed:
        exec(compile(code, name, "exec"), names)
    return printed.getvalue()


@contextmanager
def _shell() -> Iterator[Callable[[str], str]]:
    """Yield what runs a script and returns what it prints; in the end, end what goes on running."""
    environment = {**os.environ, "PATH": programs(), "COLUMNS": "88"}
    groups: list[int] = []

    def run(script: str) -> str:
        with TemporaryFile("w+", encoding="utf-8") as output:  # a pipe would wait for all children
            process = subprocess.Popen(
                ["bash", "-e", "-o", "pipefail", "-c", script],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
            groups.append(process.pid)
            status = process.wait(PATIENCE)
            output.seek(0)
            printed = output.read()
        assert status == 0, f"exit code {status} of\n{script}\n{printed}"
        return printed

    try:
        yield run
    finally:
        for group in groups:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in a folder whose modules can be imported, and forget them in the end."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        with chdir(folder):
            yield
    finally:
        stop_processes()  # which would look for modules of the next page here
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if str(folder) in (getattr(sys.modules[name], "__file__", None) or ""):
                del sys.modules[name]


def programs() -> str:
    """Return the path on which a shell finds the programs of this environment first."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


def free_port() -> str:
    """Return a port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


if __name__ == "__main__":
    for page in map(Path, sys.argv[1:]):
        with TemporaryDirectory() as folder:
            text, _ = rewrite(page.read_text(encoding="utf-8"), Path(folder), str(page))
        page.write_text(text, encoding="utf-8")
