"""What a command needs beyond the extra `cli`."""

from importlib.util import find_spec

EXTRAS = {"distributed": "cluster", "matplotlib": "plot", "polars": "data"}


def check_extras(needy: str, *modules: str) -> None:
    """Say which extra is missing before the work, not after it."""
    for module in modules:
        if find_spec(module) is None:
            extra = EXTRAS[module]
            raise ValueError(f"{needy} needs {module}: install fallow with its extra {extra!r}")
