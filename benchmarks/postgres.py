"""A PostgreSQL of its own, for tests and benchmarks."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

DEBIAN = Path("/usr/lib/postgresql")


class Postgres:
    """A server that keeps its files in a folder and is reached on the loopback.

    It must not run as root, so root runs it as the user `postgres`, who must reach the folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._user = "postgres" if os.geteuid() == 0 else None
        if self._user is not None:
            shutil.chown(folder, self._user)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        self._do("initdb", "--username=postgres", "--auth=trust", "--no-locale", "--encoding=UTF8")

    def start(self) -> None:
        """Start it, and return when it answers."""
        # After a crash all files are synchronised; as one, that is quick.
        sync = "-c recovery_init_sync_method=syncfs"
        options = f"-p {self.port} -h 127.0.0.1 -k '' {sync}"
        self._do("pg_ctl", "start", "-w", f"--log={self.folder}/log", f"--options={options}")

    def stop(self, mode: str) -> None:
        """Stop it; in the mode "immediate" it does not put anything in order, as in a crash."""
        self._do("pg_ctl", "stop", "-w", f"--mode={mode}")

    def emptied(self) -> str:
        """Remove what stores have kept, and return the URL."""
        with psycopg.connect(self.url) as connection:
            connection.execute("DROP SCHEMA IF EXISTS fallow CASCADE")
        return self.url

    def _do(self, program: str, *arguments: str) -> None:
        path = max(DEBIAN.glob("*/bin"), key=lambda path: float(path.parent.name)) / program
        subprocess.run(
            [path, f"--pgdata={self.folder}/data", *arguments],
            check=True,
            user=self._user,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,  # a server keeps it open, so no pipe would ever end
            stderr=subprocess.DEVNULL,
            timeout=100,
        )


@contextmanager
def run_postgres() -> Iterator[Postgres]:
    """Start a server of its own, and remove all of it in the end."""
    with tempfile.TemporaryDirectory(prefix="fallow-postgres-") as folder:
        server = Postgres(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")


def is_installed() -> bool:
    """Tell whether there is a server to start, where Debian puts it."""
    return any(DEBIAN.glob("*/bin/initdb"))
