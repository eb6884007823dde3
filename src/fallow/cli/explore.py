"""`fallow explore`: a page with sliders for an instance."""

import webbrowser
from threading import Thread
from typing import Annotated

import typer

from fallow.cli.app import app, user_mistakes
from fallow.cli.instances import INSTANCE_HELP, ParametersArgument, read_instance
from fallow.cli.terminal import print_line


@app.command("explore")
def explore_command(
    instance: Annotated[
        str | None,
        typer.Argument(help=f"{INSTANCE_HELP} Without one: five songs.", metavar="[INSTANCE]"),
    ] = None,
    parameters: ParametersArgument = None,
    port: Annotated[int, typer.Option(help="Port to listen at; 0 takes a free one.")] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
) -> None:
    """Move the parameters of an instance on a page, and see what to play."""
    with user_mistakes():
        from fallow.explore.app import explore  # slow to import, and needs an extra
        from fallow.explore.model import EXAMPLE, Explored

        model = EXAMPLE if instance is None else read_instance(instance, parameters or [])

        def say(address: str) -> None:
            print_line(f"exploring {address} until Ctrl-C")
            if browser:
                # A browser in the terminal would not return before it is closed.
                Thread(target=webbrowser.open, args=(address,), daemon=True).start()

        explore(Explored(model), port, say)
