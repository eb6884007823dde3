"""Learners, families and rewards of users, named as `module:Name`: loaded, and sent to workers."""

from __future__ import annotations

import ast
import atexit
import hashlib
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from importlib import import_module, invalidate_caches
from pathlib import Path
from shutil import rmtree
from sysconfig import get_path
from types import ModuleType
from typing import Any

from fallow import checks
from fallow.errors import InputError

Sources = Mapping[str, Mapping[str, bytes]]
"""By folder, the files of its modules that were loaded, by their paths in it."""
LIBRARIES = {Path(__file__).parent, *map(Path, (get_path("stdlib"), get_path("purelib")))}
"""Where code is that no user of this package wrote."""
_loaded: dict[str, Any] = {}
_folders: dict[str, Path] = {}
_read: dict[Path, bytes] = {}
"""Files of users' modules, as they were when they were imported."""
_received: list[Sources] = []


def is_user_code(name: str) -> bool:
    """Tell whether a name is like `module:Name`."""
    return isinstance(name, str) and ":" in name


def load(name: str, folder: Path) -> Any:
    """Import what `module:Name` names, from a folder or the Python path. This runs its code.

    Raises
    ------
    InputError
        Says what is wrong with the name, or on which line of which file the import fails.
    """
    module_name, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in (*module_name.split("."), attribute)):
        raise InputError("a name", "must be like module:Name", f"{name!r}")
    module = _import(module_name, folder.resolve())
    if not hasattr(module, attribute):
        hint = checks.suggestion(attribute, vars(module))
        raise InputError(f"module {module_name}", f"must define {attribute}", f"no such name{hint}")
    if not callable(getattr(module, attribute)):
        value = checks.short(getattr(module, attribute))
        raise InputError(name, "must be a class or a function", value)
    _loaded[name], _folders[name] = getattr(module, attribute), folder.resolve()
    return _loaded[name]


def find(name: str) -> Any:
    """Return what was loaded under a name; nothing is imported."""
    if name not in _loaded:
        raise InputError(
            name,
            "must be loaded before it is used, since that runs its code; on the command line, "
            "say --allow-imports",
        )
    return _loaded[name]


def digest(name: str) -> str:
    """Return a digest of the source of something loaded, and of all that it imports beside it."""
    sha = hashlib.sha256()
    for module, content in _sources_of(name).items():
        sha.update(f"{module} {len(content)}\n".encode() + content)
    return sha.hexdigest()[:12]


def sources() -> Sources:
    """Return the source of all that was loaded from users' folders, and of what that imports."""
    by_folder: dict[str, dict[str, bytes]] = {}
    for name, folder in _folders.items():
        by_folder.setdefault(str(folder), {}).update(_sources_of(name))
    return by_folder


def _sources_of(name: str) -> dict[str, bytes]:
    folder = _folders[name]
    files = _files(name.partition(":")[0], folder).values()
    return {file.relative_to(folder).as_posix(): _read[file] for file in sorted(files)}


def receive(sent: Sources) -> bool:
    """Make modules importable here whose source was sent, and tell whether it is new here.

    Where a folder is the same here, it is used as it is, so that errors name the user's own file.
    """
    if not sent or sent in _received:
        return False
    _received[:] = [sent]
    for folder, files in sent.items():
        local = Path(folder)
        if any(not _is(local / name, content) for name, content in files.items()):
            local = Path(tempfile.mkdtemp(prefix="fallow-"))
            atexit.register(rmtree, local, ignore_errors=True)
            for name, content in files.items():
                (local / name).parent.mkdir(parents=True, exist_ok=True)
                (local / name).write_bytes(content)
        for name in files:
            module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            sys.modules.pop(module, None)  # another version may have been here before
        sys.path.insert(0, str(local))
    invalidate_caches()
    return True


def describe_error(error: BaseException) -> str:
    """Return an error in one line, with the line of the user's own code that it came from."""
    message = str(error).partition("\n")[0]
    lines = [f"{file}, line {line}" for file, line in _own_lines(error)][-1:]
    if isinstance(error, SyntaxError):
        message, lines = error.msg, [f"{error.filename}, line {error.lineno}"]
    notes = "".join(f" ({note})" for note in (*lines, *getattr(error, "__notes__", ())))
    return f"{type(error).__name__}: {message}{notes}" if message else type(error).__name__ + notes


def is_from_user_code(error: BaseException) -> bool:
    """Tell whether an error came out of code in a user's folder."""
    folders = set(_folders.values())
    return any(folders & set(Path(file).parents) for file, _ in _own_lines(error))


def _own_lines(error: BaseException) -> Iterator[tuple[str, int | None]]:
    """Return the lines in the traceback that are not in this package or in a library."""
    for frame in traceback.extract_tb(error.__traceback__):
        if not frame.filename.startswith("<") and not LIBRARIES & set(Path(frame.filename).parents):
            yield frame.filename, frame.lineno


def _is(file: Path, content: bytes) -> bool:
    return file.is_file() and file.read_bytes() == content


def _contents(files: Mapping[str, Path]) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in files.values()}


def _files(name: str, folder: Path) -> dict[str, Path]:
    """Return a module's file and those of all modules in the folder that it imports, by module."""
    modules: dict[str, Path] = {}
    waiting = [name]
    while waiting:
        parts = waiting.pop().split(".")
        for module in (".".join(parts[:length]) for length in range(1, len(parts) + 1)):
            path = folder / module.replace(".", "/")
            files = (path.with_suffix(".py"), path / "__init__.py")
            file = next(filter(Path.is_file, files), None)
            if file is not None and module not in modules:
                modules[module] = file
                waiting += _imports(module, file)
    return modules


def _imports(module: str, file: Path) -> Iterator[str]:
    """Return the names of modules that a file may import, now or later."""
    package = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}".lstrip(".") for alias in node.names)


def _import(name: str, folder: Path) -> ModuleType:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))  # for good, as Python does with a script's folder
    files = _files(name, folder)
    if any(_read.get(file, content) != content for file, content in _contents(files).items()):
        for module_name in files:  # they have changed since, so they are imported again
            sys.modules.pop(module_name, None)
        invalidate_caches()
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            rule = f"needs another: {describe_error(error)}"
            raise InputError(f"module {name}", rule) from None
        raise InputError(
            f"module {name}", f"must be in {folder} or on the Python path", "no such module"
        ) from None
    except (Exception, SystemExit) as error:
        raise InputError(f"module {name}", f"must be importable: {describe_error(error)}") from None
    _read.update(_contents(files))
    for loaded, file in files.items():
        other = getattr(sys.modules.get(loaded), "__file__", None)
        if loaded in sys.modules and (other is None or Path(other).resolve() != file.resolve()):
            raise InputError(
                f"module {loaded}",
                "must not share its name with another",
                f"{other or 'one'} loaded before {file}; rename that",
            )
    return module
