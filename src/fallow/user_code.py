"""Learners and families that users wrote: found as `module:Name`, errors at their own lines."""

from __future__ import annotations

import hashlib
import sys
import sysconfig
import traceback
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from fallow import checks

LIBRARIES = (str(Path(__file__).parent), *map(sysconfig.get_path, ("stdlib", "purelib")))
"""Where code is that no user of this package wrote."""
_loaded: dict[str, Any] = {}


def is_user_code(name: str) -> bool:
    """Tell whether a name is like `module:Name`, and not one of this package's own."""
    return ":" in name


def load(name: str, folder: Path) -> Any:
    """Import what `module:Name` names, from a folder or the Python path. This runs its code.

    Raises
    ------
    ValueError
        Says what is wrong with the name, or on which line of which file the import fails.
    """
    module_name, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in (*module_name.split("."), attribute)):
        raise ValueError(f"a name must be like module:Name, got {name!r}")
    module = _import(module_name, folder.resolve())
    if not hasattr(module, attribute):
        hint = checks.suggestion(attribute, vars(module))
        raise ValueError(f"{module.__file__} must define {attribute}, got no such name{hint}")
    _loaded[name] = getattr(module, attribute)
    return _loaded[name]


def find(name: str) -> Any:
    """Return what was loaded under a name; nothing is imported."""
    if name not in _loaded:
        raise ValueError(
            f"{name} must be loaded before it is used, since that runs its code; on the command "
            "line, say --allow-imports"
        )
    return _loaded[name]


def digest(name: str) -> str:
    """Return a digest of the file in which something loaded is defined."""
    file = sys.modules[name.partition(":")[0]].__file__
    return hashlib.sha256(b"" if file is None else Path(file).read_bytes()).hexdigest()[:12]


def describe_error(error: BaseException) -> str:
    """Return an error in one line, with the line of the user's own code that it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith((*LIBRARIES, "<"))]
    places = [f"{frame.filename}, line {frame.lineno}" for frame in own[-1:]]
    if isinstance(error, SyntaxError):
        places = [f"{error.filename}, line {error.lineno}"]
    notes = "".join(f" ({note})" for note in (*places, *getattr(error, "__notes__", ())))
    return f"{type(error).__name__}: {error}{notes}"


def _import(name: str, folder: Path) -> ModuleType:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))  # for good, as Python does with a script's folder
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise ValueError(f"module {name} needs another: {describe_error(error)}") from None
        raise ValueError(
            f"module {name} must be in {folder} or on the Python path, got no such module"
        ) from None
    except (Exception, SystemExit) as error:
        raise ValueError(f"module {name} must be importable: {describe_error(error)}") from None
    beside = folder / f"{name.replace('.', '/')}.py"
    if beside.exists() and Path(module.__file__ or "").resolve() != beside:
        raise ValueError(
            f"module {name} must not share its name with another, got {module.__file__} beside "
            f"{beside}; rename the latter"
        )
    _send_by_value(folder)
    return module


def _send_by_value(folder: Path) -> None:
    """Let workers get the code of a folder with their batches, as other machines lack its files."""
    from cloudpickle import register_pickle_by_value  # slow to import

    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file is not None and Path(file).parent == folder and module.__name__ != "__main__":
            register_pickle_by_value(module)
