"""The compiler's cache: a second process compiles nothing, and cached code is never stale."""

import ast
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, get_origin

import pytest

from fallow import kernels, limits

FILES = sorted(Path(kernels.__path__[0]).glob("[!_]*.py"))
PLAN_AND_COUNT = """
import json
import fallow
from fallow import kernels
kernels.compile_all()
instance = fallow.catalog.figure2(seed=0)
fallow.plan(instance)
fallow.plan(instance, max_states=0)
counts = {}
for file in kernels.FILES.values():
    for name in file.functions:
        if file.compiled[name].signatures:
            stats = file.compiled[name].stats
            counts[name] = sum(stats.cache_hits.values()), sum(stats.cache_misses.values())
print(json.dumps(counts))
"""


def test_a_second_process_takes_every_kernel_from_the_cache() -> None:
    subprocess.run([sys.executable, "-c", PLAN_AND_COUNT], check=True, capture_output=True)
    second = subprocess.run(
        [sys.executable, "-c", PLAN_AND_COUNT], check=True, capture_output=True, text=True
    )
    counts = json.loads(second.stdout)
    assert {"local_search", "evaluate", "beam_path", "follow"} <= counts.keys()
    for name, (hits, misses) in counts.items():
        assert (name, misses) == (name, 0)
        assert hits > 0


def imported_values(source: str) -> dict[str, Any]:
    """Return what a file of kernels imports from the package, other than types and decorators."""
    values: dict[str, Any] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            values |= {each.name: None for each in node.names if each.name.startswith("fallow")}
        elif isinstance(node, ast.ImportFrom):
            module = import_module("." * node.level + (node.module or ""), kernels.__name__)
            if module.__name__.startswith("fallow"):
                values |= {each.name: getattr(module, each.name) for each in node.names}
    return {
        name: value
        for name, value in values.items()
        if not (isinstance(value, type) or get_origin(value) or name in ("compiled", "tiered"))
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_kernels_use_constants_of_their_own_file(file: Path) -> None:
    """The cache has no way to notice that a constant changed in another file."""
    assert imported_values(file.read_text(encoding="utf-8")) == {}
    module = import_module(f"fallow.kernels.{file.stem}")
    assert getattr(module, "NEVER", limits.NEVER) == limits.NEVER


def test_an_imported_constant_is_found() -> None:
    source = "from fallow.limits import NEVER, Limits\nfrom fallow.arrays import IntArray\n"
    assert imported_values(source) == {"NEVER": limits.NEVER}
    assert imported_values("from ..limits import NEVER") == {"NEVER": limits.NEVER}
    assert imported_values("import fallow.limits") == {"fallow.limits": None}


def test_fields_keep_the_places_that_cached_code_knows() -> None:
    """If it fails, also change every file of kernels that imports the class; a comment will do."""
    assert limits.Limits._fields == ("shortest", "longest", "members", "pulls", "rounds", "bind")
    assert limits.Past._fields == ("delays", "waited", "recent")
