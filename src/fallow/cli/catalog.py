"""`fallow catalog`: the built-in instances."""

import inspect
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from fallow import catalog, checks
from fallow.cli.app import app, user_mistakes
from fallow.cli.instances import ParametersArgument, catalog_instance
from fallow.cli.terminal import print_line
from fallow.errors import InputError


@app.command("catalog")
def catalog_command(
    name: Annotated[str | None, typer.Argument(help="Print this instance as TOML.")] = None,
    parameters: ParametersArgument = None,
    output: Annotated[Path | None, typer.Option(help="Write the TOML to this new file.")] = None,
) -> None:
    """List the built-in instances, or write one as TOML."""
    with user_mistakes():
        if name is None and output is not None:
            raise InputError("--output", "must follow the name of an instance", "none")
        if name is None:
            _print_catalog()
            return
        checks.one_of("NAME", name, catalog.ENTRIES)
        model = catalog_instance(name, parameters or [])
        if output is None:
            print(model.to_toml(), end="")
        elif output.exists():
            raise InputError("--output", "must be a new file", f"{output}, which exists")
        else:
            model.save(output)
            print_line(f"{name} written to {output}")


def _print_catalog() -> None:
    console = Console(highlight=False, soft_wrap=True)
    for name, entry in catalog.ENTRIES.items():
        parameters = inspect.signature(entry).parameters.values()
        defaults = [f"{each.name}={_format_default(each.default)}" for each in parameters]
        console.print(Text(name, style="bold") + Text(" ".join(["", *defaults])))
        console.print(Text(f"    {inspect.getdoc(entry)}".partition("\n")[0]))


def _format_default(default: object) -> str:
    """Write a default as it would be typed on the command line."""
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    if isinstance(default, float):
        return str(Fraction(default).limit_denominator(1000))
    return str(default)
