"""`fallow serve`: campaigns over HTTP."""

import secrets
from pathlib import Path
from typing import Annotated

import typer

from fallow import checks
from fallow.cli.app import app, user_mistakes
from fallow.cli.terminal import print_line
from fallow.errors import InputError

PORT = 8321


@app.command("serve")
def serve_command(
    store: Annotated[
        str | None,
        typer.Option(help="Where events are kept: sqlite:///FILE, postgresql://... or memory:."),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="Tokens, one per line: TOKEN, 'admin TOKEN', 'writer TOKEN' or 'reader TOKEN', "
            "each followed by 'until=2027-01-31' if it expires. Tokens have 16 to 500 characters."
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at; 0 takes a free one.")] = PORT,
    durable: Annotated[
        bool, typer.Option("--durable", help="SQLite waits for the disk at every commit.")
    ] = False,
    cert: Annotated[Path | None, typer.Option(help="Certificate for TLS, a PEM file.")] = None,
    key: Annotated[Path | None, typer.Option(help="Its private key, a PEM file.")] = None,
    rate: Annotated[
        float, typer.Option(help="Requests a second that each token may make; 0: any.")
    ] = 0.0,
    demo: Annotated[bool, typer.Option("--demo", help="Simulate users.")] = False,
) -> None:
    """Serve campaigns over HTTP: decisions, feedback, and a page to watch them."""
    with user_mistakes():
        from fallow.live.service.app import serve  # slow to import, and needs an extra
        from fallow.live.service.server import Address
        from fallow.live.service.tokens import ADMIN, HOW, Token, read_tokens
        from fallow.live.stores import StoreError, open_store

        checks.not_negative("--rate", rate)
        address = Address(host, port, cert, key)
        if not demo and (store is None or token_file is None):
            missing = "--token-file" if store is not None else "--store"
            raise InputError(
                "--store and --token-file",
                "must be given, or --demo",
                f"no {missing}; for tokens, {HOW}",
            )
        fragment = ""
        if token_file is not None:
            tokens = read_tokens(token_file, rate)
        else:
            secret = secrets.token_hex(16)
            tokens, fragment = [Token(secret.encode(), ADMIN, rate)], f"/#token={secret}"

        def announce(url: str) -> None:
            print_line(f"serving {url}{fragment}")

        try:
            serve(open_store(store or "memory:", durable), tokens, address, announce, demo)
        except StoreError as error:
            raise OSError(str(error)) from error
