"""Reading the instance that a command is given."""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, get_type_hints

import typer

from fallow import Instance, catalog, checks
from fallow.errors import InputError
from fallow.toml import MAX_BYTES
from fallow.user_code import is_user_code, load

INSTANCE_HELP = (
    "A name from `fallow catalog`, a TOML file, - for TOML on standard input, or your own function "
    "as module:name."
)
InstanceArgument = Annotated[str, typer.Argument(help=INSTANCE_HELP, metavar="INSTANCE")]
ParametersArgument = Annotated[
    list[str] | None,
    typer.Argument(help="Parameters of a catalog name, such as seed=3.", metavar="[KEY=VALUE]..."),
]


def read_instance(source: str, parameters: Sequence[str]) -> Instance:
    """Return the instance with a catalog name, in a file, on standard input, or a user's own."""
    found = read_source(source, parameters)
    return found if isinstance(found, Instance) else catalog_instance(source, parameters)


def read_source(source: str, parameters: Sequence[str]) -> Instance | Callable[[int], Instance]:
    """Return an instance, or a family if it is random and no seed is given."""
    is_own = is_user_code(source) and not Path(source).exists()
    if is_own:
        load(source, Path.cwd())
    if is_own or source in catalog.ENTRIES:
        return catalog.source(source, catalog_parameters(source, parameters))
    from_input = source == "-"
    if not from_input and not Path(source).exists():
        hint = checks.suggestion(source, catalog.ENTRIES)
        raise InputError("INSTANCE", "must be a TOML file or a catalog name", f"{source!r}{hint}")
    if parameters:
        raise InputError(
            "parameters", "must follow a catalog name", f"{parameters[0]!r} for a file"
        )
    return _instance_from_input() if from_input else Instance.load(source)


def _instance_from_input() -> Instance:
    content = sys.stdin.buffer.read(MAX_BYTES + 1)
    where, rule = "standard input", "must be an instance as TOML"
    if not content.strip():
        raise InputError(where, rule, "nothing")
    if content.lstrip().startswith(b"{"):
        raise InputError(where, rule, "JSON; leave out --json")
    try:
        return Instance.from_toml(content.decode())
    except (InputError, UnicodeDecodeError) as error:
        raise InputError(where, f"{rule}: {error}") from None


def catalog_instance(name: str, parameters: Sequence[str]) -> Instance:
    """Return a catalog instance with parameters as they were typed."""
    return catalog.build(name, catalog_parameters(name, parameters))


def catalog_parameters(name: str, parameters: Sequence[str]) -> dict[str, object]:
    """Return the parameters of a catalog name as they were typed, by key."""
    types = get_type_hints(catalog.find_entry(name))
    values: dict[str, object] = {}
    for parameter in parameters:
        key, value = _parse(parameter, types)
        if key in values:
            raise InputError("a parameter", "must be given once", f"{key} twice")
        values[key] = value
    return values


def _parse(parameter: str, types: Mapping[str, object]) -> tuple[str, object]:
    """Split key=value and read the value as the type that the catalog's function wants."""
    key, equals, text = parameter.partition("=")
    if not equals:
        raise InputError("a parameter", "must be KEY=VALUE", f"{parameter!r}")
    readers: dict[object, tuple[Callable[[str], object], str]] = {
        int: (int, "a whole number"),
        float: (_number, "a number"),
        tuple[int, ...]: (lambda value: tuple(map(int, value.split(","))), "numbers such as 2,4"),
    }
    # A key that does not exist is refused by name, by the catalog.
    read, wanted = readers.get(types.get(key), (_number_or_text, "text"))
    try:
        return key, read(text)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise InputError(key, f"must be {wanted}", f"{text!r}") from None


def _number_or_text(text: str) -> int | float | str:
    """Read a value of which the function does not say what it wants."""
    for read in (int, _number):
        with suppress(ValueError, ZeroDivisionError, OverflowError):
            return read(text)
    return text


def _number(text: str) -> float:
    """Read 0.25 or 1/4."""
    numerator, slash, denominator = text.partition("/")
    return int(numerator) / int(denominator) if slash else float(text)
