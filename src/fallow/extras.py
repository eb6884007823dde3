"""Libraries that come with an extra of the package, and what to say where one is missing."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

EXTRAS = {
    "distributed": "cluster",
    "filelock": "cli",
    "gymnasium": "gym",
    "httptools": "serve",
    "matplotlib": "plot",
    "msgspec": "serve",
    "polars": "data",
    "psycopg": "postgres",
    "rich": "cli",
    "starlette": "serve",
    "typer": "cli",
    "uvicorn": "serve",
    "uvloop": "serve",
}


def check_extras(needy: str, *modules: str) -> None:
    """Say which extra is missing before the work, not after it."""
    for module in modules:
        if find_spec(module) is None:
            raise _missing(needy, module)


@contextmanager
def needed_by(needy: str) -> Iterator[None]:
    """Import libraries, and say which extra is missing if one is not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        raise _missing(needy, error.name) from None


def _missing(needy: str, module: str) -> ModuleNotFoundError:
    command = f'pip install "fallow[{EXTRAS[module]}]"'  # quoted so that any shell takes it
    return ModuleNotFoundError(f"{needy} needs {module}: {command}", name=module)
