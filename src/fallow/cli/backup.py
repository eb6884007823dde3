"""`fallow backup`: a copy of a store in SQLite."""

from pathlib import Path
from typing import Annotated

import typer

from fallow.cli.app import app, user_mistakes
from fallow.cli.terminal import print_line
from fallow.errors import InputError


@app.command("backup")
def backup_command(
    store: Annotated[str, typer.Argument(help="The store to copy: sqlite:///FILE.")],
    file: Annotated[Path, typer.Argument(help="The file to write; it must not exist.")],
) -> None:
    """Copy a store that no service is using; from one that runs, download /v1/backup."""
    with user_mistakes():
        from fallow.live.errors import ConflictError
        from fallow.live.stores import StoreError, open_store

        if store.startswith("sqlite:///") and not Path(store.removeprefix("sqlite:///")).exists():
            raise InputError("STORE", "must be a store that exists", repr(store))
        try:
            kept = open_store(store)
            try:
                kept.backup(str(file))
            finally:
                kept.close()
        except (StoreError, ConflictError) as error:
            in_use = " A running service copies its own store: GET /v1/backup."
            hint = in_use if "it is open already" in str(error) else ""
            raise InputError("STORE", f"cannot be copied: {error}{hint}") from error
        print_line(f"copied {store} to {file}")
